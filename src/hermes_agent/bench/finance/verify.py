"""Whether a task was done, by the generator's truth. Rounding to cents is forgiven, nothing else is."""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from ..verdict import Verdict, read_json, read_plain, same
from .tasks import ANSWER, Task

_PICTURE_BYTES = 8 << 20
_PIXEL_BYTES = 64 << 20
_PNG = b"\x89PNG\r\n\x1a\n"
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_DRAWN = frozenset(("rect", "path", "line", "polyline", "polygon", "circle", "ellipse"))
_LEAST_SIZE = 16


def verify(task: Task, workspace: Path) -> Verdict:
    """Look at what lies in the workspace. Never raises for what it finds there."""
    why = _answer_problem(task, workspace)
    if not why and "chart" in task.checks:
        why = _chart_problem(workspace, len(task.truth))
    return Verdict(ok=not why, why=why)


def _answer_problem(task: Task, workspace: Path) -> str:
    try:
        found = read_json(workspace, ANSWER, _pairs)
    except ValueError as error:
        return str(error)
    if not isinstance(found, list):
        return f"{ANSWER} is no array"
    if len(found) != len(task.truth):
        return f"{ANSWER} has {len(found)} rows instead of {len(task.truth)}"
    for place, (row, right) in enumerate(zip(found, task.truth, strict=True), 1):
        if not isinstance(row, dict) or row.keys() != right.keys():
            return f"row {place} does not have the fields {', '.join(right)}"
        for name, value in right.items():
            if not same(row[name], value):
                return f"row {place}: {name} is wrong"
    return ""


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({name for name, _ in pairs}) < len(pairs):
        raise ValueError("a field appears twice")
    return dict(pairs)


def _chart_problem(workspace: Path, bars: int) -> str:
    svg = read_plain(workspace / "chart.svg", _PICTURE_BYTES)
    png = read_plain(workspace / "chart.png", _PICTURE_BYTES)
    if svg is None and png is None:
        return "there is no chart.svg or chart.png"
    problems = [_svg_problem(svg, bars)] if svg is not None else []
    problems += [_png_problem(png)] if png is not None else []
    return "" if "" in problems else problems[0]


def _svg_problem(data: bytes, bars: int) -> str:
    if re.search(rb"<!(DOCTYPE|ENTITY)", data, re.IGNORECASE):
        return "chart.svg declares entities"
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, RecursionError, LookupError):
        return "chart.svg is no XML"
    if root.tag.rpartition("}")[2] != "svg":
        return "chart.svg is no SVG"
    shapes = [one for one in root.iter() if isinstance(one.tag, str) and one.tag.rpartition("}")[2] in _DRAWN]
    drawn = {tuple(sorted(one.attrib.items())) for one in shapes if not _is_flat(one.attrib)}
    return "" if len(drawn) >= max(2, bars) else f"chart.svg has {len(drawn)} different shapes, fewer than {bars} bars"


def _is_flat(attributes: dict[str, str]) -> bool:
    """Whether a shape has a size that is nothing."""
    return any(attributes.get(name, "1").strip() in ("", "0", "0.0") for name in ("width", "height", "r", "d"))


def _png_problem(data: bytes) -> str:
    try:
        width, height, rows = _pixels(data)
    except (ValueError, struct.error, zlib.error) as error:
        return f"chart.png is no picture: {error}"
    if min(width, height) < _LEAST_SIZE:
        return f"chart.png has {width} x {height} pixels"
    return "" if len(set(rows)) >= 4 else "chart.png is blank"


def _pixels(data: bytes) -> tuple[int, int, Sequence[bytes]]:
    """Width, height and the filtered lines of a PNG without interlacing. Raises ValueError."""
    if not data.startswith(_PNG):
        raise ValueError("it does not begin like one")
    place, packed, head, ended = len(_PNG), bytearray(), b"", False
    while place < len(data) and not ended:
        (size,) = struct.unpack_from(">I", data, place)
        kind, body = data[place + 4 : place + 8], data[place + 8 : place + 8 + size]
        (digest,) = struct.unpack_from(">I", data, place + 8 + size)
        if zlib.crc32(kind + body) != digest:
            raise ValueError("a part of it is damaged")
        head = body if kind == b"IHDR" else head
        packed += body if kind == b"IDAT" else b""
        ended, place = kind == b"IEND", place + 12 + size
    width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", head)
    if not ended or interlaced or colour not in _CHANNELS:
        raise ValueError("it ends too soon, or is of an unknown kind")
    line = 1 + (width * depth * _CHANNELS[colour] + 7) // 8
    if not 0 < line * height <= _PIXEL_BYTES:
        raise ValueError("it is too large")
    raw = zlib.decompressobj().decompress(bytes(packed), line * height)
    if len(raw) != line * height:
        raise ValueError("lines are missing")
    return width, height, [raw[start : start + line] for start in range(0, len(raw), line)]
