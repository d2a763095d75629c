"""A terminal of our own: the command on a pseudo-terminal, and what it shows."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from fcntl import ioctl
from termios import TIOCSCTTY, TIOCSWINSZ

from tests.cli.command import HERMES, Hermes

_PATIENCE = 60.0
_WHERE = b"\x1b[6n"
"""The question for the cursor's place, which a real terminal answers."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\x1b[=>]|\x1b\][^\x07]*\x07|\r")


class Terminal:
    """Types and watches. `shown` is everything the command ever wrote, without escape sequences."""

    def __init__(self, hermes: Hermes, *arguments: str, **environment: str) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = subprocess.Popen(
            [HERMES, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            cwd=hermes.workspace,
            env=hermes.environment(**environment),
            start_new_session=True,
            preexec_fn=lambda: ioctl(0, TIOCSCTTY, 0),
        )
        os.close(theirs)
        self._raw = b""
        self._seen = 0
        threading.Thread(target=self._read, daemon=True).start()

    @property
    def raw(self) -> bytes:
        """Everything, as it was written."""
        return self._raw

    @property
    def shown(self) -> str:
        """Everything, as text."""
        return _ESCAPES.sub("", self._raw.decode("utf-8", "replace"))

    def type(self, text: str) -> None:
        """Press keys."""
        os.write(self._ours, text.encode())

    def enter(self, text: str) -> None:
        """Type a line, and press Enter as a key of its own."""
        self.type(text)
        time.sleep(0.1)
        self.type("\r")

    def expect(self, text: str) -> None:
        """Wait until the text is shown, behind what was expected before."""
        limit = time.monotonic() + _PATIENCE
        while (place := self.shown.find(text, self._seen)) < 0:
            assert time.monotonic() < limit, f"{text!r} was not shown; there is:\n{self.shown[self._seen :]}"
            time.sleep(0.02)
        self._seen = place + len(text)

    def leave(self) -> int:
        """Ctrl-D, and once more where the answer was shown but its turn was not quite over; the exit code."""
        limit = time.monotonic() + _PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < limit, f"it did not leave; there is:\n{self.shown[-2000:]}"
            with contextlib.suppress(OSError):
                self.type("\x04")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.5)
        return self.wait()

    def wait(self) -> int:
        """The exit code."""
        return self.process.wait(_PATIENCE)

    def _read(self) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(self._ours, 65536):
                self._raw += data
                for _ in range(data.count(_WHERE)):
                    os.write(self._ours, b"\x1b[1;1R")

    def close(self) -> None:
        """End it if it still runs."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)


@contextlib.contextmanager
def terminal(hermes: Hermes, *arguments: str, **environment: str) -> Iterator[Terminal]:
    """The command on a terminal, ended with the block."""
    opened = Terminal(hermes, *arguments, **environment)
    try:
        yield opened
    finally:
        opened.close()
