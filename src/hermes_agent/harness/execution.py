"""The calls of one answer: asked about together, run in waves, each journaled before it begins."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

from ..types.events import AnyEvent, CallFinished
from ..types.tools import Effect
from .calls import Calls, Wish
from .scene import CallScene


class Execution:
    """Runs calls for one turn."""

    def __init__(self, desk: Calls, scene: CallScene, parallel: int) -> None:
        self._desk = desk
        self._scene = scene
        self._parallel = parallel
        self._commit = scene.belongings.commit

    def first_intents(self, wishes: list[Wish]) -> list[AnyEvent]:
        """Intents of the first wave, where all of it may run: they ride on the answer's commit."""
        desk, scene = self._desk, self._scene
        ready = waves(wishes)[0] if wishes else []
        if not all(desk.is_free(wish, scene) for wish in ready):
            return []
        return [desk.intent(wish, scene) for wish in ready if desk.answered(wish, scene) is None]

    async def run(self, examined: Sequence[Wish | CallFinished]) -> None:
        """Run calls in waves; each wave's intents are committed before any of its calls begins.

        A person is asked once about everything that needs one now. What becomes doubtful later, because an earlier
        call brought a stranger's text, is asked about when its turn has come.
        """
        await self._commit([found for found in examined if isinstance(found, CallFinished)])
        wishes = [found for found in examined if isinstance(found, Wish)]
        begun = self._scene.state.intended
        await self._desk.ask_about([wish for wish in wishes if wish.call.id not in begun], self._scene)
        for wave in waves(wishes):
            await self._run_wave(await self._admitted(wave))

    async def _admitted(self, wave: Sequence[Wish]) -> list[Wish]:
        """The calls of a wave that may run, their intents committed. The others have their results."""
        desk, scene = self._desk, self._scene
        allowed: list[Wish] = []
        events: list[AnyEvent] = []
        for wish in wave:
            if wish.call.id in scene.state.intended:
                allowed.append(wish)
                continue
            settled = desk.answered(wish, scene)
            if settled is None:
                settled, decided = await desk.permit(wish, scene)
                events += decided
            if settled is not None:
                events.append(settled)
                continue
            allowed.append(wish)
            events.append(desk.intent(wish, scene))
        await self._commit(events)
        return allowed

    async def _run_wave(self, wave: Sequence[Wish]) -> None:
        for start in range(0, len(wave), self._parallel):
            part = wave[start : start + self._parallel]
            if len(part) == 1:
                await self.run_call(part[0])
            else:
                await _all([self.run_call(wish) for wish in part])

    async def run_call(self, wish: Wish, *, again: bool = False) -> None:
        """Run one journaled call and commit its result. `again` when it began once before a crash."""
        earlier = self._scene.state.intended.get(wish.call.id) if again else None
        await self._commit(await self._desk.run(wish, self._scene, self._commit, earlier))


def waves(wishes: list[Wish]) -> list[list[Wish]]:
    """Calls that may run at the same time, in order. Whatever has an effect waits for those before it, except
    that calls which replace different files do not mind each other."""
    groups: list[list[Wish]] = []
    for wish in wishes:
        if groups and all(_independent(wish, other) for other in groups[-1]):
            groups[-1].append(wish)
        else:
            groups.append([wish])
    return groups


def _independent(one: Wish, other: Wish) -> bool:
    if one.digest == other.digest:
        return False
    if one.spec.name in other.spec.needs or other.spec.name in one.spec.needs:
        return False
    if one.spec.effect is Effect.NONE and other.spec.effect is Effect.NONE:
        return True
    return bool(
        _targets(one) and _targets(other) and _targets(one).isdisjoint(_targets(other))
    ) and Effect.ONCE not in (one.spec.effect, other.spec.effect)


def _targets(wish: Wish) -> frozenset[str]:
    return frozenset(str(wish.bound.get(name)) for name in wish.spec.replaces)


async def _all(work: Sequence[Coroutine[Any, Any, None]]) -> None:
    """Run coroutines at the same time; when one fails or we are cancelled, none is left running."""
    tasks = [asyncio.ensure_future(item) for item in work]
    try:
        await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        raise
