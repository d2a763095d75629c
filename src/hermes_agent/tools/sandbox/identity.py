"""Tells processes apart across crashes and reboots, and ends one with everything it started."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from enum import Enum
from functools import lru_cache
from pathlib import Path

from ...types.base import Value
from ...types.tools import ProcessIdentity

MARK = "HERMES_MARK"
_PROC = Path("/proc")
_STEP = 0.03
_ROUNDS = 40


class Life(Enum):
    """What is known about a process. Of one on another machine nothing is known."""

    ALIVE = "alive"
    DEAD = "dead"
    UNKNOWN = "unknown"


class Seen(Value, frozen=True, kw_only=True):
    """A process at the moment it was looked at."""

    pid: int
    parent: int
    group: int
    session: int
    started: float
    state: str

    @property
    def ended(self) -> bool:
        """A zombie has ended; only its number is still taken."""
        return self.state in ("Z", "X")


def identity_of(pid: int, *, mark: str = "") -> ProcessIdentity:
    """Who the process with this number is right now. Raises ProcessLookupError if there is none."""
    seen = _look(pid)
    if seen is None:
        raise ProcessLookupError(f"there is no process {pid}")
    return ProcessIdentity(
        boot_id=boot_id(), pid=pid, started=seen.started, group=seen.group, host=this_host(), mark=mark
    )


def own_identity() -> ProcessIdentity:
    """This process."""
    return identity_of(os.getpid())


def life_of(identity: ProcessIdentity) -> Life:
    """Whether exactly this process still runs. Another boot of this machine ended it; other machines are opaque."""
    machine, _, space = identity.host.partition("/")
    here, _, ours = this_host().partition("/")
    if identity.host and machine != here:
        return Life.UNKNOWN
    if identity.boot_id != boot_id():
        return Life.DEAD
    if identity.host and space != ours:
        return Life.UNKNOWN
    seen = _look(identity.pid)
    alive = seen is not None and seen.started == identity.started and not seen.ended
    return Life.ALIVE if alive else Life.DEAD


def is_alive(identity: ProcessIdentity) -> bool:
    """Whether the process is known to run."""
    return life_of(identity) is Life.ALIVE


async def end_group(identity: ProcessIdentity, grace: float = 2.0) -> bool:
    """End a process with its group, its descendants and all that carry its mark: asked first, then by force.

    True when something was found and none of it runs any more. Nothing happens when the identity no longer
    matches: a number that was given to another process is left alone.
    """
    found = _members(identity) if _of_this_boot(identity) else ()
    if not found:
        return False
    if grace > 0:
        _signal(found, signal.SIGTERM)
        _signal(found, signal.SIGCONT)
        limit = time.monotonic() + grace
        while found and time.monotonic() < limit:
            await asyncio.sleep(_STEP)
            found = _members(identity, found)
    for _ in range(_ROUNDS):
        if not found:
            return True
        _signal(found, signal.SIGKILL)
        await asyncio.sleep(_STEP)
        found = _members(identity, found)
    return not found


def end_group_now(identity: ProcessIdentity) -> None:
    """The same by force and without waiting, for when there is no time left."""
    if _of_this_boot(identity):
        _signal(_members(identity), signal.SIGKILL)


def _of_this_boot(identity: ProcessIdentity) -> bool:
    """Whether its number still means anything here."""
    return identity.boot_id == boot_id() and identity.host in ("", this_host())


def _members(identity: ProcessIdentity, known: tuple[Seen, ...] = ()) -> tuple[Seen, ...]:
    """Everything alive that belongs to `identity`; `known` are those found before, which may have lost their parent."""
    table = _table()
    leader = table.get(identity.pid)
    ours = leader is not None and leader.started == identity.started
    found = {
        seen.pid: seen for old in known if (seen := table.get(old.pid)) is not None and seen.started == old.started
    }
    if ours:
        found.update((s.pid, s) for s in table.values() if identity.pid in (s.pid, s.group, s.session))
    if identity.mark:
        needle = f"{MARK}={identity.mark}".encode()
        found.update((s.pid, s) for s in table.values() if s.pid not in found and needle in _environment(s.pid))
    _add_descendants(found, table)
    keep = (os.getpid(), 1)
    return tuple(seen for seen in found.values() if not seen.ended and seen.pid not in keep)


def _add_descendants(found: dict[int, Seen], table: dict[int, Seen]) -> None:
    children: dict[int, list[Seen]] = {}
    for seen in table.values():
        children.setdefault(seen.parent, []).append(seen)
    waiting = list(found)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child.pid not in found:
                found[child.pid] = child
                waiting.append(child.pid)


def _signal(targets: tuple[Seen, ...], number: signal.Signals) -> None:
    for target in targets:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            _signal_one(target, number)


def _signal_one(target: Seen, number: signal.Signals) -> None:
    """Through a descriptor where there is one, so that a number reused in this very moment is not hit."""
    if not hasattr(os, "pidfd_open"):
        os.kill(target.pid, number)
        return
    descriptor = os.pidfd_open(target.pid)
    try:
        seen = _look(target.pid)
        if seen is not None and seen.started == target.started:
            signal.pidfd_send_signal(descriptor, number)
    finally:
        os.close(descriptor)


def _look(pid: int) -> Seen | None:
    return _look_in_proc(pid) if _has_proc() else _table().get(pid)


def _look_in_proc(pid: int) -> Seen | None:
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    fields = text.rpartition(b")")[2].split()
    if len(fields) < 20:
        return None
    return Seen(
        pid=pid,
        state=fields[0].decode(),
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        started=float(fields[19]),
    )


def _table() -> dict[int, Seen]:
    if not _has_proc():
        return _table_from_ps()
    found = (_look_in_proc(int(name)) for name in os.listdir(_PROC) if name.isdigit())
    return {seen.pid: seen for seen in found if seen is not None}


def _table_from_ps() -> dict[int, Seen]:
    columns = "pid=,ppid=,pgid=,stat=,lstart="
    table: dict[int, Seen] = {}
    for line in _output("ps", "-axo", columns).splitlines():
        pid, parent, group, state, *when = line.split()
        started = time.mktime(time.strptime(" ".join(when), "%a %b %d %H:%M:%S %Y"))
        table[int(pid)] = Seen(
            pid=int(pid), parent=int(parent), group=int(group), session=int(group), started=started, state=state[0]
        )
    return table


def _environment(pid: int) -> tuple[bytes, ...]:
    try:
        return tuple(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return ()


@lru_cache(maxsize=1)
def boot_id() -> str:
    """What changes with every start of the machine."""
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return _output("sysctl", "-n", "kern.boottime").strip()


@lru_cache(maxsize=1)
def this_host() -> str:
    """The machine and, behind a slash, the space its process numbers count in: each container has its own."""
    machine, space = "", ""
    with contextlib.suppress(OSError):
        machine = Path("/etc/machine-id").read_text().strip()[:12]
    with contextlib.suppress(OSError):
        space = os.readlink("/proc/self/ns/pid")
    return f"{socket.gethostname()}:{machine}/{space}"


@lru_cache(maxsize=1)
def _has_proc() -> bool:
    return sys.platform.startswith("linux") and _PROC.joinpath("self", "stat").exists()


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout
