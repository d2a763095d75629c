"""One run of a self-written tool in the sandbox, in a process of its own."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...types.base import Value
from ...types.errors import NotFound
from ...types.text import decode, head_and_tail
from ...types.tools import Blobs, Capability, Processes, ToolResult, ToolSpec
from ..code.python import python_command, python_input
from .declaration import SPARE_SECONDS

_WORKER = Path(__file__).parent / "worker.py"
_LARGEST_RESULT = 1 << 20
_LONGEST_REPORT = 6_000
_NOT_ITS_FAULT = frozenset(("not_started", "not_found", "too_long"))


class Ran(Value, frozen=True, kw_only=True):
    """How it went: a value, a crash with its report, or `fault` when the sandbox could not run it at all."""

    value: Any = None
    crash: str = ""
    error: str = ""
    fault: ToolResult | None = None


class Sandboxed(Value, frozen=True, kw_only=True):
    """Where a tool runs: through these processes, in this folder, which is the workspace or shared beside it."""

    processes: Processes
    blobs: Blobs
    folder: Path
    shared: Sequence[Path] = ()


async def run(source: str, spec: ToolSpec, arguments: dict[str, Any], where: Sandboxed) -> Ran:
    """Run a checked source with arguments that fit it. Never raises for anything the tool does."""
    mark = secrets.token_hex(16)
    capabilities = spec.capabilities or frozenset()
    given = python_input(
        _WORKER,
        source=source,
        function=spec.name,
        arguments=arguments,
        capabilities=sorted(capabilities),
        workspace=str(where.folder),
        largest=_LARGEST_RESULT,
        mark=mark,
    )
    result = await where.processes.run(
        python_command("-S"),
        directory=where.folder,
        timeout=spec.timeout - SPARE_SECONDS,
        stdin=given,
        network=Capability.NETWORK in capabilities,
        shared=where.shared,
    )
    if not result.ok and result.error in _NOT_ITS_FAULT:
        return Ran(fault=result)
    return _read(result, mark, where.blobs)


def _read(result: ToolResult, mark: str, blobs: Blobs) -> Ran:
    """The marked line of the worker, wherever the output was long enough to put it."""
    text = _end(blobs, result.blob) if result.blob else result.text
    _, found, after = text.rpartition(mark)
    if not found and result.blob:
        _, found, after = result.text.rpartition(mark)
    try:
        answer = json.loads(after.partition("\n")[0]) if found else None
    except (ValueError, RecursionError):
        answer = None
    match answer:
        case {"value": value}:
            return Ran(value=value)
        case {"crash": str(crash), "printed": str(printed)}:
            said = f"it printed: {printed.strip()}\n" if printed.strip() else ""
            return Ran(crash=head_and_tail(said + crash.rstrip(), _LONGEST_REPORT), error="crashed")
        case _:
            shown = head_and_tail(result.text.replace(mark, ""), _LONGEST_REPORT)
            return Ran(crash=f"it ended without a result: {shown}", error=result.error or "crashed")


def _end(blobs: Blobs, digest: str) -> str:
    """The last part of a long output, large enough for any result."""
    try:
        with blobs.path(digest).open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - 2 * _LARGEST_RESULT))
            return decode(file.read(2 * _LARGEST_RESULT))
    except (OSError, NotFound):
        return ""
