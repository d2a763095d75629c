"""A background command as the agent sees it: files in a folder and an identity, the same before and after a restart."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from ...types.text import decode
from ...types.tools import Spawned
from .gate import Gated
from .identity import Life, life_of

_KEEPER = Path(__file__).with_name("keeper.py")
_LOOK_BACK = 1 << 20
_TRIES = 20
_PAUSE = 0.001


class BackgroundFiles:
    """The files of one background command: what it printed, what it reads, how it ended."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.older = log.with_name(log.name + ".1")
        self.stdin = log.with_suffix(".in")
        self.exit = log.with_suffix(".exit")
        self.about = log.with_suffix(".json")
        self._at = log.with_name(log.name + ".at")

    def keeper(self, argv: Sequence[str], limit: int) -> list[str]:
        """The argv of the process that keeps the command."""
        python = sys.executable or "python3"
        return [python, "-I", "-S", str(_KEEPER), str(self.log), str(self.stdin), str(self.exit), str(limit), *argv]

    def prepare(self) -> None:
        """Make the pipe the command reads from."""
        os.mkfifo(self.stdin, 0o600)

    def describe(self, spawned: Spawned) -> None:
        """Write down what runs here, for a later agent of the same session."""
        temporary = self.about.with_suffix(".tmp")
        temporary.write_bytes(msgspec.json.encode(spawned))
        temporary.replace(self.about)

    def remove(self) -> None:
        """Leave nothing behind."""
        for path in (self.log, self.older, self.stdin, self.exit, self.about, self._at):
            path.unlink(missing_ok=True)

    def tail(self) -> tuple[int, bytes]:
        """How many bytes were ever printed, and the last megabyte of them.

        Both halves and the place where the newer one begins are read again if the log was turned over meanwhile: then
        the halves would not belong together.
        """
        end, data = 0, b""
        for _ in range(_TRIES):
            begins, found = self._begins(), _tail(self.log, _LOOK_BACK)
            if found is not None:
                older = _tail(self.older, _LOOK_BACK - len(found.data)) if begins else None
                end, data = begins + found.size, (older.data if older else b"") + found.data
                if self._begins() == begins and _file_number(self.log) == found.number:
                    break
            time.sleep(_PAUSE)
        return end, data

    def _begins(self) -> int:
        try:
            return int(self._at.read_text())
        except (OSError, ValueError):
            return 0


def recorded(folder: Path) -> list[Spawned]:
    """The background commands that earlier agents of the session wrote down, in the order of their names."""
    found = []
    for file in folder.glob("p*.json"):
        with contextlib.suppress(OSError, msgspec.MsgspecError):
            found.append(msgspec.json.decode(file.read_bytes(), type=Spawned))
    return sorted(found, key=lambda spawned: (len(spawned.process), spawned.process))


def _half_character(data: bytes) -> int:
    """How many bytes at the end of UTF-8 text belong to a character that is not complete."""
    for back in range(1, min(len(data), 3) + 1):
        byte = data[-back]
        if byte >= 0xC0:
            size = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return back if back < size else 0
        if byte < 0x80:
            return 0
    return 0


class _Tail(NamedTuple):
    """The last bytes of a file, its size, and the number that tells it from another file of its name."""

    data: bytes
    size: int
    number: int


def _tail(path: Path, limit: int) -> _Tail | None:
    """The end of a file; None when there is no such file. The size is that of what was read: the file may have grown
    since it was looked at."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            start = file.seek(max(status.st_size - limit, 0))
            data = file.read() if limit > 0 else b""
            return _Tail(data[-limit:] if limit > 0 else b"", start + len(data), status.st_ino)
    except FileNotFoundError:
        return None


def _file_number(path: Path) -> int:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return -1


class Background:
    """One background command. `gated` is there only when this very process started it."""

    def __init__(self, spawned: Spawned, gated: Gated | None = None) -> None:
        self.spawned = spawned
        self.files = BackgroundFiles(Path(spawned.log))
        self._gated = gated
        self._seen = 0

    def exit_code(self) -> int | None:
        """How it ended, if that was written down; negative for a signal."""
        try:
            return int(self.files.exit.read_text())
        except (OSError, ValueError):
            return None

    def life(self) -> Life:
        """Whether the command runs. It has ended when its end was written down or its keeper is gone."""
        if self._gated is not None:
            self._gated.reap()
        if self.exit_code() is not None:
            return Life.DEAD
        life = life_of(self.spawned.identity)
        return Life.DEAD if self.exit_code() is not None else life

    def state(self) -> str:
        """In a few words, for the model."""
        match self.life(), self.exit_code():
            case Life.ALIVE, _:
                return f"running (pid {self.spawned.identity.pid})"
            case Life.UNKNOWN, _:
                return "on another machine; its state is not known here"
            case _, None:
                return "ended; its exit code is not known"
            case _, int(code) if code < 0:
                return f"ended by signal {-code}"
            case _, code:
                return f"ended with exit code {code}"

    def ended_by_us(self, number: int) -> None:
        """Write down that it was ended by a signal, if it did not say so itself."""
        if self.exit_code() is None:
            with contextlib.suppress(OSError):
                self.files.exit.write_text(str(-number))

    def news(self) -> tuple[str, int]:
        """What it printed since the last look, and how many bytes before that were passed by.

        Half a character at the end is left for the next look.
        """
        end, data = self.files.tail()
        unseen = max(end - self._seen, 0)
        fresh = data[-unseen:] if unseen else b""
        passed = unseen - len(fresh)
        half = _half_character(fresh)
        if half and self.life() is Life.ALIVE:
            fresh = fresh[:-half]
        self._seen += passed + len(fresh)
        return decode(fresh), passed

    def listens(self) -> bool:
        """Whether somebody holds the other end of its input; right after the start nobody may yet."""
        try:
            os.close(self._input())
        except OSError:
            return False
        return True

    def write(self, text: str) -> int:
        """Put text on its input. Raises OSError when nobody reads it any more or it is full."""
        descriptor = self._input()
        try:
            return os.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)

    def _input(self) -> int:
        return os.open(self.files.stdin, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
