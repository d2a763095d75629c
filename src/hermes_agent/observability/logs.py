"""The log file as it is read: across rotated files, filtered, followed. Memory does not grow with the log."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ..types.base import Value
from ..types.errors import UsageError

KEPT = 3
_LONGEST = 1 << 20
_LOOKS = 100
_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,6})?)\s*(s|m|min|h|d|w)\Z")
_LENGTHS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86_400.0, "w": 604_800.0}
_FAILED_KINDS = ("_failed", "_lost", "_damaged")
_DOUBTFUL_KINDS = ("_left_out", "_skipped", "notice", "recovered")


class Level(StrEnum):
    """How much a line matters."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


_ORDER = list(Level)


class Filter(Value, frozen=True, kw_only=True):
    """Which lines are wanted; what is empty does not matter. `run` is the beginning or the end of an id."""

    since: float = 0.0
    run: str = ""
    level: Level = Level.INFO
    kinds: tuple[str, ...] = ()
    text: str = ""


class Entry(Value, frozen=True, kw_only=True):
    """One line: when, how much it matters, what, and the rest as it was written."""

    at: float
    level: Level
    kind: str
    run: str
    rest: dict[str, Any]
    raw: str


Broken = Callable[[str], None]
"""Told the name of a file with lines that cannot be read."""


def level_of(line: Mapping[str, Any]) -> Level:
    """How much a line matters, from what it says; also for lines that were written without a level."""
    given = line.get("level")
    if isinstance(given, str) and given in Level.__members__.values():
        return Level(given)
    kind, status = str(line.get("kind", "")), line.get("status")
    if kind.endswith(_FAILED_KINDS) or status in ("in_doubt", "failed") or line.get("in_doubt"):
        return Level.ERROR
    doubtful = status in ("error", "timeout", "refused", "interrupted") or line.get("failure")
    return Level.WARNING if doubtful or kind.endswith(_DOUBTFUL_KINDS) else Level.INFO


def aside(path: Path, number: int) -> Path:
    """Where the log before the last so many rotations lies."""
    return path.with_name(f"{path.name}.{number}")


def log_files(path: Path) -> list[Path]:
    """The log with what was rotated away, oldest first; only what exists."""
    names = [aside(path, number) for number in range(KEPT, 0, -1)]
    return [name for name in (path.with_suffix(".old.log"), *names, path) if name.is_file()]


def parse_span(text: str, now: float) -> float:
    """The moment meant by `10m`, `2h`, `7d` or a date. Raises UsageError."""
    import datetime

    found = _SPAN.match(text.strip().lower())
    if found:
        return now - float(found[1]) * _LENGTHS[found[2]]
    try:
        return datetime.datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{text!r} is no time", remedy="say 30s, 10m, 2h, 7d, or a date such as 2026-01-31") from None


def parse_entry(raw: bytes) -> Entry | None:
    """A line; None when it is none of ours."""
    if len(raw) > _LONGEST:
        return None
    try:
        line = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(line, dict) or not isinstance(line.get("kind"), str):
        return None
    at = line.get("at")
    if isinstance(at, bool) or not isinstance(at, int | float) or not 0 <= at < 1e11:
        return None
    rest = {key: value for key, value in line.items() if key not in ("at", "level", "kind", "run")}
    run = line.get("run")
    return Entry(
        at=float(at),
        level=level_of(line),
        kind=line["kind"],
        run=run if isinstance(run, str) else "",
        rest=rest,
        raw=raw.decode().rstrip("\r\n"),
    )


def wanted(entry: Entry, filter: Filter) -> bool:
    """Whether an entry passes."""
    if entry.at < filter.since or _ORDER.index(entry.level) < _ORDER.index(filter.level):
        return False
    if filter.kinds and entry.kind not in filter.kinds:
        return False
    if filter.run and not (entry.run.startswith(filter.run) or entry.run.endswith(filter.run)):
        return False
    return not filter.text or filter.text.casefold() in entry.raw.casefold()


class Reader:
    """Reads the log from its oldest line and goes on where it stopped, also when the file was rotated meanwhile."""

    def __init__(self, path: Path, filter: Filter, broken: Broken) -> None:
        self._path = path
        self._filter = filter
        self._broken = broken
        self._told: set[str] = set()
        self._file: BinaryIO | None = None
        self._name = path.name
        self._part = b""

    def last(self, limit: int) -> list[Entry]:
        """The last entries that pass, oldest first; leaves off behind them."""
        return list(deque(self.more(), maxlen=limit))

    def more(self) -> Iterator[Entry]:
        """What passes and was not read yet."""
        while True:
            if self._file is not None:
                yield from self._rest()
            following = self._following()
            if following is None:
                return
            if self._file is not None:
                yield from self._rest()
            self._turn_to(*following)

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
        self._file = None

    def _rest(self) -> Iterator[Entry]:
        """The whole lines that are left in the open file. A line that is half written waits; one without end is given
        up."""
        assert self._file is not None
        while piece := self._file.readline(_LONGEST + 1 - len(self._part)):
            self._part += piece
            if not piece.endswith(b"\n") and len(self._part) <= _LONGEST:
                return
            line, self._part = self._part, b""
            if not line.endswith(b"\n"):
                self._skip_line()
            if not line.strip():
                continue
            entry = parse_entry(line)
            if entry is None:
                self._tell()
            elif wanted(entry, self._filter):
                yield entry

    def _skip_line(self) -> None:
        assert self._file is not None
        while (piece := self._file.readline(_LONGEST)) and not piece.endswith(b"\n"):
            continue

    def _tell(self) -> None:
        if self._name not in self._told:
            self._told.add(self._name)
            self._broken(self._name)

    def _following(self) -> tuple[str, BinaryIO] | None:
        """The file behind the one that is open, or the oldest; None where there is none yet. While somebody moves the
        files, they are looked at again."""
        for _ in range(_LOOKS):
            seen = _places(self._path)
            name = self._behind(seen)
            if name is None:
                if seen == _places(self._path):
                    return None
                continue
            try:
                fresh = name.open("rb")
            except OSError:
                continue
            if _identity(os.fstat(fresh.fileno())) == seen[name] and seen == _places(self._path):
                return name.name, fresh
            fresh.close()
        return None

    def _behind(self, seen: dict[Path, tuple[int, int]]) -> Path | None:
        names = list(seen)
        if self._file is None:
            return names[0] if names else None
        ours = _identity(os.fstat(self._file.fileno()))
        place = next((number for number, name in enumerate(names) if seen[name] == ours), -1)
        if place >= 0 and os.fstat(self._file.fileno()).st_size < self._file.tell():
            self._file.seek(0)
            self._part = b""
            return None
        return names[place + 1] if place + 1 < len(names) else None

    def _turn_to(self, name: str, fresh: BinaryIO) -> None:
        if self._part:
            self._tell()
        self.close()
        self._file, self._part, self._name = fresh, b"", name


def _places(path: Path) -> dict[Path, tuple[int, int]]:
    """Which file lies where, oldest first."""
    found = {}
    for name in log_files(path):
        try:
            found[name] = _identity(name.stat())
        except OSError:
            continue
    return found


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino
