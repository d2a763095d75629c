"""Runs a command on a terminal of its own and writes what it shows: `python -m scripts.capture OUT.svg CMD…`."""

from __future__ import annotations

import os
import pty
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

WIDTH = 100
_FETCHED = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->", re.DOTALL)
"""What would be loaded from elsewhere; the viewer's own monospaced font does."""


def captured(command: list[str]) -> str:
    """Everything the command writes to its terminal."""
    shown = bytearray()

    def keep(descriptor: int) -> bytes:
        data = os.read(descriptor, 65536)
        shown.extend(data)
        return data

    os.environ["COLUMNS"] = str(WIDTH)
    pty.spawn(command, keep)
    return shown.decode("utf-8", "replace").replace("\r\n", "\n")


def main() -> None:
    target, *command = sys.argv[1:]
    console = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115 - lives as long as we do
    name = Path(command[0]).name
    console.print(Text.assemble(("$ ", "green"), (" ".join([name, *command[1:]]), "bold")))
    console.print(Text.from_ansi(captured(command)))
    Path(target).write_text(_FETCHED.sub("", console.export_svg(title=name)))


if __name__ == "__main__":
    main()
