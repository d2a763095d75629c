"""Plain output for people and programs. Colours only on a terminal, and never with NO_COLOR."""

from __future__ import annotations

import sys
from typing import Any, TextIO

import msgspec

from ...config.load import read_environment
from ...types.errors import HermesError
from ...types.text import visible

_CODES = {"dim": "2", "bold": "1", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class Console:
    """Where a command writes: answers to stdout, everything else to stderr."""

    def __init__(self, out: TextIO | None = None, err: TextIO | None = None) -> None:
        self.out = out or sys.stdout
        self.err = err or sys.stderr
        self._colour = read_environment().colour

    def styled(self, text: str, style: str, stream: TextIO) -> str:
        """`text` in a style, where the stream can show it."""
        if not (self._colour and stream.isatty()):
            return text
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m"

    def note(self, text: str, style: str = "dim") -> None:
        """A remark beside the answer."""
        print(self.styled(text, style, self.err), file=self.err, flush=True)

    def fail(self, error: HermesError) -> None:
        """An error and what to do about it."""
        print(self.styled("error: ", "red", self.err) + visible(str(error)), file=self.err)
        if error.advice:
            print(f"  try: {error.advice}", file=self.err)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    text = msgspec.json.format(msgspec.json.encode(value, order="deterministic"), indent=2)
    sys.stdout.write(text.decode() + "\n")
    sys.stdout.flush()
