"""Reads markup in a process of its own, which may use only so much time and memory.

A parser's worst case is far from its usual one: fifty thousand open elements take seconds, a few kilobytes of
unclosed ones ask for gigabytes. Such a page ends its own process and nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import sys
from pathlib import Path

import msgspec

from ...types.base import Value
from .failure import WebFailure
from .page import Page, kind_of, page

_SECONDS = 25.0
_ROOT = Path(__file__).parents[3]
_START = f"import sys; sys.path.insert(0, sys.argv[1]); from {__name__} import main; main()"


class Allowance(Value, frozen=True, kw_only=True):
    """What reading one page may take."""

    cpu_seconds: int = 8
    memory: int = 1 << 30


_USUAL = Allowance()


class Task(Value, frozen=True, kw_only=True):
    """What the process is to read; the body follows."""

    content_type: str
    url: str
    full: bool = False
    allowance: Allowance = _USUAL


async def read_page(
    body: bytes, content_type: str, url: str, *, full: bool = False, allowance: Allowance = _USUAL
) -> Page:
    """A body as text. Raises WebFailure when it is no text, or takes more than a page may."""
    if kind_of(body, content_type) in ("json", "text"):
        return await asyncio.to_thread(page, body, content_type, url, full=full)
    task = Task(content_type=content_type, url=url, full=full, allowance=allowance)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-I",
        "-c",
        _START,
        str(_ROOT),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        env={},
        cwd="/",
    )
    try:
        async with asyncio.timeout(_SECONDS):
            answer, _ = await process.communicate(msgspec.json.encode(task) + b"\n" + body)
    except TimeoutError:
        answer = b""
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    try:
        return msgspec.json.decode(answer, type=Page)
    except msgspec.MsgspecError as error:
        raise WebFailure("unreadable", "the page is built so that it cannot be read; web_download saves it") from error


def main() -> None:
    """The process: a task and a body on standard input, a page on standard output."""
    head, _, body = sys.stdin.buffer.read().partition(b"\n")
    task = msgspec.json.decode(head, type=Task)
    for kind, most in (
        (resource.RLIMIT_CPU, task.allowance.cpu_seconds),
        (resource.RLIMIT_AS, task.allowance.memory),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
    ):
        resource.setrlimit(kind, (most, most))
    answer = msgspec.json.encode(page(body, task.content_type, task.url, full=task.full))
    with os.fdopen(1, "wb", closefd=False) as out:
        out.write(answer)
