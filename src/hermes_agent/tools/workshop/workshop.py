"""Self-written tools: how they come into being, are changed, run, and are taken back when they keep crashing."""

from __future__ import annotations

import asyncio
import keyword
import re
import threading
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Literal

from ...types.base import Value
from ...types.errors import HermesError, UsageError
from ...types.text import one_line, visible
from ...types.tools import Blobs, Capability, Person, Processes, ToolContext, ToolResult, ToolSpec
from ..code.folder import private_folder
from ..failures import failed
from ..registry import Entry, Registry
from ..results import as_result
from ..tool import Tool
from .declaration import Refused, Written, read
from .imports import problems
from .running import Ran, Sandboxed, run
from .versions import MOST_TOOLS, BrokenState, Drawer, State

SOURCE = "self-written"
HIGH_STAKES = frozenset(Capability) - {Capability.FILES_READ, Capability.FILES_WRITE}
_NAME = re.compile(r"[a-z][a-z0-9_]{1,47}")
_MOST_REASONS = 12
_YES, _NO = "yes", "no"

Scan = Callable[[str], list[str]]


class Around(Value, frozen=True, kw_only=True):
    """What a call to the workshop brings along: its processes, who can be asked, and where the files are."""

    processes: Processes
    person: Person
    workspace: Path
    blobs: Blobs


class SelfWritten:
    """All self-written tools of one home. `scan` gives reasons to refuse a text; none means that it is clean."""

    def __init__(self, folder: Path, registry: Registry, scan: Scan) -> None:
        self.drawer = Drawer(folder)
        self.registry = registry
        self._scan = scan
        self._refreshing = threading.Lock()

    def refresh(self) -> list[str]:
        """Register what is in the folder; says what is broken and was left out. Reads only the state files."""
        with self._refreshing:
            entries, broken = self.entries()
            self.registry.refresh(SOURCE, entries)
        return broken

    def entries(self) -> tuple[list[Entry], list[str]]:
        """The tools as the registry wants them, and what could not be read."""
        entries, broken = [], []
        for name in self.drawer.names():
            try:
                state = self.drawer.state(name)
            except BrokenState as error:
                broken.append(error.explain())
                continue
            version = state.version(state.current) if state else None
            if self.taken(name):
                broken.append(f"the self-written tool {name} is left out: another tool has this name now")
            elif version is not None:
                entries.append(Entry(spec=version.spec, load=partial(self._load, name), source=SOURCE))
        return entries, broken

    def taken(self, name: str) -> bool:
        """Whether a tool that is not self-written has the name."""
        return self.registry.source(name) not in ("", SOURCE)

    def for_call(self, *, processes: Processes, person: Person, workspace: Path, blobs: Blobs) -> CallWorkshop:
        """The workshop as one call sees it (the Workshop protocol)."""
        return CallWorkshop(self, Around(processes=processes, person=person, workspace=workspace, blobs=blobs))

    def check(self, name: str, source: str) -> Written:
        """Everything that can be found out without running it. Raises Refused with the reasons."""
        written = read(name, source)
        reasons = list(problems(written.tree, written.spec.capabilities or ()))[:_MOST_REASONS]
        reasons += self._scan(source)[:_MOST_REASONS]
        if reasons:
            raise Refused("; ".join(reasons))
        return written

    def _load(self, name: str) -> Tool:
        """The tool for a call, if its file is the one that was checked."""
        state = self.drawer.state(name)
        version = state.version(state.current) if state else None
        if state is None or version is None:
            raise UsageError(f"the self-written tool {name} is gone")
        if version.status == "refused":
            raise UsageError(
                f"{name} crashed {version.in_a_row} times in a row, at last: {version.last_error}",
                remedy="fix it with tool_manage edit",
            )
        source = self.drawer.source(state)
        written = read(name, source)
        return written.tool(partial(self._run, written.spec, version.number, source))

    async def _run(
        self, spec: ToolSpec, number: int, source: str, arguments: dict[str, Any], context: ToolContext
    ) -> ToolResult:
        where = Sandboxed(processes=context.processes, blobs=context.blobs, folder=context.workspace)
        ran = await run(source, spec, arguments, where)
        if ran.fault is not None:
            return ran.fault
        try:
            note = await asyncio.to_thread(self._count, spec.name, number, ran)
        except (OSError, HermesError) as error:
            note = f"this run could not be counted: {error}"
        if ran.crash:
            return failed(ran.error, f"{ran.crash}\n[{note}]")
        return as_result(ran.value)

    def _count(self, name: str, number: int, ran: Ran) -> str:
        """Remember how a run ended; a version that keeps crashing is taken back. Says what that means."""
        with self.drawer.locked():
            state = self.drawer.state(name)
            if state is None or state.version(number) is None:
                return f"{name} was removed meanwhile"
            state = self.drawer.count(state, number, ran.crash.rstrip().rpartition("\n")[2])
            return self._consequence(state, number) if ran.crash else ""

    def _consequence(self, state: State, number: int) -> str:
        version, good = state.version(number), state.last_good()
        row = version.in_a_row if version else 0
        if version is None or state.current != number or version.status != "refused":
            return f"version {number} crashed, {row} in a row; fix it with tool_manage edit"
        again = f"version {number} crashed {row} times in a row"
        if good is None:
            return f"{again} and is refused from now on; fix it with tool_manage edit"
        try:
            self.drawer.go_back(state, good.number)
        except UsageError as error:
            return f"{again} and is refused from now on; {error.explain()}"
        self.refresh()
        return f"{again}: {state.name} was rolled back to version {good.number}, the last good one"


