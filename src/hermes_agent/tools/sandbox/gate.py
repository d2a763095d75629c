"""Starts a command stopped: it waits behind a pipe until it is let through, and ends if its parent dies before."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...types.tools import ProcessIdentity
from ..tool import in_thread
from .identity import MARK, end_group, end_group_now, identity_of

_GATE = 'read -r _ || exit 125; exec "$@" <"$0"'
_SHELL = "/bin/sh"
_REAP_SECONDS = 5.0


class Gated:
    """A process in a session of its own that has not begun yet."""

    def __init__(self, process: subprocess.Popen[bytes], identity: ProcessIdentity) -> None:
        self._process = process
        self.identity = identity

    def open(self) -> None:
        """Let it begin. A process that was killed in the meantime is met when it is waited for."""
        gate = self._process.stdin
        if gate is not None:
            with contextlib.suppress(BrokenPipeError):
                gate.write(b"\n")
            gate.close()

    def shut(self) -> None:
        """Never let it begin: it reads the end of the pipe and exits."""
        if self._process.stdin is not None:
            self._process.stdin.close()

    async def exited(self) -> int:
        """Wait for the end; the exit code, negative for a signal."""
        return int(await in_thread(self._process.wait))

    def reap(self) -> int | None:
        """The exit code if it has ended; takes its entry off the process table."""
        return self._process.poll()

    async def end(self, grace: float) -> None:
        """End it with everything it started, also when this task is cancelled once more meanwhile."""
        self.shut()
        try:
            await end_group(self.identity, grace)
        except asyncio.CancelledError:
            end_group_now(self.identity)
            raise
        finally:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.exited(), _REAP_SECONDS)


def spawn(
    argv: Sequence[str],
    *,
    directory: Path,
    environment: Mapping[str, str],
    mark: str,
    stdin: Path = Path(os.devnull),
    output: int = subprocess.DEVNULL,
) -> Gated:
    """Start `argv` behind its gate; once through, it reads `stdin` and writes everything to `output`.

    The write end of the gate is held by this process alone, so that its death, however sudden, shuts the gate.
    """
    process = subprocess.Popen(
        [_SHELL, "-c", _GATE, str(stdin), *argv],
        stdin=subprocess.PIPE,
        stdout=output,
        stderr=output if output == subprocess.DEVNULL else subprocess.STDOUT,
        cwd=directory,
        env={**environment, MARK: mark},
        start_new_session=True,
        bufsize=0,
    )
    return Gated(process, identity_of(process.pid, mark=mark))
