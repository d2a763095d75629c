"""What happens to a run's open calls when another process takes it over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from ..safety.approvals import call_digest
from ..safety.redact import REDACTED
from ..tools.sandbox.identity import end_group
from ..types.events import CallFinished, ProcessSpawned, Recovered
from ..types.tools import Effect, Spawned, ToolCall
from .calls import Wish, forgotten, in_doubt

if TYPE_CHECKING:
    from .turn import Turn


async def settle_after_crash(turn: Turn) -> None:
    """End orphans, adopt living background processes, and close or repeat calls that were under way.

    A call with an intent and no result is in doubt. What has no effect, or the same effect twice, runs again under
    its old key; what may happen only once does not, and both the model and the user are told so. Nor does a call whose
    arguments held a secret: the journal does not know them any more.
    """
    state = turn.state
    ended, adopted = await _settle_processes(turn)
    open_calls = [call for call in state.pending() if call.id in state.intended]
    doubtful = [call for call in open_calls if not _may_repeat(turn, call)]
    repeat = [call for call in open_calls if call not in doubtful]
    await turn.commit(
        [
            Recovered(
                by=turn.run.holder,
                in_doubt=tuple(call.id for call in doubtful),
                rerun=tuple(call.id for call in repeat),
                ended=tuple(ended),
                adopted=tuple(adopted),
            ),
            *(in_doubt(call) for call in doubtful),
        ]
    )
    for call in repeat:
        found = turn.harness.calls.examine(call, turn.scene)
        if isinstance(found, Wish):
            await turn.execution.run_call(found, again=True)
        else:
            await turn.commit([found])


def _may_repeat(turn: Turn, call: ToolCall) -> bool:
    intent = turn.state.intended[call.id]
    whole = intent.digest == call_digest(call.name, call.arguments, turn.scene.workspace)
    return intent.effect is not Effect.ONCE and whole


def examined_again(turn: Turn) -> list[Wish | CallFinished]:
    """The calls that were asked for and had not begun. One whose arguments held a secret must be made anew."""
    return [
        forgotten(call)
        if REDACTED in msgspec.json.encode(call.arguments).decode()
        else turn.harness.calls.examine(call, turn.scene)
        for call in turn.state.pending()
    ]


async def _settle_processes(turn: Turn) -> tuple[list[str], list[str]]:
    ended, adopted = [], []
    for process in turn.state.spawned:
        if process.background:
            if turn.scene.belongings.processes.adopt(_spawned(process)):
                adopted.append(process.process)
        elif process.call_id not in turn.state.finished and await end_group(process.identity):
            ended.append(process.process)
    return ended, adopted


def _spawned(event: ProcessSpawned) -> Spawned:
    return Spawned(
        process=event.process,
        identity=event.identity,
        background=event.background,
        command=event.command,
        log=event.log,
    )
