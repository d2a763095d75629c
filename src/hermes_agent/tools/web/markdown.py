"""Writes text with a little structure: headings, lists, quotes, code, tables, links."""

from __future__ import annotations

import re

_SPACE = re.compile(r"[ \t\n\r\f]+")
_CELL = 500
_NESTED = 8


class Writing:
    """One stream of lines. A table cell is a stream of its own."""

    def __init__(self) -> None:
        self.size = 0
        self.flushed = 0
        self._lines: list[str] = []
        self._inline: list[str] = []
        self._margins: list[str] = []
        self._marker = ""
        self._gap: str | None = None

    def add(self, text: str) -> None:
        """Words of the running line; any run of white space is one space."""
        flat = _SPACE.sub(" ", text)
        if flat == " " and (not self._inline or self._inline[-1].endswith((" ", "\n"))):
            return
        self._inline.append(flat)
        self.size += len(flat)

    def mark(self) -> int:
        """A place in the running line, for `since`."""
        return len(self._inline)

    def since(self, mark: int) -> str:
        """Take back what was added behind a place."""
        taken = "".join(self._inline[mark:])
        del self._inline[mark:]
        return taken

    def turn(self) -> None:
        """End the running line inside its block."""
        self._inline.append("\n")

    def flush(self) -> None:
        """End the running block."""
        text = "".join(self._inline)
        self._inline.clear()
        self.flushed += 1
        for line in text.split("\n"):
            words = " ".join(line.split(" ")).strip()
            if words:
                self._put(words)

    def gap(self) -> None:
        """End the running block and leave a line empty before the next."""
        self.flush()
        margin = "".join(self._margins[:_NESTED]).rstrip()
        if self._gap is None or len(margin) < len(self._gap):
            self._gap = margin

    def literal(self, text: str) -> None:
        """Lines that stay as they are."""
        self.gap()
        self.size += len(text)
        for line in text.split("\n"):
            self._put(line.rstrip())
        self.gap()

    def enter(self, margin: str, marker: str = "") -> None:
        """Lines from here on stand behind a margin, the first of them behind a marker instead."""
        self.flush()
        self._margins.append(margin)
        self._marker = marker

    def leave(self) -> None:
        """The margin ends."""
        self.flush()
        self._marker = ""
        if self._margins:
            self._margins.pop()

    def text(self) -> str:
        """Everything written."""
        self.flush()
        return "\n".join(self._lines)

    def _put(self, line: str) -> None:
        if self._gap is not None and self._lines and self._lines[-1] != self._gap:
            self._lines.append(self._gap)
        self._gap = None
        margins = self._margins[:_NESTED]
        if self._marker and margins:
            margins[-1] = self._marker
            self._marker = ""
        self._lines.append("".join(margins) + line)


class Table:
    """Rows of cells, written as a table where it is one and as paragraphs where it only arranges a page."""

    def __init__(self, *, layout: bool) -> None:
        self._layout = layout
        self._rows: list[list[str]] = []

    def row(self) -> None:
        """Begin a row."""
        self._rows.append([])

    def cell(self, text: str) -> None:
        """The next cell of the row."""
        if not self._rows:
            self.row()
        self._rows[-1].append(text.strip())

    def write(self, writing: Writing) -> None:
        """Put the table into a stream of lines."""
        rows = [row for row in self._rows if any(row)]
        width = max(map(len, rows), default=0)
        cells = [cell for row in rows for cell in row]
        if self._layout or width < 2 or any(len(cell) > _CELL or "\n| " in f"\n{cell}" for cell in cells):
            for cell in filter(None, cells):
                writing.literal(cell)
            return
        written = [_row(row, width) for row in rows]
        written.insert(1, "|" + "---|" * width)
        writing.literal("\n".join(written))


def _row(cells: list[str], width: int) -> str:
    flat = [" ".join(cell.split()).replace("|", "\\|") for cell in cells]
    return "| " + " | ".join(flat + [""] * (width - len(flat))) + " |"


def fenced(code: str, language: str) -> str:
    """Code between fences longer than any inside it."""
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}{language}\n{code}\n{fence}"
