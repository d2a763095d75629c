"""Pictures: what counts as one, and how a model gets to see it."""

import asyncio
import os
import struct
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hermes_agent.harness.eyes import ModelEyes
from hermes_agent.models.client import ModelAnswer, TextListener
from hermes_agent.models.meter import NoMeter
from hermes_agent.models.request import ModelRequest
from hermes_agent.models.router import Router
from hermes_agent.store.blobs import BlobFolder
from hermes_agent.tools.builtin.vision import Picture, recognised, vision_analyze
from hermes_agent.tools.tool import declared_tool
from hermes_agent.types.budget import BudgetSpent
from hermes_agent.types.errors import ModelError, ModelFailure, PermissionRefused
from hermes_agent.types.events import AnyEvent, ModelCalled, Usage, UserMessage
from hermes_agent.types.tools import Label, ToolResult
from tests.tools.context import Context


def png(width: int, height: int) -> bytes:
    """A grey picture, its rows compressed."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = zlib.compress((b"\0" + b"\x80" * width) * height) if width * height < 1_000_000 else b""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def jpeg(width: int, height: int) -> bytes:
    comment = b"\xff\xfe" + struct.pack(">H", 7) + b"\xff\xc0abc"
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    return b"\xff\xd8\xff\xe0" + struct.pack(">H", 4) + b"JF" + comment + frame + b"\xff\xd9"


def webp(kind: bytes, body: bytes) -> bytes:
    chunk = kind + struct.pack("<I", len(body)) + body
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk


GIF = b"GIF89a" + struct.pack("<HH", 3, 2) + b"\0\0\0;"
LOSSY = webp(b"VP8 ", b"\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 3 | 0x4000, 2))
LOSSLESS = webp(b"VP8L", b"\x2f" + struct.pack("<I", 2 | 1 << 14))
EXTENDED = webp(b"VP8X", b"\0\0\0\0" + b"\2\0\0" + b"\1\0\0")


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (png(3, 2), "image/png"),
        (jpeg(3, 2), "image/jpeg"),
        (GIF, "image/gif"),
        (LOSSY, "image/webp"),
        (LOSSLESS, "image/webp"),
        (EXTENDED, "image/webp"),
    ],
)
def test_pictures_are_recognised_by_their_bytes(data: bytes, media_type: str) -> None:
    assert recognised(data) == Picture(media_type, 3, 2)
    for cut in range(min(len(data), 24)):
        assert recognised(data[:cut]) in (None, Picture(media_type, 3, 2))


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", png(0, 5), b"<svg/>", b"%PDF-1.7"),
        *(b"RIFF\0\0\0\0WEBPXXXX" + b"\0" * 20, b"\xff\xd8\xff" + b"\xff" * 500, b"MZ" + png(3, 2)),
        b"\xff\xd8\xff\xe0\0\0" * 100,
    ],
)
def test_everything_else_is_not(data: bytes) -> None:
    assert recognised(data) is None


@pytest.mark.req("A4")
def test_a_picture_of_the_workspace_is_looked_at(tmp_path: Path) -> None:
    context = Context(tmp_path)
    data = png(3, 2)
    context.write("photo.jpg", data)
    assert context.now(vision_analyze, path="photo.jpg", question="what?") == ToolResult(text="a picture")
    assert context.eyes.seen == [(len(data), "image/png", "what?")]
    tool = declared_tool(vision_analyze)
    assert tool is not None and Label.UNTRUSTED in (tool.spec.labels or ())


@pytest.mark.req("R3")
def test_what_is_not_looked_at(tmp_path: Path) -> None:
    context = Context(tmp_path)
    (tmp_path / "secret.png").write_bytes(png(3, 2))
    (context.workspace / "link.png").symlink_to(tmp_path / "secret.png")
    os.mkfifo(context.workspace / "pipe.png")
    context.write("text.png", "hello")
    context.write("bomb.png", png(60_000, 60_000))
    context.write("long.png", png(20_000, 10))
    context.write("large.png", png(3, 2) + b"\0" * (8 << 20))
    errors = {"text.png": "not_a_picture", "bomb.png": "too_large", "long.png": "too_large", "large.png": "too_large"}
    for path, error in {**errors, "none.png": "not_found", ".": "is_directory"}.items():
        assert context.now(vision_analyze, path=path).error == error
    for path in ("link.png", "pipe.png", "../secret.png"):
        with pytest.raises(PermissionRefused):
            context.now(vision_analyze, path=path)
    assert context.now(vision_analyze, path="text.png", question=" ").error == "bad_argument"
    assert context.eyes.seen == []


class Seeing:
    """A model that tells what reached it, or fails as it is told to."""

    provider, model = "test", "eyes"

    def __init__(self, failure: ModelFailure | None = None, text: str | None = None) -> None:
        self._failure = failure
        self._text = text

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        if self._failure:
            raise ModelError(self._failure, "no")
        (message,) = request.transcript
        assert isinstance(message, UserMessage)
        (image,) = message.images
        told = f"{message.text} {image.media_type} {len(request.transcript.image(image.blob))} {request.tool_choice}"
        return ModelAnswer(text=told if self._text is None else self._text, usage=Usage(input=7, output=3))

    async def close(self) -> None:
        """Nothing is open."""


def look(
    tmp_path: Path, client: Seeing, sees: Callable[[str], bool] = lambda name: True
) -> tuple[ToolResult, list[ModelCalled]]:
    reported: list[ModelCalled] = []

    async def journal(events: Sequence[AnyEvent]) -> None:
        reported.extend(event for event in events if isinstance(event, ModelCalled))

    router = Router([client], attempts=1)
    eyes = ModelEyes(router, BlobFolder(tmp_path / "blobs"), sees, NoMeter(), journal)
    return asyncio.run(eyes.look(b"12345", "image/png", "what?")), reported


def test_a_model_sees_the_picture_and_the_call_is_reported(tmp_path: Path) -> None:
    found, reported = look(tmp_path, Seeing())
    assert found == ToolResult(text="what? image/png 5 none", labels=frozenset((Label.UNTRUSTED,)), origin="picture")
    assert [(call.model, call.usage) for call in reported] == [("eyes", Usage(input=7, output=3))]


def test_a_model_that_cannot_see(tmp_path: Path) -> None:
    blind, reported = look(tmp_path, Seeing(), lambda name: name != "test:eyes")
    assert (blind.ok, blind.error, reported) == (False, "no_vision", [])
    assert "models.yaml" in blind.text
    for failure, error, passing in (
        (ModelFailure.BAD_REQUEST, "no_vision", False),
        (ModelFailure.OVERLOAD, "overload", True),
        (ModelFailure.AUTH, "auth", False),
    ):
        found, reported = look(tmp_path, Seeing(failure))
        assert (found.ok, found.error, found.transient, len(reported)) == (False, error, passing, 1)
    assert look(tmp_path, Seeing(text=" \n"))[0].error == "empty"


class Poor:
    """A meter with nothing left."""

    async def admit(self, model: str, request: ModelRequest) -> ModelRequest:
        raise BudgetSpent("nothing is left")

    async def charge(self, usage: Usage | None) -> float:
        raise AssertionError("nothing was admitted")


def test_looking_spends_the_budget(tmp_path: Path) -> None:
    async def journal(events: Sequence[AnyEvent]) -> None:
        assert not events

    eyes = ModelEyes(Router([Seeing()]), BlobFolder(tmp_path), lambda name: True, Poor(), journal)
    with pytest.raises(BudgetSpent):
        asyncio.run(eyes.look(b"1", "image/png", "what?"))
