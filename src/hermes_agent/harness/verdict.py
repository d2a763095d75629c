"""Who can know whether a run succeeded: a command or a callable that was given with the request.

Either is asked after the model's last answer and before the run is closed, so that what is learned from the run already
knows the verdict. Whoever cannot say leaves the outcome inferred, and the journal tells why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..types.base import Value
from ..types.errors import LeaseLost
from ..types.events import AssistantMessage, CallFinished, Decided, Recorded, UserMessage
from ..types.ids import new_id
from ..types.text import clean
from ..types.tools import ToolResult
from ..types.trace import Judge, Outcome, RunStatus

if TYPE_CHECKING:
    from .turn import Turn

CHECK = "check"
"""The option that holds the command, the subject of the decision about it, and the call its process belongs to."""
VERIFIER = "verifier"
"""The option that names a callable of the program that made the request."""
PASSED, FAILED, NO_VERDICT = "passed", "failed", "no verdict"
_CANNOT_SAY = {
    "exit_125": "it says that it cannot tell",
    "exit_126": "it could not be started",
    "exit_127": "the command was not found",
    "exit_137": "it was killed",
    "signal_9": "it was killed",
    "timeout": "it did not end in time",
}
_LAST_LINES = 10
_LAST_CHARACTERS = 1000


class Claim(Value, frozen=True, kw_only=True):
    """A run that came to its answer and waits for its verdict."""

    run_id: str
    session_id: str
    answer: str
    status: RunStatus
    reason: str = ""


Verify = Callable[[Claim], Awaitable[Any]]


class Verdict(Value, frozen=True, kw_only=True):
    """What the check said; `success` is None where it could not say. `reason` is its last words, or why it has none."""

    success: bool | None
    reason: str = ""

    def decision(self) -> Decided:
        """The verdict as it is journaled."""
        choice = NO_VERDICT if self.success is None else PASSED if self.success else FAILED
        return Decided(subject=CHECK, choice=choice, reason=self.reason)

    def outcome(self, status: RunStatus, reason: str) -> Outcome:
        """What is known about a run that ended with this status, for this reason."""
        said = self.reason if self.success is not None else f"no verdict: {self.reason}"
        reason = "; ".join(part for part in (reason, said) if part)
        if self.success is None:
            return Outcome(status=status, reason=reason)
        judged = RunStatus.DONE if self.success else RunStatus.FAILED
        return Outcome(status=judged, judged_by=Judge.VERIFIER, reason=reason)


class Verifiers:
    """The callables of this process that wait for the end of a run, by the name that its options carry.

    A callable cannot be journaled: where the process is gone, the run that is taken up again has no verdict."""

    def __init__(self) -> None:
        self._waiting: dict[str, Verify] = {}

    @contextmanager
    def lent(self, verify: Verify) -> Iterator[str]:
        """The name of a callable, known as long as the caller waits for its run."""
        name = new_id()
        self._waiting[name] = verify
        try:
            yield name
        finally:
            del self._waiting[name]

    def get(self, name: str) -> Verify | None:
        """The callable, if this process has it."""
        return self._waiting.get(name)


def wants_verdict(turn: Turn) -> bool:
    """Whether somebody was named who can know."""
    return any(_option(turn, name) for name in (CHECK, VERIFIER))


def last_answer(events: Sequence[Recorded]) -> AssistantMessage | None:
    """The answer that ended the talk with the model, where it is journaled: it is never asked for again."""
    said = (entry.event for entry in reversed(events))
    last = next((event for event in said if isinstance(event, AssistantMessage | CallFinished | UserMessage)), None)
    return last if isinstance(last, AssistantMessage) and not last.calls else None


async def verdict(turn: Turn, answer: str, status: RunStatus, reason: str) -> Verdict:
    """Ask whoever was named. Never raises but for a lost lease: a check that breaks is no verdict."""
    seconds = turn.harness.limits.check_seconds
    command = _option(turn, CHECK)
    if command:
        return await _by_command(turn, command, seconds)
    verify = turn.harness.verifiers.get(_option(turn, VERIFIER))
    if verify is None:
        return Verdict(success=None, reason="the program that would have checked it is gone")
    claim = Claim(run_id=turn.run.id, session_id=turn.session.id, answer=answer, status=status, reason=reason)
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            said = await verify(claim)
    except LeaseLost:
        raise
    except Exception as error:  # noqa: BLE001 - the boundary to the caller's code
        if limit.expired():
            return Verdict(success=None, reason=f"the check did not end within {seconds:g} s (limits.check_seconds)")
        return Verdict(success=None, reason=turn.harness.redactor.redact(f"{type(error).__name__}: {error}"))
    if said is None:
        return Verdict(success=None, reason="the check could not say")
    if not isinstance(said, bool):
        kind = type(said).__name__
        return Verdict(success=None, reason=f"the check gave {kind}, neither True, False nor None")
    return Verdict(success=said)


async def _by_command(turn: Turn, command: str, seconds: float) -> Verdict:
    """Run the command where the terminal tool would run it: same workspace, same sandbox, no network."""
    owned = turn.scene.belongings
    processes = owned.processes.for_call(lambda spawned: owned.announce(CHECK, spawned))
    result = await processes.run(clean(command), directory=turn.scene.workspace, timeout=seconds)
    said = turn.harness.redactor.redact(_last_words(result.text))
    if result.ok:
        return Verdict(success=True, reason=said)
    why = _CANNOT_SAY.get(result.error, "" if _ended_by_itself(result) else "it could not be run")
    return Verdict(success=None, reason=f"{why}: {said}") if why else Verdict(success=False, reason=said)


def _ended_by_itself(result: ToolResult) -> bool:
    return result.error.startswith(("exit_", "signal_"))


def _last_words(text: str) -> str:
    lines = text.rstrip().splitlines()[-_LAST_LINES:]
    return "\n".join(lines)[-_LAST_CHARACTERS:]


def _option(turn: Turn, name: str) -> str:
    started = turn.state.started
    return str(started.options.get(name) or "") if started else ""
