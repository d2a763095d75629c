"""Finds lines and names under a folder: sorted, bounded, never through a link.

Runs in this process for patterns that cannot take long on a line, and in a process of its own for the others, because
a regular expression that runs away can only be ended with its process. It therefore needs nothing but the standard
library. In its own process it reads one query as JSON and prints what it finds line by line, so that what was found
before it had to be ended is not lost.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from ..safety.paths import Scope, open_regular
from ..types.errors import PermissionRefused
from .ignore import Parts, Rules, fits_steps

_SKIPPED = frozenset(
    (".git", ".hg", ".svn", "node_modules", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".hermes-trash")
)
_RULES_FILE = ".gitignore"
_RULES_BYTES = 1 << 16
_FILE_BYTES = 16 << 20
_LINE_CHARS = 4_000
_SHOWN_CHARS = 300
_SNIFFED = 8_192
_DEPTH = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Query(NamedTuple):
    """What to look for, and how long at most. `obey` leaves out what `.gitignore` files name."""

    root: str
    path: str
    pattern: str
    names: bool = False
    glob: str = ""
    first: int = 0
    most: int = 50
    context: int = 0
    seconds: float = 15.0
    obey: bool = False


class Found(NamedTuple):
    """One finding, or a note on how the search went."""

    text: str
    note: bool = False


def find(query: Query) -> Iterator[Found]:
    """The findings from number `first` on, at most `most`, then notes. Raises re.error for a bad pattern."""
    walk = Walk(query)
    findings = _names(walk, query) if query.names else _lines(walk, query)
    last = query.first + query.most
    for number, finding in enumerate(findings):
        if number >= last:
            yield Found(f"there are more; offset={last} shows them", note=True)
            break
        if number >= query.first:
            yield Found(finding)
    if walk.late:
        yield Found(f"stopped after {query.seconds:g} s; search a smaller folder or a simpler pattern", note=True)
    if walk.large:
        yield Found(f"{walk.large} files over {_FILE_BYTES >> 20} MB were not searched", note=True)
    if walk.refused:
        yield Found(f"{walk.refused} files or folders could not be read", note=True)
    if walk.ignored:
        yield Found(f"{walk.ignored} files or folders that .gitignore names were left out; give path to see", note=True)


def runs_away(pattern: str) -> bool:
    """Whether a pattern might take more than quadratic time on a line: then it needs a process that can be ended."""
    plain = re.sub(r"\\.", "", pattern)
    repeats = sum(plain.count(char) for char in "*+?{")
    return repeats > 1 or (repeats == 1 and "(" in plain)


class Walk:
    """The regular files under a folder in the order of their paths, and what had to be left out."""

    def __init__(self, query: Query) -> None:
        self._query = query
        self._deadline = time.monotonic() + query.seconds
        self._wanted = _glob(query.pattern if query.names else query.glob)
        self.late = False
        self.large = 0
        self.refused = 0
        self.ignored = 0

    def files(self) -> Iterator[tuple[str, int, str]]:
        """Path to show, open folder, name. The folder stays open until the next step."""
        scope = Scope(Path(self._query.root))
        top = self._query.path
        real = scope.resolve(top)
        if stat.S_ISREG(os.stat(real).st_mode):
            folder = scope.open_folder(str(real.parent))
            try:
                yield top, folder, real.name
            finally:
                os.close(folder)
            return
        above = real.relative_to(scope.root).parts
        rules = self._rules_above(scope, above) if self._query.obey else Rules()
        yield from self._below(scope.open_folder(top), above, len(above), rules)

    def _below(self, folder: int, parts: Parts, top: int, rules: Rules) -> Iterator[tuple[str, int, str]]:
        """Files under a folder that lies at `parts` from the root; patterns are about what is behind `top`."""
        try:
            with os.scandir(folder) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
            if self._query.obey:
                rules = self._rules(folder, rules, len(parts))
            for entry in found:
                if self.expired():
                    return
                path = (*parts, entry.name)
                is_folder = entry.is_dir(follow_symlinks=False)
                if is_folder and (entry.name in _SKIPPED or len(path) - top > _DEPTH):
                    continue
                if rules.ignore(path, folder=is_folder):
                    self.ignored += 1
                elif is_folder and (below := self._open(entry.name, folder)) is not None:
                    yield from self._below(below, path, top, rules)
                elif entry.is_file(follow_symlinks=False) and self._wanted(path[top:]):
                    yield "/".join(path), folder, entry.name
        finally:
            os.close(folder)

    def _rules_above(self, scope: Scope, parts: Parts) -> Rules:
        """The rules of the folders above the one that is searched; none where they name that very folder."""
        rules = Rules()
        for depth in range(len(parts)):
            folder = scope.open_folder("/".join(parts[:depth]) or ".")
            try:
                rules = self._rules(folder, rules, depth)
            finally:
                os.close(folder)
            if rules.ignore(parts[: depth + 1], folder=True):
                return Rules()
        return rules

    def _rules(self, folder: int, rules: Rules, depth: int) -> Rules:
        try:
            with open_regular(_RULES_FILE, folder) as file:
                return rules.extended(file.read(_RULES_BYTES).decode("utf-8", "replace"), depth)
        except (OSError, PermissionRefused):
            return rules

    def _open(self, name: str, folder: int) -> int | None:
        try:
            return os.open(name, _FOLDER, dir_fd=folder)
        except OSError:
            self.refused += 1
            return None

    def content(self, folder: int, name: str) -> bytes:
        """What a file holds; nothing if it is large, binary or unreadable."""
        try:
            with open_regular(name, folder) as file:
                if os.fstat(file.fileno()).st_size > _FILE_BYTES:
                    self.large += 1
                    return b""
                data = file.read(_FILE_BYTES)
        except (OSError, PermissionRefused):
            self.refused += 1
            return b""
        return b"" if b"\0" in data[:_SNIFFED] else data

    def expired(self) -> bool:
        """Whether the time is up."""
        self.late = self.late or time.monotonic() > self._deadline
        return self.late


def _names(walk: Walk, query: Query) -> Iterator[str]:
    return (path for path, _, _ in walk.files())


def _lines(walk: Walk, query: Query) -> Iterator[str]:
    pattern = re.compile(query.pattern)
    literal = b"" if re.search(r"[\\.^$*+?{}\[\]|()]", query.pattern) else os.fsencode(query.pattern)
    for path, folder, name in walk.files():
        data = walk.content(folder, name)
        if not data or literal not in data:
            continue
        lines = data.decode("utf-8", "replace").split("\n")
        for number, line in enumerate(lines):
            if number % 256 == 0 and walk.expired():
                return
            if pattern.search(line[:_LINE_CHARS]):
                yield _shown(path, lines, number, query.context)


def _shown(path: str, lines: list[str], number: int, context: int) -> str:
    """`path:line:text`, with the lines around it as `path-line-text`."""
    if not context:
        return f"{path}:{number + 1}:{_cut(lines[number])}"
    around = range(max(number - context, 0), min(number + context + 1, len(lines)))
    rows = [f"{path}{':' if n == number else '-'}{n + 1}{':' if n == number else '-'}{_cut(lines[n])}" for n in around]
    return "\n".join([*rows, "--"])


def _cut(line: str) -> str:
    line = line.rstrip("\r")
    return line if len(line) <= _SHOWN_CHARS else f"{line[:_SHOWN_CHARS]}…"


def _glob(glob: str) -> Callable[[Parts], bool]:
    """A test of paths given in parts. Without '/' the glob is about the name alone; '**' is any number of folders."""
    if not glob:
        return lambda parts: True
    if not re.search(r"[*?\[]", glob):
        glob = f"*{glob}*" if "/" not in glob else f"{glob}*"
    if "/" not in glob:
        matches = re.compile(fnmatch.translate(glob)).match
        return lambda parts: matches(parts[-1]) is not None
    steps = [None if step == "**" else re.compile(fnmatch.translate(step)) for step in glob.strip("/").split("/")]
    return fits_steps(steps)


def main() -> None:
    """One query from standard input; each finding is a line of JSON, written at once."""
    for found in find(Query(*json.load(sys.stdin))):
        print(json.dumps(found), flush=True)
