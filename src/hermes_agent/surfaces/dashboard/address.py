"""Where the page is served: a socket that is bound before anything is promised, and names we answer to."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
from pathlib import Path

from ...types.errors import HermesError, PermissionRefused, UsageError

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
_LISTENING = "0A"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a host."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bound(host: str, port: int, *, remote: bool) -> socket.socket:
    """A listening socket. Beyond this machine only where that was asked for."""
    if not is_loopback(host) and not remote:
        raise PermissionRefused(
            f"{host} can be reached from other machines",
            remedy="leave --host out, or say --allow-remote; the page is not encrypted, so better use ssh -L",
        )
    try:
        found = socket.getaddrinfo(host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise UsageError(f"{host!r} is no address of this machine", remedy="leave --host out") from error
    family, kind, protocol, _, address = found[0]
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(128)
        opened.setblocking(False)
    except OSError as error:
        opened.close()
        raise _refused(error, host, port) from error
    return opened


def _refused(error: OSError, host: str, port: int) -> HermesError:
    if error.errno == errno.EADDRINUSE:
        holder = who_listens(port)
        by = f" by {holder}" if holder else ""
        return UsageError(
            f"port {port} is in use{by}", remedy="`hermes dashboard --port 0` takes a free one, or name another"
        )
    if error.errno == errno.EACCES:
        return UsageError(f"port {port} is for the administrator only", remedy="take one above 1023")
    return UsageError(f"{host} port {port} cannot be served: {error.strerror or error}", remedy="leave --host out")


def who_listens(port: int) -> str:
    """The process that listens on a port, as far as the machine tells; empty otherwise."""
    inodes = _listening(port)
    if not inodes:
        return ""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            for link in (folder / "fd").iterdir():
                if os.readlink(link) in inodes:
                    name = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace").strip()
                    return f"process {folder.name} ({name[:60]})"
    return ""


def _listening(port: int) -> set[str]:
    found = set()
    for table in _TABLES:
        with contextlib.suppress(OSError):
            for line in Path(table).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == _LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    found.add(f"socket:[{fields[9]}]")
    return found


def names_for(host: str, port: int) -> frozenset[str]:
    """What a browser may call us, with the port."""
    names = {*_LOOPBACK} if is_loopback(host) else {*_LOOPBACK, host.lower(), socket.gethostname().lower()}
    names.add(f"[{host.lower()}]" if ":" in host.strip("[]") and not host.startswith("[") else host.lower())
    with_port = {f"{name}:{port}" for name in names}
    return frozenset(with_port | names if port == 80 else with_port)


def shown_host(host: str) -> str:
    """The host to print: one that can be opened in a browser on this machine."""
    bare = host.strip("[]")
    if bare in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    return f"[{bare}]" if ":" in bare else bare
