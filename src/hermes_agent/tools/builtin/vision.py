"""Looking at pictures of the workspace through a model that can see."""

from __future__ import annotations

import struct
from typing import Annotated, NamedTuple

from ...safety.paths import Scope
from ...types.text import clean, one_line
from ...types.tools import ToolContext, ToolResult
from ..failures import failed, file_failure
from ..tool import tool

_FILE_BYTES = 8 << 20
_PIXELS = 40_000_000
_SIDE = 16_384
_QUESTION_CHARS = 4_000
_FRAMES = frozenset((*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0)))


class Picture(NamedTuple):
    """What a picture says about itself."""

    media_type: str
    width: int
    height: int


@tool(capabilities=("files.read",), effect="none", timeout=180, labels=("untrusted", "private"), rare=True)
async def vision_analyze(
    path: Annotated[str, "PNG, JPEG, GIF or WebP"], context: ToolContext, question: str = "Describe this picture."
) -> ToolResult:
    """Ask about a picture."""
    if not question.strip() or len(question) > _QUESTION_CHARS:
        return failed("bad_argument", f"question has 1 to {_QUESTION_CHARS} characters")
    scope = Scope(context.workspace)
    try:
        with scope.open_read(path) as file:
            data = file.read(_FILE_BYTES + 1)
    except OSError as error:
        return file_failure(error, path, scope)
    shown = one_line(path)
    if len(data) > _FILE_BYTES:
        return failed("too_large", f"{shown} is larger than {_FILE_BYTES >> 20} MB; scale it down first")
    picture = recognised(data)
    if picture is None:
        return failed("not_a_picture", f"{shown} is no PNG, JPEG, GIF or WebP picture, or it is damaged")
    if max(picture.width, picture.height) > _SIDE or picture.width * picture.height > _PIXELS:
        return failed("too_large", f"{shown} has {picture.width}x{picture.height} pixels; scale it down first")
    return await context.eyes.look(data, picture.media_type, clean(question))


def recognised(data: bytes) -> Picture | None:
    """The kind and size of a picture by its first bytes; None for everything else, and for a picture of no size."""
    try:
        found = _recognised(data)
    except (struct.error, IndexError):
        return None
    return found if found and found.width > 0 and found.height > 0 else None


def _recognised(data: bytes) -> Picture | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        return Picture("image/png", *struct.unpack(">II", data[16:24]))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return Picture("image/gif", *struct.unpack("<HH", data[6:10]))
    if data.startswith(b"\xff\xd8\xff"):
        return _jpeg(data)
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp(data)
    return None


def _jpeg(data: bytes) -> Picture | None:
    """The size is in the frame header, behind segments of stated length."""
    place = 2
    while place + 9 < len(data) and data[place] == 0xFF:
        mark = data[place + 1]
        if mark in _FRAMES:
            height, width = struct.unpack(">HH", data[place + 5 : place + 9])
            return Picture("image/jpeg", width, height)
        if mark == 0xFF:
            place += 1
        elif mark == 0x01 or 0xD0 <= mark <= 0xD8:
            place += 2
        else:
            place += 2 + max(2, int.from_bytes(data[place + 2 : place + 4], "big"))
    return None


def _webp(data: bytes) -> Picture | None:
    match data[12:16]:
        case b"VP8X":
            width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
            return Picture("image/webp", width, height) if len(data) >= 30 else None
        case b"VP8L" if data[20] == 0x2F:
            (bits,) = struct.unpack("<I", data[21:25])
            return Picture("image/webp", (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = struct.unpack("<HH", data[26:30])
            return Picture("image/webp", width & 0x3FFF, height & 0x3FFF)
    return None
