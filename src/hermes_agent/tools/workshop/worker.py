"""Runs one self-written tool. Lives inside the sandbox, in a process of its own, on the standard library alone.

The sandbox is what holds. The audit hook here compares what the code does with what it declared, so that a tool which
declares nothing cannot change files by mistake.
"""

from __future__ import annotations

import io
import json
import linecache
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

_FILE = "tool.py"
_MODULE = "self_written"
_PRINTED = 2_000
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NEEDS = {
    "files.write": (
        (
            "os.remove",
            "os.rename",
            "os.mkdir",
            "os.rmdir",
            "os.link",
            "os.symlink",
            "os.chmod",
            "os.chown",
            "os.truncate",
            "os.utime",
            "os.setxattr",
            "os.removexattr",
            "os.mkfifo",
            "os.mknod",
        )
    ),
    "shell": (
        (
            "subprocess.Popen",
            "os.system",
            "os.exec",
            "os.fork",
            "os.forkpty",
            "os.posix_spawn",
            "os.spawn",
            "pty.spawn",
            "os.kill",
            "os.killpg",
        )
    ),
    "network": ("socket.connect", "socket.bind", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo"),
}
_REFUSED = ("ctypes.", "sys.settrace", "sys.setprofile", "gc.get_objects", "gc.get_referrers", "gc.get_referents")
_LOOKING = ("os.listdir", "os.scandir", "glob.glob")


class Context:
    """All that a self-written tool is handed: where the workspace is."""

    def __init__(self, workspace: str) -> None:
        self.workspace = Path(workspace)


class Printed(io.TextIOBase):
    """What the tool prints: the last of it is kept for the report of a crash, none of it is the result."""

    def __init__(self) -> None:
        self.last = ""

    def write(self, text: str) -> int:
        """Take a text."""
        self.last = (self.last + text)[-_PRINTED:]
        return len(text)

    def writable(self) -> bool:
        """Always."""
        return True


def tool(**declaration: Any) -> Callable[[Any], Any]:
    """The decorator as the tool's source sees it. The declaration was read before, from the syntax tree."""
    return lambda function: function


def main(given: dict[str, Any]) -> None:
    """Run the tool and write one marked line of JSON: its value, or how it crashed."""
    channel = os.dup(1)
    printed = Printed()
    sys.stdout = sys.stderr = printed
    offered = types.ModuleType("hermes_agent")
    offered.__dict__["tool"] = tool
    sys.modules["hermes_agent"] = offered
    try:
        answer = json.dumps({"value": _value(given)}, default=str)
        if len(answer) > given["largest"]:
            answer = _crashed(f"the result has {len(answer)} bytes, more than {given['largest']}", printed)
    except BaseException as error:  # noqa: BLE001 - the tool boundary: whatever it raises is its crash
        answer = _crashed(_shown(error)[-given["largest"] // 8 :], printed)
    _write(channel, f"\n{given['mark']}{answer}\n".encode())
    os._exit(0)


def _value(given: dict[str, Any]) -> Any:
    source = given["source"]
    linecache.cache[_FILE] = (len(source), None, source.splitlines(keepends=True), _FILE)
    module = sys.modules[_MODULE] = types.ModuleType(_MODULE)
    compiled = compile(source, _FILE, "exec", dont_inherit=True)
    sys.addaudithook(_watching(frozenset(given["capabilities"])))
    exec(compiled, module.__dict__)
    function = module.__dict__[given["function"]]
    arguments = given["arguments"]
    code = function.__code__
    if "context" in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]:
        arguments = {**arguments, "context": Context(given["workspace"])}
    value = function(**arguments)
    return _awaited(value) if hasattr(value, "__await__") else value


def _awaited(value: Any) -> Any:
    import asyncio

    return asyncio.run(value)


def _watching(declared: frozenset[str]) -> Callable[[str, tuple[Any, ...]], None]:
    """A hook that refuses what was not declared."""
    needs = {event: capability for capability, events in _NEEDS.items() for event in events}
    ours = tuple({os.path.realpath(path) for path in (sys.prefix, sys.base_prefix, os.path.dirname(os.__file__))})
    readable = (*ours, "/usr/share/zoneinfo", "/etc/localtime", "/dev/urandom", "/dev/null")

    def refuse(event: str, capability: str) -> None:
        raise PermissionError(f"{event} needs the capability {capability!r}, which the tool does not declare")

    def looking(event: str, path: Any) -> None:
        if isinstance(path, int) or declared & {"files.read", "files.write"}:
            return
        if not os.path.realpath(os.fsdecode(path or ".")).startswith(readable):
            refuse(event, "files.read")

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            if isinstance(flags, int) and flags & _WRITING and not isinstance(path, int):
                if "files.write" not in declared and path != os.devnull:
                    refuse("writing a file", "files.write")
            else:
                looking("reading a file", path)
        elif event in _LOOKING:
            looking("looking into a folder", arguments[0])
        elif event.startswith(_REFUSED):
            raise PermissionError(f"{event} is not for self-written tools")
        elif event in needs and needs[event] not in declared:
            refuse(event, needs[event])

    return hook


def _crashed(text: str, printed: Printed) -> str:
    return json.dumps({"crash": text, "printed": printed.last})


def _shown(error: BaseException) -> str:
    import traceback

    return "".join(traceback.format_exception(type(error), error, _own(error.__traceback__)))


def _own(trace: types.TracebackType | None) -> types.TracebackType | None:
    """The traceback from the tool's own first line on."""
    while trace is not None and trace.tb_frame.f_code.co_filename != _FILE:
        trace = trace.tb_next
    return trace


def _write(channel: int, data: bytes) -> None:
    while data:
        data = data[os.write(channel, data) :]
