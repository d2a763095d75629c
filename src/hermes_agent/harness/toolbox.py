"""Tools for tools: the calls that a running tool makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from ..tools.shelf import rank
from ..types.events import CallFinished
from ..types.text import clean_json
from ..types.tools import ToolCall, ToolResult, ToolSpec
from ..types.trace import CallStatus
from .scene import CallScene

if TYPE_CHECKING:
    from .calls import Calls


class NestedTools:
    """The other tools as one running call sees them (the Toolbox protocol).

    A call made here is permitted, journaled and labelled like any other; only its result goes to the caller. A call
    that was itself made by a tool makes no further calls.
    """

    def __init__(self, desk: Calls, scene: CallScene, parent: str) -> None:
        self._desk = desk
        self._scene = scene
        self._parent = parent
        self._made = 0

    def find(self, query: str, limit: int) -> Sequence[ToolSpec]:
        """The tools that fit a query best, whether they are in the prompt or not; those that keep failing in tasks like
        this come last among them."""
        found = rank(self._desk.registry.specs(), query, limit)
        return sorted(found, key=lambda spec: spec.name in self._scene.state.behind)

    async def call(self, name: str, arguments: dict[str, Any]) -> ToolResult:
        """Make a call. Whatever stands against it is in the result."""
        if "." in self._parent:
            return ToolResult(ok=False, error="nested", text="a tool that was called by a tool calls no others")
        self._made += 1
        call = ToolCall(id=f"{self._parent}.{self._made}", name=name, arguments=clean_json(arguments))
        return _given(await self._finished(call))

    async def _finished(self, call: ToolCall) -> CallFinished:
        desk, scene, commit = self._desk, self._scene, self._scene.belongings.commit
        wish = desk.examine(call, scene)
        if isinstance(wish, CallFinished):
            return await self._kept(wish)
        if known := desk.answered(wish, scene):
            return await self._kept(known)
        refused, decided = await desk.permit(wish, scene)
        if refused is not None:
            await commit(decided)
            return await self._kept(refused)
        await commit([*decided, desk.intent(wish, scene, self._parent)])
        *before, finished = await desk.run(wish, scene, commit)
        await commit(before)
        assert isinstance(finished, CallFinished)
        return await self._kept(finished)

    async def _kept(self, finished: CallFinished) -> CallFinished:
        nested = msgspec.structs.replace(finished, parent=self._parent)
        await self._scene.belongings.commit([nested])
        return nested


def _given(finished: CallFinished) -> ToolResult:
    return ToolResult(
        ok=finished.status is CallStatus.OK,
        text=finished.text,
        error=finished.error,
        blob=finished.blob,
        labels=frozenset(finished.labels),
        origin=finished.origin,
    )
