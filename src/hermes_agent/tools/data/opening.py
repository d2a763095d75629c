"""Tables for a question: each name in it that stands for a file of the workspace becomes a view on that file.

Files are opened through the workspace's scope, and the engine is told their paths as descriptors of this process. After
`close` it can open those files and our own folder for intermediate files, and nothing else; its settings are locked.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from ...safety.paths import Scope
from ...types.errors import PermissionRefused
from ..grep import Query, find
from . import formats
from .parted import Parted, SqliteFile, Workbook
from .question import Question
from .refusal import Refused
from .staging import identifier, quoted, stage

if TYPE_CHECKING:
    import duckdb

_FILES = 300
_EXACT_BYTES = 8 << 20
_COMMA_NUMBER = r"[+-]?(\d+|\d{1,3}([. ]\d{3})+)(,\d+)?"
_LIKE_A_PATH = re.compile(r"/|\.\w{2,8}$")
_DESCRIPTORS = Path("/proc/self/fd")


class Tables:
    """The views of one question. `files` are paths whose names without suffix may be used as table names."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, scope: Scope, folder: Path, files: Sequence[str] = ()
    ) -> None:
        self._connection = connection
        self._scope = scope
        self._folder = folder
        self._files = {_short(path): path for path in files}
        self._opened: dict[str, BinaryIO] = {}
        self._parted: dict[str, Parted] = {}
        self._allowed: list[str] = []
        self._staged = 0

    def prepare(self, question: Question) -> None:
        """Make a view for every table that is a file, and let the engine open the files that readers name."""
        for schema, name in question.tables:
            relation = self._relation(schema, name)
            if relation is None:
                continue
            if schema:
                self._connection.execute(f"CREATE SCHEMA IF NOT EXISTS {identifier(schema)}")
            target = f"{identifier(schema)}.{identifier(name)}" if schema else identifier(name)
            self._connection.execute(f"CREATE VIEW {target} AS SELECT * FROM {relation}")
        for path in question.paths:
            if _is_glob(path) and not self._exists(path):
                self._allowed.append(str(self._scope.root / path))
            for one in self._matching(path):
                self._allowed.append(self._place(one))

    def relation(self, path: str) -> str:
        """The expression that reads a file, or a part of one as FILE#PART."""
        found = self._relation("", path)
        if found is None:
            raise Refused("not_found", f"there is no file {path!r}")
        return found

    def parts(self, path: str) -> list[str]:
        """The sheets or tables of a file that has several; none for other files."""
        file = self._file(path)
        return self._parts(path, file).names() if formats.kind_of(file, path) in _PARTED else []

    @property
    def read(self) -> list[str]:
        """The files that were opened, as seen from the workspace."""
        return sorted({self._scope.relative(path) for path in self._opened})

    def close(self) -> None:
        """From now on the engine opens only what was found, and nobody can change that."""
        allowed = ", ".join(quoted(path) for path in dict.fromkeys(self._allowed))
        for setting in (
            f"SET allowed_paths = [{allowed}]",
            f"SET allowed_directories = [{quoted(str(self._folder))}]",
            "SET enable_external_access = false",
            "SET lock_configuration = true",
        ):
            self._connection.execute(setting)

    def _relation(self, schema: str, name: str) -> str | None:
        if schema:
            if schema.lower() in self._files:
                return self._part(self._files[schema.lower()], name)
            path = f"{schema}.{name}"
            return self._read([path]) if self._exists(path) else None
        path, mark, part = name.rpartition("#")
        if mark and not self._exists(name):
            return self._part(path, part)
        if self._exists(name) or _is_glob(name):
            return self._read(self._matching(name))
        if name.lower() in self._files:
            return self._read(self._matching(self._files[name.lower()]))
        for path in self._files.values():
            if name.lower() in (one.lower() for one in self.parts(path)):
                return self._part(path, name)
        if _LIKE_A_PATH.search(name):
            self._file(name)
        return None

    def _read(self, paths: Sequence[str]) -> str:
        kinds = {formats.kind_of(self._file(path), path) for path in paths}
        if len(kinds) > 1:
            raise Refused("mixed", f"these files have different formats: {', '.join(sorted(kinds))}")
        kind = kinds.pop()
        if kind in _PARTED:
            if len(paths) > 1:
                raise Refused("mixed", "several workbooks or databases cannot be read as one table")
            parts = self.parts(paths[0])
            if not parts:
                raise Refused("empty", f"{paths[0]} holds no table")
            return self._part(paths[0], parts[0])
        if kind == formats.CSV:
            return self._csv(paths)
        reader = "read_parquet" if kind == formats.PARQUET else "read_json"
        options = "" if kind == formats.PARQUET else self._compression(paths)
        places = ", ".join(quoted(self._place(path)) for path in paths)
        return f"{reader}([{places}], union_by_name=true{options})"

    def _csv(self, paths: Sequence[str]) -> str:
        places, size = [], 0
        for path in paths:
            file = self._file(path)
            encoding = "" if formats.compression_of(file) else formats.encoding_of(file)
            size += file.seek(0, 2)
            places.append(str(formats.as_utf8(file, encoding, self._new())) if encoding else self._place(path))
        options = self._compression(paths) + (", sample_size=-1" if size <= _EXACT_BYTES else "")
        listed = ", ".join(map(quoted, places))
        relation = f"read_csv([{listed}], union_by_name=true{options})"
        return self._with_decimal_commas(relation, places[0], options)

    def _with_decimal_commas(self, relation: str, place: str, options: str) -> str:
        """Columns in which every value is a number with a comma become numbers, where the comma separates nothing."""
        described = self._connection.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()
        texts = [identifier(name) for name, kind, *_ in described if kind == "VARCHAR"]
        if not texts:
            return relation
        test = f"regexp_full_match(trim(%s), {quoted(_COMMA_NUMBER)})"
        sample = f"(SELECT * FROM {relation} LIMIT 1000)"
        texts = self._holding(texts, f"bool_and({test}) AND bool_or(contains(%s, ','))", sample)
        if not texts:
            return relation
        sniffed = self._connection.execute(f"SELECT Delimiter FROM sniff_csv({quoted(place)}{options})").fetchone()
        if not sniffed or sniffed[0] == ",":
            return relation
        texts = self._holding(texts, f"bool_and({test})", relation)
        casts = ", ".join(
            f"CAST(replace(replace(replace(trim({name}), '.', ''), ' ', ''), ',', '.') AS DOUBLE) AS {name}"
            for name in texts
        )
        return f"(SELECT * REPLACE ({casts}) FROM {relation})" if texts else relation

    def _holding(self, names: Sequence[str], condition: str, relation: str) -> list[str]:
        """The columns for all of which a condition holds."""
        tests = ", ".join(condition.replace("%s", name) for name in names)
        row = self._connection.execute(f"SELECT {tests} FROM {relation}").fetchone() or ()
        return [name for name, holds in zip(names, row, strict=True) if holds]

    def _compression(self, paths: Sequence[str]) -> str:
        found = {formats.compression_of(self._file(path)) for path in paths}
        if len(found) > 1:
            raise Refused("mixed", "some of these files are compressed and some are not")
        name = found.pop()
        return f", compression={quoted(name)}" if name else ""

    def _part(self, path: str, part: str) -> str:
        parted = self._parts(path, self._file(path))
        names = {name.lower(): name for name in reversed(parted.names())}
        if part.lower() not in names:
            known = ", ".join(list(names.values())[:20])
            raise Refused("not_found", f"{path} has no table {part!r}; it has: {known}")
        header, rows = parted.rows(names[part.lower()])
        return stage(header, rows, self._new())

    def _parts(self, path: str, file: BinaryIO) -> Parted:
        if path not in self._parted:
            kind = formats.kind_of(file, path)
            if kind not in _PARTED:
                raise Refused("not_found", f"{path} has no parts: it is one table")
            if kind == formats.WORKBOOK:
                self._parted[path] = Workbook(file, path)
            else:
                folder = self._new()
                folder.mkdir()
                self._parted[path] = SqliteFile(file, path, self._scope, folder)
        return self._parted[path]

    def _matching(self, path: str) -> list[str]:
        """The files behind a path or a pattern."""
        if not _is_glob(path) or self._exists(path):
            return [path]
        root = str(self._scope.root)
        pattern = path.removeprefix(f"{root}/").removeprefix("./")
        wanted = pattern if "/" in pattern else f"/{pattern}"
        found = find(Query(root=root, path=".", pattern=wanted, names=True, most=_FILES + 1))
        names = [one.text for one in found if not one.note]
        if not names or len(names) > _FILES:
            raise Refused("not_found", f"{path} fits {f'more than {_FILES}' if names else 'no'} files")
        return names

    def _exists(self, path: str) -> bool:
        with contextlib.suppress(PermissionRefused, OSError, ValueError):
            return self._scope.resolve(path).is_file()
        return False

    def _file(self, path: str) -> BinaryIO:
        if path not in self._opened:
            if len(self._opened) > _FILES:
                raise Refused("too_large", f"at most {_FILES} files")
            try:
                self._opened[path] = self._scope.open_read(path)
            except OSError as error:
                raise OSError(error.errno, error.strerror, path) from error
        return self._opened[path]

    def _place(self, path: str) -> str:
        """How the engine is told a file: by our descriptor, so that no name of the file means anything to it."""
        place = str(_DESCRIPTORS / str(self._file(path).fileno())) if _DESCRIPTORS.exists() else ""
        place = place or str(self._scope.resolve(path))
        self._allowed.append(place)
        return place

    def _new(self) -> Path:
        self._staged += 1
        return self._folder / str(self._staged)


_PARTED = (formats.WORKBOOK, formats.SQLITE)


def _is_glob(path: str) -> bool:
    return re.search(r"[*?\[]", path) is not None


def _short(path: str) -> str:
    """The name under which a file may be used as a table: without folder and suffix, in letters and digits."""
    stem = path.rpartition("/")[2].partition(".")[0]
    return re.sub(r"\W", "_", stem).lower()