class CallWorkshop:
    """Creating, changing and listing tools on behalf of one call (the Workshop protocol)."""

    def __init__(self, tools: SelfWritten, around: Around) -> None:
        self._tools = tools
        self._drawer = tools.drawer
        self._around = around

    async def create(self, name: str, source: str) -> ToolResult:
        """Check, try and register a new tool."""
        if not _NAME.fullmatch(name) or keyword.iskeyword(name):
            return failed("bad_name", "a name has 2 to 48 small letters, digits and '_', and begins with a letter")
        if self._tools.taken(name):
            return failed("exists", f"there is a tool {name} already that is not self-written; take another name")
        return await self._told(self._keep(name, source, "create"))

    async def edit(self, name: str, source: str) -> ToolResult:
        """Replace a tool's source; without one, check the file that was edited outside and take it as it is."""
        return await self._told(self._keep(name, source, "edit"))

    async def rollback(self, name: str, version: int | None) -> ToolResult:
        """Go back to a version, or to the last good one."""
        return await self._told(self._roll_back(name, version))

    async def list(self) -> ToolResult:
        """Every self-written tool and how it does."""
        return ToolResult(text=await asyncio.to_thread(self._listed))

    async def _told(self, work: Awaitable[str]) -> ToolResult:
        try:
            text = await work
        except Refused as error:
            return failed("refused", f"not kept: {error}")
        except HermesError as error:
            return failed("not_done", error.explain())
        except OSError as error:
            return failed("io", f"the tool could not be written: {error.strerror or error}")
        return ToolResult(text=text)

    async def _keep(self, name: str, source: str, by: Literal["create", "edit"]) -> str:
        self._expect(name, by)
        text = source if source.strip() or by == "create" else self._drawer.on_disk(name)
        written = await asyncio.to_thread(self._tools.check, name, text)
        await self._approve(written, text)
        await self._try(written, text)
        number = await asyncio.to_thread(self._commit, written, text, by)
        spec = written.spec
        how = f"use_tool(name={name!r}, arguments={{…}})" if spec.rare else f"{name}(…)"
        return f"{name} version {number} passed its checks and its trial, and is ready: {how}"

    def _expect(self, name: str, by: Literal["create", "edit"]) -> None:
        """A tool to edit must be there, one to create must not. A broken one may be created anew."""
        try:
            state = self._drawer.state(name) if _NAME.fullmatch(name) else None
        except BrokenState:
            if by == "edit":
                raise
            return
        if by == "create" and state is not None:
            raise UsageError(f"{name} exists already", remedy="change it with tool_manage edit")
        if by == "edit" and state is None:
            known = ", ".join(self._drawer.names()) or "none"
            raise UsageError(f"there is no self-written tool {one_line(name)!r}", remedy=f"there are: {known}")

    async def _approve(self, written: Written, source: str) -> None:
        """What reaches beyond the workspace needs a person, who sees the whole text."""
        high = sorted(HIGH_STAKES & (written.spec.capabilities or frozenset()))
        if not high:
            return
        question = (
            f"The agent wrote a tool {written.spec.name} that wants to use: {', '.join(high)}.\n"
            f"It would run in the sandbox whenever the agent calls it. Its source:\n\n{visible(source)}\n\n"
            "Keep this tool?"
        )
        if await self._around.person.choose(question, (_YES, _NO)) != _YES:
            raise Refused(f"nobody approved a tool that uses {', '.join(high)}")

    async def _try(self, written: Written, source: str) -> None:
        """Run the example: in the workspace, or in an empty folder when the tool writes files."""
        around, spec = self._around, written.spec
        where = Sandboxed(processes=around.processes, blobs=around.blobs, folder=around.workspace)
        async with AsyncExitStack() as stack:
            if Capability.FILES_WRITE in (spec.capabilities or ()):
                scratch = await stack.enter_async_context(private_folder())
                where = Sandboxed(processes=around.processes, blobs=around.blobs, folder=scratch, shared=[scratch])
            ran = await run(source, spec, written.example, where)
        if ran.fault is not None:
            raise UsageError(f"the trial could not be run: {ran.fault.text}")
        if ran.crash:
            raise Refused(f"the trial with EXAMPLE failed: {ran.crash}")
        shown = as_result(ran.value)
        if not shown.ok:
            raise Refused(f"the trial with EXAMPLE gave an error: {one_line(shown.text, 500)}")

    def _commit(self, written: Written, source: str, by: Literal["create", "edit"]) -> int:
        name = written.spec.name
        with self._drawer.locked():
            self._expect(name, by)
            if by == "create" and len(self._drawer.names()) >= MOST_TOOLS:
                raise UsageError(f"there are {MOST_TOOLS} self-written tools already", remedy="edit one of them")
            number = self._drawer.add(name, source, written.spec, by).number
        self._tools.refresh()
        return number

    async def _roll_back(self, name: str, version: int | None) -> str:
        return await asyncio.to_thread(self._rolled_back, name, version)

    def _rolled_back(self, name: str, version: int | None) -> str:
        self._expect(name, "edit")
        with self._drawer.locked():
            state = self._drawer.state(name)
            good = state.last_good() if state else None
            if state is None or (version is None and good is None):
                raise UsageError(f"{name} has no other good version", remedy="tool_manage edit changes it")
            number = good.number if version is None and good else version or 0
            self._tools.check(name, self._drawer.kept(state, number))
            self._drawer.go_back(state, number)
        self._tools.refresh()
        return f"{name} is at version {number} again"

    def _listed(self) -> str:
        lines = [self._line(name) for name in self._drawer.names()]
        return "\n".join(lines) or "no self-written tools; tool_manage create makes one"

    def _line(self, name: str) -> str:
        try:
            state = self._drawer.state(name)
        except BrokenState as error:
            return f"{one_line(name)}: broken: {error.explain()}"
        version = state.version(state.current) if state else None
        if state is None or version is None:
            return f"{one_line(name)}: gone"
        try:
            self._drawer.source(state)
            condition: str = version.status
        except UsageError as error:
            condition = error.explain()
        last = f"; last error: {version.last_error}" if version.status != "good" else ""
        numbers = ", ".join(str(one.number) for one in state.versions)
        counts = f"{version.runs} runs, {version.failures} crashes"
        reach = ", ".join(sorted(version.spec.capabilities or ())) or "nothing"
        return (
            f"{name} version {version.number} of {numbers}: {condition}; {counts}; reaches {reach}{last}: "
            f"{one_line(version.spec.description)}"
        )
