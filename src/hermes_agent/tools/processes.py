"""The commands of one session. Each begins only after its identity was journaled; none is ever lost sight of."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..types.base import Value
from ..types.errors import HermesError, NotFound
from ..types.ids import new_id
from ..types.text import head_and_tail, one_line
from ..types.tools import Announce, Blobs, Spawned, ToolResult
from .sandbox.background import Background, BackgroundFiles, recorded
from .sandbox.base import Boundary, Sandbox
from .sandbox.cgroup import sweep
from .sandbox.gate import Gated, spawn
from .sandbox.identity import Life, end_group
from .sandbox.output import Capture, OutputLimits, PipeReader

_DRAIN_SECONDS = 0.3
_SETTLE_SECONDS = 0.15
_LISTEN_SECONDS = 3.0
_LEFT_BEHIND = "processes it left behind were ended; start what should stay with background=true"
_PIPE_HELD = "a process it started still runs on its own; its further output is not read"


class ProcessLimits(Value, frozen=True, kw_only=True):
    """How much output is shown and kept, how long a process has to end by itself, how many may run in background."""

    output: OutputLimits = OutputLimits()
    grace: float = 2.0
    background: int = 16


class ProcessTable:
    """Runs commands in a sandbox. `folder` belongs to the session and holds what background commands leave there."""

    def __init__(
        self, sandbox: Sandbox, folder: Path, blobs: Blobs, workspace: Path, limits: ProcessLimits | None = None
    ) -> None:
        self.sandbox = sandbox
        self.folder = folder
        self.blobs = blobs
        self.workspace = workspace
        self.limits = limits or ProcessLimits()
        self._background: dict[str, Background] = {}
        self._recalled = False

    def for_call(self, announce: Announce) -> CallProcesses:
        """The table as one call sees it. `announce` commits what was spawned before it may begin."""
        return CallProcesses(self, announce)

    def adopt(self, spawned: Spawned) -> bool:
        """Take a background command of a dead agent back; True when it still runs.

        One that has ended is taken too, so that its output and its exit code can still be asked for.
        """
        entry = Background(spawned)
        self._background[spawned.process] = entry
        return entry.life() is Life.ALIVE

    async def close(self) -> None:
        """End every background command."""
        await asyncio.gather(*(self.end(entry) for entry in self.entries()))
        sweep()

    async def end(self, entry: Background) -> bool:
        """End one background command with everything it started; False when there was nothing to end."""
        running = entry.life() is Life.ALIVE
        ended = await end_group(entry.spawned.identity, self.limits.grace)
        entry.life()
        if running and ended:
            entry.ended_by_us(signal.SIGKILL)
        return ended

    def entry(self, process: str) -> Background:
        """A background command by its name."""
        self._recall()
        found = self._background.get(process)
        if found is None:
            known = ", ".join(self._background) or "none"
            raise NotFound(f"there is no background process {process!r} (there are: {known})")
        return found

    def entries(self) -> list[Background]:
        """All background commands of the session, also those an earlier agent left running."""
        self._recall()
        return list(self._background.values())

    def _recall(self) -> None:
        if not self._recalled:
            self._recalled = True
            for spawned in recorded(self.folder):
                self._background.setdefault(spawned.process, Background(spawned))

    def add(self, spawned: Spawned, gated: Gated) -> Background:
        """Remember a background command that was just let through."""
        entry = self._background[spawned.process] = Background(spawned, gated)
        with contextlib.suppress(OSError):
            entry.files.describe(spawned)
        return entry

    def boundary(self, directory: Path, *, network: bool, shared: Sequence[Path] = ()) -> Boundary:
        """What a command of this session may reach."""
        return Boundary(workspace=self.workspace, directory=directory, network=network, shared=tuple(shared))

    def make_folder(self) -> None:
        """Private to the user: logs may hold anything."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def claim(self) -> tuple[str, BackgroundFiles]:
        """A name that no background command of this session has had, also not before a crash."""
        self.make_folder()
        number = len(self._background) + 1
        while True:
            log = self.folder / f"p{number}.log"
            with contextlib.suppress(FileExistsError):
                os.close(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
                return f"p{number}", BackgroundFiles(log)
            number += 1


class CallProcesses:
    """Commands on behalf of one tool call (the Processes protocol)."""

    def __init__(self, table: ProcessTable, announce: Announce) -> None:
        self._table = table
        self._announce = announce

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
        """Run a command to its end, or to the end of its time: then it is ended with everything it started."""
        table, name = self._table, new_id()
        table.make_folder()
        source = table.folder / f"{name}.in" if stdin else Path(os.devnull)
        if stdin:
            source.write_text(stdin, errors="replace")
        capture = Capture(table.folder / f"{name}.out", table.limits.output)
        boundary = table.boundary(directory, network=network, shared=shared)
        try:
            return await self._run(name, command, boundary, timeout, source, capture)
        finally:
            capture.discard()
            sweep()
            if stdin:
                source.unlink(missing_ok=True)

    async def _run(
        self, name: str, command: str, boundary: Boundary, timeout: float, source: Path, capture: Capture
    ) -> ToolResult:
        read_end, write_end = os.pipe()
        try:
            argv = self._table.sandbox.wrap(command, boundary)
            gated = self._spawn(name, argv, boundary.directory, source, write_end)
        except (OSError, ValueError, HermesError) as error:
            os.close(read_end)
            return _not_started(error, boundary.directory)
        finally:
            os.close(write_end)
        reader = PipeReader(read_end, capture)
        try:
            await self._announce(Spawned(process=name, identity=gated.identity, command=command))
            gated.open()
            code = await _within(timeout, gated)
            if code is None:
                await gated.end(self._table.limits.grace)
                await reader.drain(_DRAIN_SECONDS)
                return _timed_out(capture, self._table.blobs, timeout)
            notes = await self._leftovers(gated, reader)
            return _finished(capture, self._table.blobs, code, notes)
        except BaseException:
            await gated.end(self._table.limits.grace)
            raise
        finally:
            reader.close()

    def _spawn(self, name: str, argv: list[str], directory: Path, stdin: Path, output: int) -> Gated:
        environment = self._table.sandbox.environment()
        return spawn(argv, directory=directory, environment=environment, mark=name, stdin=stdin, output=output)

    async def _leftovers(self, gated: Gated, reader: PipeReader) -> list[str]:
        """End what a finished command left in its group: nobody knows of it, so nobody would ever end it."""
        notes = []
        if _group_exists(gated.identity.group):
            await _end_left_behind(gated.identity.group)
            notes.append(_LEFT_BEHIND)
        if not await reader.drain(_DRAIN_SECONDS):
            notes.append(_PIPE_HELD)
        return notes

    async def start(self, command: str, *, directory: Path, network: bool = False) -> ToolResult:
        """Start a command in the background and give its name. It outlives a crash of the agent."""
        table = self._table
        running = sum(entry.life() is Life.ALIVE for entry in table.entries())
        if running >= table.limits.background:
            return _failed("too_many", f"{running} background processes run already; kill one first")
        name, files = table.claim()
        boundary = table.boundary(directory, network=network)
        try:
            argv = files.keeper(table.sandbox.wrap(command, boundary), table.limits.output.kept)
            files.prepare()
            mark = f"{new_id()}-{name}"
            gated = spawn(argv, directory=directory, environment=table.sandbox.environment(), mark=mark)
        except (OSError, ValueError, HermesError) as error:
            files.remove()
            return _not_started(error, directory)
        spawned = Spawned(process=name, identity=gated.identity, background=True, command=command, log=str(files.log))
        try:
            await self._announce(spawned)
        except BaseException:
            await gated.end(0.0)
            files.remove()
            raise
        gated.open()
        entry = table.add(spawned, gated)
        await _until(lambda: entry.life() is not Life.ALIVE, _SETTLE_SECONDS)
        return ToolResult(text=self._report(entry))

    async def poll(self, process: str) -> ToolResult:
        """The state of a background command and what it printed since the last look."""
        return self._seen(process)

    async def wait(self, process: str, timeout: float) -> ToolResult:
        """Wait for the end of a background command, at most `timeout` seconds."""
        try:
            entry = self._table.entry(process)
        except NotFound as error:
            return _failed("not_found", str(error))
        await _until(lambda: entry.life() is not Life.ALIVE, timeout)
        code = entry.exit_code()
        text = self._report(entry)
        return ToolResult(text=text) if not code else ToolResult(ok=False, error=_error(code), text=text)

    async def write(self, process: str, text: str) -> ToolResult:
        """Send a line to a background command."""
        try:
            entry = self._table.entry(process)
        except NotFound as error:
            return _failed("not_found", str(error))
        if entry.life() is not Life.ALIVE:
            return _failed("ended", f"{process} {entry.state()}")
        line = text if text.endswith("\n") else text + "\n"
        await _until(lambda: entry.listens() or entry.life() is not Life.ALIVE, _LISTEN_SECONDS)
        try:
            written = entry.write(line)
        except BlockingIOError:
            return _failed("input_full", f"{process} does not read its input; nothing was written", transient=True)
        except OSError as error:
            return _failed("ended", f"{process} reads no input: {error.strerror}")
        return ToolResult(text=f"wrote {written} bytes to {process}; poll shows what it answers")

    async def kill(self, process: str) -> ToolResult:
        """End a background command with everything it started."""
        try:
            entry = self._table.entry(process)
        except NotFound as error:
            return _failed("not_found", str(error))
        ended = await self._table.end(entry)
        if not ended and entry.life() is Life.ALIVE:
            return _failed("still_running", f"{process} could not be ended")
        return ToolResult(text=self._report(entry))

    async def list(self) -> ToolResult:
        """All background commands of the session."""
        lines = [
            f"{entry.spawned.process} {entry.state()}: {one_line(entry.spawned.command)}"
            for entry in self._table.entries()
        ]
        return ToolResult(text="\n".join(lines) or "no background processes")

    def _seen(self, process: str) -> ToolResult:
        try:
            return ToolResult(text=self._report(self._table.entry(process)))
        except NotFound as error:
            return _failed("not_found", str(error))

    def _report(self, entry: Background) -> str:
        state = entry.state()
        fresh, passed = entry.news()
        parts = [f"[{entry.spawned.process} {state}]"]
        if passed:
            parts.append(f"[… {passed} bytes passed by …]")
        if fresh:
            shown = self._table.limits.output.shown
            note = ""
            if len(fresh) > shown:
                note = f"read_file(path='blob:{self._table.blobs.put(fresh.encode())[:16]}') reads on"
            parts.append(head_and_tail(fresh, shown, note=note))
        return "\n".join(parts)


async def _within(timeout: float, gated: Gated) -> int | None:
    """The exit code; None when the time is up."""
    try:
        async with asyncio.timeout(timeout):
            return await gated.exited()
    except TimeoutError:
        return None


async def _until(holds: Callable[[], bool], seconds: float) -> None:
    limit = time.monotonic() + seconds
    pause = 0.01
    while not holds() and (left := limit - time.monotonic()) > 0:
        await asyncio.sleep(min(pause, left))
        pause = min(pause * 1.5, 0.2)


def _group_exists(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


async def _end_left_behind(group: int) -> None:
    """A group with members keeps its number, so it cannot belong to anybody else."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
        await _until(lambda: not _group_exists(group), 0.5)


def _finished(capture: Capture, blobs: Blobs, code: int, notes: list[str]) -> ToolResult:
    text, blob = capture.finish(blobs)
    if code:
        notes = [f"exit code {code}" if code > 0 else f"ended by signal {-code}", *notes]
    text = _with_notes(text, notes)
    return ToolResult(ok=not code, text=text, error=_error(code) if code else "", blob=blob)


def _timed_out(capture: Capture, blobs: Blobs, timeout: float) -> ToolResult:
    text, blob = capture.finish(blobs)
    note = f"ended after {timeout:g} s without finishing; give a longer timeout or run it with background=true"
    return ToolResult(ok=False, text=_with_notes(text, [note]), error="timeout", blob=blob)


def _with_notes(text: str, notes: list[str]) -> str:
    lines = [text.rstrip("\n")] if text.strip() else ["(no output)"] if not notes else []
    return "\n".join([*lines, *(f"[{note}]" for note in notes)])


def _error(code: int) -> str:
    return f"exit_{code}" if code > 0 else f"signal_{-code}"


def _failed(error: str, text: str, *, transient: bool = False) -> ToolResult:
    return ToolResult(ok=False, error=error, text=text, transient=transient)


def _not_started(error: OSError | ValueError | HermesError, directory: Path) -> ToolResult:
    if isinstance(error, HermesError):
        return _failed("sandbox", error.explain())
    if isinstance(error, ValueError):
        return _failed(
            "invalid", "the command has a NUL character in it; put it into a file with write_file and run that"
        )
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return _failed("not_found", f"there is no folder {directory.name!r} to run in")
    if error.errno == errno.E2BIG:
        return _failed("too_long", "the command is too long; put it into a file with write_file and run that")
    return _failed("not_started", f"the command could not be started: {error.strerror}")
