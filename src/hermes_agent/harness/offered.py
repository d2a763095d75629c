"""What a watched function is handed: services of the runtime, which do their own work outside its declaration.

Keeping a large output or starting a command touches files of the runtime that the function has no business with. The
function may still only ask for what it declared: commands need `shell`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..safety.guard import Watch, unwatched
from ..types.tools import Blobs, Capability, Processes, ToolResult


class OfferedBlobs:
    """Large texts, kept by the runtime."""

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs

    def put(self, data: bytes) -> str:
        """Store `data`; returns its digest."""
        with unwatched():
            return self._blobs.put(data)

    def put_file(self, source: Path) -> str:
        """Store a file whose text the function could read itself; returns its digest."""
        return self.put(source.read_bytes())

    def get(self, digest: str) -> bytes:
        """The content behind a digest."""
        with unwatched():
            return self._blobs.get(digest)

    def path(self, digest: str) -> Path:
        """The file behind a digest."""
        with unwatched():
            return self._blobs.path(digest)


class OfferedProcesses:
    """Commands, started by the runtime for a function that declared `shell`."""

    def __init__(self, processes: Processes, watch: Watch) -> None:
        self._processes = processes
        self._watch = watch

    async def run(
        self,
        command: str,
        *,
        directory: Path,
        timeout: float,
        stdin: str = "",
        network: bool = False,
        shared: Sequence[Path] = (),
    ) -> ToolResult:
        """Run a command to its end or to the end of its time."""
        self._permit(network)
        with unwatched():
            return await self._processes.run(
                command, directory=directory, timeout=timeout, stdin=stdin, network=network, shared=shared
            )

    async def start(self, command: str, *, directory: Path, network: bool = False) -> ToolResult:
        """Start a command in the background."""
        self._permit(network)
        with unwatched():
            return await self._processes.start(command, directory=directory, network=network)

    async def poll(self, process: str) -> ToolResult:
        """What a background command printed since the last look."""
        with unwatched():
            return await self._processes.poll(process)

    async def wait(self, process: str, timeout: float) -> ToolResult:
        """Wait for the end of a background command."""
        with unwatched():
            return await self._processes.wait(process, timeout)

    async def write(self, process: str, text: str) -> ToolResult:
        """Write to a background command."""
        self._permit()
        with unwatched():
            return await self._processes.write(process, text)

    async def kill(self, process: str) -> ToolResult:
        """End a background command."""
        self._permit()
        with unwatched():
            return await self._processes.kill(process)

    async def list(self) -> ToolResult:
        """All background commands of the session."""
        with unwatched():
            return await self._processes.list()

    def _permit(self, network: bool = False) -> None:
        if Capability.SHELL not in self._watch.capabilities:
            self._watch.refuse("start a process", Capability.SHELL)
        if network and Capability.NETWORK not in self._watch.capabilities:
            self._watch.refuse("give a process the network", Capability.NETWORK)
