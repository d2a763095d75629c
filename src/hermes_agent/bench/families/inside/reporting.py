"""Collects the figures of a report from a file, and fills a template with them.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output.
"""

from __future__ import annotations

import configparser
import contextlib
import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

Fields = dict[str, str]
_DOLLAR = re.compile(r"\$\{(\w+)\}")
_BRACES = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_PERCENT = re.compile(r"%\((\w+)\)s")


class Refused(Exception):
    """A way does not understand a file."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


def from_json(text: str) -> Fields:
    """An object of figures."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused("parse", f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused("parse", "it is no JSON object")
    return {str(name): str(value) for name, value in found.items()}


def from_lines(text: str) -> Fields:
    """Lines of name,value under a header."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if not rows or rows[0] != ["name", "value"] or any(len(row) != 2 for row in rows):
        raise Refused("parse", "it does not have lines of name,value")
    return {row[0]: row[1] for row in rows[1:]}


def from_sections(text: str) -> Fields:
    """Sections with name = value."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise Refused("parse", f"it has no sections: {error}") from error
    if not parser.sections():
        raise Refused("parse", "it has no sections")
    return {name: value for section in parser.sections() for name, value in parser.items(section)}


def from_tree(text: str) -> Fields:
    """Elements with a name and a value."""
    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise Refused("parse", "it declares entities")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise Refused("parse", f"it is no XML: {error}") from error
    return {str(one.get("name")): str(one.get("value")) for one in root.iter("figure")}


_READERS = (from_json, from_lines, from_sections, from_tree)
COLLECT = {"collect_json": 1, "collect_flat": 2, "collect_sections": 3, "collect_any": 4}
"""How many of the readers a way has."""
FILL = {
    "fill_dollar": (_DOLLAR,),
    "fill_classic": (_DOLLAR, _PERCENT),
    "fill_any": (_DOLLAR, _PERCENT, _BRACES),
}
"""Which placeholders a way knows."""


def collected(way: str, text: str) -> Fields:
    """The figures, as the first reader that understands them has them."""
    *earlier, last = _READERS[: COLLECT[way]]
    for reader in earlier:
        with contextlib.suppress(Refused):
            return reader(text)
    return last(text)


def filled(way: str, template: str, fields: Fields) -> str:
    """The report. A template whose placeholders are still there afterwards was not understood."""
    report = template
    try:
        for pattern in FILL[way]:
            report = pattern.sub(lambda found: fields[found[1]], report)
    except KeyError as error:
        raise Refused("template", f"a placeholder has no figure: {error}") from error
    if any(pattern.search(report) for pattern in (_DOLLAR, _PERCENT, _BRACES)):
        raise Refused("template", "placeholders are left that this way does not know")
    return report


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: collect or fill, and write."""
    try:
        if asked["way"] in COLLECT:
            fields = collected(asked["way"], Path(asked["data"]).read_text("utf-8"))
            written = json.dumps(fields, ensure_ascii=False, indent=1)
        else:
            fields = from_json(Path(asked["figures"]).read_text("utf-8"))
            written = filled(asked["way"], Path(asked["template"]).read_text("utf-8"), fields)
    except Refused as error:
        return {"error": error.error, "text": str(error)}
    except (OSError, UnicodeDecodeError) as error:
        return {"error": "not_found", "text": f"it cannot be read: {error}"}
    Path(asked["output"]).write_text(written, "utf-8")
    return {"text": f"wrote {asked['output']}: {len(fields)} figures"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
