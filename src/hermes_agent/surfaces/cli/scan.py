"""`hermes scan`: look for injected instructions, hidden characters and back doors in text before anybody obeys it."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click
import msgspec

from ...safety.scan import MAX_CHARS, Kind, Report, Verdict, scan
from ...types.base import Value
from ...types.errors import NotFound, UsageError
from ...types.text import visible
from .console import Console, print_json
from .options import json_option

_CLEAN, _BLOCKED, _BAD_INPUT = 0, 1, 2
_MAX_BYTES = 4 * MAX_CHARS + 4
_STYLES = {Verdict.ALLOW: "green", Verdict.FLAG: "yellow", Verdict.BLOCK: "red"}


class Scanned(Value, frozen=True, kw_only=True):
    """One file and what was found in it."""

    file: str
    report: Report


@click.command(short_help="Look for injected instructions, hidden characters and back doors in text.")
@click.argument("files", nargs=-1, required=True, metavar="FILE… | -")
@click.option(
    "--kind",
    type=click.Choice([kind.value for kind in Kind]),
    default=Kind.CONTEXT.value,
    show_default=True,
    help="Where the text is going; memory, tool descriptions and skills are judged more strictly.",
)
@click.option(
    "--jsonl", is_flag=True, help='Read {"id","text"} lines and write {"id","verdict","findings"} lines as they come.'
)
@json_option
def command(files: tuple[str, ...], kind: str, jsonl: bool, as_json: bool) -> int:
    """Judge files, or standard input with `-`. Exit code 0: nothing blocked, 1: something blocked, 2: bad input."""
    if jsonl and as_json:
        raise UsageError("--json and --jsonl are two formats", remedy="choose one")
    if files.count("-") > 1:
        raise UsageError("standard input can be read once", remedy="give `-` once")
    if jsonl:
        return _lines(files, Kind(kind))
    scanned = [Scanned(file=name, report=scan(_content(name), Kind(kind))) for name in files]
    if as_json:
        print_json(scanned)
    else:
        _show(scanned, Console())
    return _BLOCKED if any(one.report.verdict is Verdict.BLOCK for one in scanned) else _CLEAN


def _show(scanned: list[Scanned], console: Console) -> None:
    for one in scanned:
        verdict = one.report.verdict
        print(f"{console.styled(verdict.value.ljust(5), _STYLES[verdict], console.out)}  {visible(one.file)}")
        if one.report.findings:
            console.table(
                ("line", "rule", "why", "text"),
                [(str(found.line), found.rule, found.why, found.excerpt) for found in one.report.findings],
            )
    console.out.flush()


def _content(name: str) -> bytes:
    with _opened(name) as file:
        return file.read(_MAX_BYTES)


def _opened(name: str) -> BinaryIO:
    if name == "-":
        return sys.stdin.buffer
    try:
        return Path(name).open("rb")
    except FileNotFoundError:
        raise NotFound(f"there is no file {name!r}", remedy="check the path") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(f"{name!r} cannot be read: {reason}", remedy="give a readable file") from error


def _lines(files: tuple[str, ...], kind: Kind) -> int:
    """Answer every line as it comes. A line that is no item is answered with an error and counts as bad input."""
    blocked = bad = False
    for name in files:
        with _opened(name) as file:
            for answer in _answers(file, name, kind):
                bad = bad or "error" in answer
                blocked = blocked or answer.get("verdict") == Verdict.BLOCK
                sys.stdout.write(json.dumps(answer) + "\n")
                sys.stdout.flush()
    if bad:
        return _BAD_INPUT
    return _BLOCKED if blocked else _CLEAN


def _answers(file: BinaryIO, name: str, kind: Kind) -> Iterator[dict[str, Any]]:
    number = 0
    while line := file.readline(_MAX_BYTES):
        number += 1
        if not line.endswith(b"\n") and len(line) == _MAX_BYTES:
            while (rest := file.readline(_MAX_BYTES)) and not rest.endswith(b"\n"):
                pass
            yield _error(f"longer than {_MAX_BYTES} bytes", name, number)
        elif line.strip():
            yield _answer(line, name, number, kind)


def _answer(line: bytes, name: str, number: int, kind: Kind) -> dict[str, Any]:
    try:
        item = json.loads(line.decode("utf-8", "surrogateescape"))
    except (ValueError, RecursionError):
        return _error("no JSON", name, number)
    if not isinstance(item, dict) or not isinstance(item.get("text"), str):
        return _error('no object with a "text"', name, number, item.get("id") if isinstance(item, dict) else None)
    report = scan(item["text"], kind)
    return {"id": item.get("id"), **msgspec.to_builtins(report)}


def _error(what: str, name: str, number: int, id_: object = None) -> dict[str, Any]:
    return {"id": id_, "error": f"{name}, line {number}: {what}"}
