"""Collects the figures of a report from a file, and fills a template with them.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output.
"""

from __future__ import annotations

import configparser
import csv
import io
import json
import re
import string
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

Fields = dict[str, str]
_BRACES = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_PERCENT = re.compile(r"%\((\w+)\)s")
_LEFT_OVER = re.compile(r"\{\{|%\(\w|\$\{?[a-z]")


class Refused(Exception):
    """A way does not understand a file."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


def collect_json(text: str) -> Fields:
    """An object of figures."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Refused("parse", f"it is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise Refused("parse", "it is no JSON object")
    return {str(name): str(value) for name, value in found.items()}


def collect_flat(text: str) -> Fields:
    """Lines of name,value under a header."""
    rows = list(csv.reader(io.StringIO(text, newline="")))
    if not rows or rows[0] != ["name", "value"]:
        raise Refused("parse", "the first line is not name,value")
    if any(len(row) != 2 for row in rows):
        raise Refused("parse", "a line does not have two fields")
    return {row[0]: row[1] for row in rows[1:]}


def collect_sections(text: str) -> Fields:
    """Sections with name = value."""
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        raise Refused("parse", f"it has no sections: {error}") from error
    return {name: value for section in parser.sections() for name, value in parser.items(section)}


def collect_tree(text: str) -> Fields:
    """Elements with a name and a value."""
    if re.search(r"<!(DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise Refused("parse", "it declares entities")
    try:
        root = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, RecursionError) as error:
        raise Refused("parse", f"it is no XML: {error}") from error
    return {str(one.get("name")): str(one.get("value")) for one in root.iter("figure")}


def fill_dollar(template: str, fields: Fields) -> str:
    """$name and ${name}."""
    try:
        return string.Template(template).substitute(fields)
    except (KeyError, ValueError) as error:
        raise Refused("template", f"a placeholder has no figure: {error}") from error


def fill_percent(template: str, fields: Fields) -> str:
    """%(name)s."""
    try:
        return _PERCENT.sub(lambda found: fields[found[1]], template)
    except KeyError as error:
        raise Refused("template", f"a placeholder has no figure: {error}") from error


def fill_braces(template: str, fields: Fields) -> str:
    """{{name}}."""
    try:
        return _BRACES.sub(lambda found: fields[found[1]], template)
    except KeyError as error:
        raise Refused("template", f"a placeholder has no figure: {error}") from error


COLLECT = {
    "collect_json": collect_json,
    "collect_flat": collect_flat,
    "collect_sections": collect_sections,
    "collect_tree": collect_tree,
}
FILL = {"fill_dollar": fill_dollar, "fill_percent": fill_percent, "fill_braces": fill_braces}


def filled(way: str, template: str, fields: Fields) -> str:
    """The report. A template whose placeholders are still there afterwards was not understood."""
    report = FILL[way](template, fields)
    if _LEFT_OVER.search(report):
        raise Refused("template", "placeholders are left that this way does not know")
    return report


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: collect or fill, and write."""
    try:
        if asked["way"] in COLLECT:
            fields = COLLECT[asked["way"]](Path(asked["data"]).read_text("utf-8"))
            written = json.dumps(fields, ensure_ascii=False, indent=1)
        else:
            fields = collect_json(Path(asked["figures"]).read_text("utf-8"))
            written = filled(asked["way"], Path(asked["template"]).read_text("utf-8"), fields)
    except Refused as error:
        return {"error": error.error, "text": str(error)}
    except (OSError, UnicodeDecodeError) as error:
        return {"error": "not_found", "text": f"it cannot be read: {error}"}
    Path(asked["output"]).write_text(written, "utf-8")
    return {"text": f"wrote {asked['output']}: {len(fields)} figures"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
