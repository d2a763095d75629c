"""Plain output for people and programs. Colours only on a terminal, and never with NO_COLOR."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Sequence
from typing import Any, TextIO

import msgspec

from ...config.load import read_environment
from ...types.errors import HermesError
from ...types.text import clean, clean_json, one_line, visible

_CODES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Console:
    """Where a command writes: answers to stdout, everything else to stderr."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.out: TextIO = sys.stdout
        self.err: TextIO = sys.stderr
        self._quiet = quiet
        self._colour = read_environment().colour

    def colourful(self, stream: TextIO) -> bool:
        """Whether colours are wanted and the stream can show them."""
        return self._colour and stream.isatty()

    def styled(self, text: str, style: str, stream: TextIO) -> str:
        """`text` in a style, where the stream can show it."""
        if not self.colourful(stream):
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"

    def note(self, text: str, style: str = "dim") -> None:
        """A remark beside the answer, unless the user wants quiet."""
        if self._quiet:
            return
        print(self.styled(text, style, self.err), file=self.err, flush=True)

    def say(self, text: str) -> None:
        """A line of the answer. Escape sequences are kept from the terminal, and handed on to a file or program."""
        print(clean(visible(text) if self.out.isatty() else text), file=self.out, flush=True)

    def fail(self, error: HermesError) -> None:
        """An error and what to do about it."""
        print(self.styled("error: ", "red", self.err) + visible(str(error)), file=self.err)
        if error.advice:
            print(f"  try: {visible(error.advice)}", file=self.err)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Columns as wide as they need to be; on a terminal the last one is cut to fit."""
        cells = [[one_line(cell, 400) for cell in row] for row in rows]
        widths = [max(len(row[place]) for row in [list(head), *cells]) for place in range(len(head))]
        space = shutil.get_terminal_size().columns - sum(widths[:-1]) - 2 * len(widths[:-1])
        last = max(12, space) if self.out.isatty() else 400
        for number, row in enumerate([list(head), *cells]):
            cut = [*(cell.ljust(width) for cell, width in zip(row, widths[:-1], strict=False)), one_line(row[-1], last)]
            line = "  ".join(cut).rstrip()
            print(self.styled(line, "bold", self.out) if number == 0 else line, file=self.out)
        self.out.flush()


def ago(then: float, now: float | None = None) -> str:
    """How long ago, in one unit."""
    seconds = max(0.0, (time.time() if now is None else now) - then)
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit} ago"
    return "just now" if seconds < 2 else f"{seconds:.0f} s ago"


def amount(size: float) -> str:
    """Bytes for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    raise AssertionError("unreachable")


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    try:
        raw = msgspec.json.encode(value, order="deterministic")
    except UnicodeEncodeError:
        raw = msgspec.json.encode(clean_json(msgspec.to_builtins(value)), order="deterministic")
    sys.stdout.write(msgspec.json.format(raw, indent=2).decode() + "\n")
    sys.stdout.flush()
