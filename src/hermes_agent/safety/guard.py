"""Holds a function to its declaration while it runs in this process.

An audit hook looks at sockets, processes and files; a context variable says which tool is running. This checks a
declaration, it is no sandbox: code that means harm runs in a process of its own.
"""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
import sysconfig
import threading
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

from ..types.tools import Capability

_NETWORK = frozenset(
    (
        "socket.connect",
        "socket.bind",
        "socket.sendto",
        "socket.sendmsg",
        "socket.getaddrinfo",
        "socket.getnameinfo",
        "socket.gethostbyname",
        "socket.gethostbyaddr",
    )
)
_NO_FOLDER = 9
_PROCESSES = frozenset(
    ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty", "pty.spawn")
)
_CHANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "os.remove": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "os.mkdir": ((0, 2),),
    "os.rmdir": ((0, 1),),
    "os.chmod": ((0, 2),),
    "os.chown": ((0, 3),),
    "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((1, 2),),
    "os.truncate": ((0, _NO_FOLDER),),
    "os.utime": ((0, 3),),
    "shutil.rmtree": ((0, 1),),
}
"""Where each event holds the paths it changes, each with the descriptor of the folder the path starts from."""
_IN_MEMORY = (":memory:", "")
_JUDGED = frozenset(("open", "sqlite3.connect")) | _NETWORK | _PROCESSES | _CHANGES.keys()
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ALWAYS_READABLE = ("/dev/urandom", "/usr/share/zoneinfo", "/etc/ssl", "/etc/mime.types", "/etc/localtime")


class DeclarationBroken(PermissionError):
    """A tool reached for something it did not declare."""


class Watch:
    """What one running tool may reach, and what it was refused."""

    def __init__(self, tool: str, capabilities: frozenset[Capability], scope: Path) -> None:
        self.tool = tool
        self.capabilities = capabilities
        self.scope = os.path.realpath(scope)
        self.refusals: list[str] = []

    def refuse(self, what: str, capability: Capability) -> NoReturn:
        """Record and raise."""
        declared = capability in self.capabilities
        why = "which is outside its folder" if declared else f"without declaring {capability.value!r}"
        reason = f"{self.tool} tried to {what} {why}"
        self.refusals.append(reason)
        raise DeclarationBroken(reason)


_watch: contextvars.ContextVar[Watch | None] = contextvars.ContextVar("hermes_watch", default=None)
_installing = threading.Lock()
_installed = False


@contextlib.contextmanager
def watched(watch: Watch) -> Iterator[Watch]:
    """Everything inside, also in threads that copy the context, is held to `watch`."""
    _install()
    token = _watch.set(watch)
    try:
        yield watch
    finally:
        _watch.reset(token)


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """What happens inside is the runtime's own doing, though a watched function asked for it."""
    token = _watch.set(None)
    try:
        yield
    finally:
        _watch.reset(token)


def _install() -> None:
    global _installed
    if not _installed:
        with _installing:
            if not _installed:
                sys.addaudithook(_hook)
                _installed = True


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in _JUDGED:
        return
    watch = _watch.get()
    if watch is None:
        return
    _watch.set(None)
    try:
        _judge(watch, event, arguments)
    finally:
        _watch.set(watch)


def _judge(watch: Watch, event: str, arguments: tuple[Any, ...]) -> None:
    if event in _NETWORK:
        if Capability.NETWORK not in watch.capabilities and not _local(event, arguments):
            watch.refuse("use the network", Capability.NETWORK)
    elif event in _PROCESSES:
        if Capability.SHELL not in watch.capabilities:
            watch.refuse("start a process", Capability.SHELL)
    elif event == "open":
        path, mode, flags = arguments[:3]
        if isinstance(path, int):
            return
        _judge_file(watch, path, writing=bool(isinstance(flags, int) and flags & _WRITING) or _writes(mode))
    elif event == "sqlite3.connect":
        name = os.fsdecode(arguments[0]).removeprefix("file:").partition("?")[0]
        if name not in _IN_MEMORY:
            _judge_file(watch, name, writing=True)
    else:
        for place, folder in _CHANGES[event]:
            path = arguments[place]
            if not isinstance(path, int):
                _judge_file(watch, _from_folder(path, arguments[folder:]), writing=True)


def _from_folder(path: Any, folder: tuple[Any, ...]) -> str:
    """A path as seen from the process, where it was given relative to an open folder."""
    name = os.fsdecode(path)
    if folder and isinstance(folder[0], int) and folder[0] >= 0:
        return os.path.join(os.path.realpath(f"/proc/self/fd/{folder[0]}"), name)
    return name


def _local(event: str, arguments: tuple[Any, ...]) -> bool:
    """A unix socket is no network."""
    return event in ("socket.connect", "socket.bind") and isinstance(arguments[1], str | bytes)


def _writes(mode: Any) -> bool:
    return isinstance(mode, str) and any(char in mode for char in "wax+")


def _judge_file(watch: Watch, path: Any, *, writing: bool) -> None:
    real = os.path.realpath(os.fsdecode(path))
    inside = real == watch.scope or real.startswith(watch.scope + os.sep)
    needed = Capability.FILES_WRITE if writing else Capability.FILES_READ
    if (inside and needed in watch.capabilities) or real == "/dev/null":
        return
    if not writing and _is_code(real):
        return
    if writing and "__pycache__" in real:
        raise DeclarationBroken("the bytecode cache is not written while a tool runs")
    watch.refuse(f"{'write' if writing else 'read'} {real}", needed)


def _is_code(real: str) -> bool:
    """Importing is not reading files: the interpreter's own folders, and modules anywhere on the path."""
    return (real + os.sep).startswith(_library_folders()) or real.endswith((".py", ".pyc", ".so"))


@lru_cache(maxsize=1)
def _library_folders() -> tuple[str, ...]:
    found = {os.path.realpath(path) for path in sysconfig.get_paths().values()}
    found |= {os.path.realpath(sys.base_prefix), os.path.realpath(sys.prefix)}
    return tuple(path + os.sep for path in (*_ALWAYS_READABLE, *sorted(found - {os.sep})))
