"""What a script sees as the module `hermes`: tools by a socket. Runs inside the sandbox, on the standard library alone.

from hermes import call, tools
call("read_file", path="a.txt")     # {"ok": True, "text": "…", "error": ""}
tools("spreadsheet")                # [{"name": …, "description": …, "parameters": …}, …]
"""

from __future__ import annotations

import contextlib
import json
import linecache
import os
import socket
import struct
import sys
import types
from typing import Any, TextIO

__all__ = ["call", "tools"]

_SCRIPT = "code.py"
_HEADER = struct.Struct(">I")
_given: dict[str, Any] = {}


def call(name: str, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool; permission is asked for as if it was called from the conversation."""
    return _ask({"name": name, "arguments": arguments})


def tools(query: str = "", limit: int = 10) -> list[dict[str, Any]]:
    """Tools that fit a query."""
    answer = _ask({"query": query, "limit": limit})
    if not answer["ok"]:
        raise RuntimeError(answer["text"])
    found: list[dict[str, Any]] = json.loads(answer["text"])
    return found


def _ask(question: dict[str, Any]) -> dict[str, Any]:
    data = json.dumps({"token": _given["token"], **question}).encode()
    if len(data) > _given["frame"]:
        raise ValueError(f"the arguments have {len(data)} bytes; at most {_given['frame']} can be sent")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.connect(_given["socket"])
        connection.sendall(_HEADER.pack(len(data)) + data)
        (size,) = _HEADER.unpack(_exactly(connection, _HEADER.size))
        if size > _given["frame"]:
            raise ConnectionError("the answer is too long")
        answer: dict[str, Any] = json.loads(_exactly(connection, size))
        return answer


def _exactly(connection: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        part = connection.recv(min(1 << 16, size - len(data)))
        if not part:
            raise ConnectionError("the tools cannot be reached any more; too many calls, or a call was malformed")
        data += part
    return bytes(data)


def main(given: dict[str, Any]) -> None:
    """Run the script as `__main__`. Lines are printed as they come, so that a killed script leaves what it said."""
    code = given.pop("code")
    _given.update(given)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="replace")  # type: ignore[union-attr]
    sys.path.append(os.getcwd())
    linecache.cache[_SCRIPT] = (len(code), None, code.splitlines(keepends=True), _SCRIPT)
    script = sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        exec(compile(code, _SCRIPT, "exec", dont_inherit=True), script.__dict__)
    except Exception as error:  # noqa: BLE001 - the script's own end: whatever it raised is what we report
        import traceback

        _flush(sys.stdout)
        traceback.print_exception(type(error), error, _own(error.__traceback__))
        raise SystemExit(1) from None


def _own(trace: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback from the script's first line on, without the lines that started it."""
    while trace is not None and trace.tb_frame.f_code.co_filename != _SCRIPT:
        trace = trace.tb_next
    return trace


def _flush(stream: TextIO) -> None:
    with contextlib.suppress(ValueError, OSError):
        stream.flush()
