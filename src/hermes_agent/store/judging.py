"""What somebody who can know says about a run that is over. The journal keeps every judgement; the last one counts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from ..types.base import Value
from ..types.errors import NotFound, UsageError
from ..types.events import Judged, RunFinished, UserMessage
from ..types.trace import Judge, Outcome, RunStatus, Trace
from .codec import encode, plain
from .database import Connection
from .journal import Append, append_all, recorded
from .open import Store

Learn = Callable[[Trace], Awaitable[None]]
_LONGEST_REASON = 2000


class Judgement(Value, frozen=True, kw_only=True):
    """What counted before, and what counts now. `not_learned` says why learning did not hear of it."""

    run_id: str
    before: Outcome
    after: Outcome
    not_learned: str = ""

    @property
    def changed(self) -> bool:
        """Whether anything was said that did not count already."""
        return self.before != self.after

    @property
    def contradicts(self) -> bool:
        """Whether somebody who could know had said the opposite before."""
        known = self.before.judged_by is not Judge.INFERRED
        return known and self.before.status is not self.after.status


class Exchange(Value, frozen=True, kw_only=True):
    """A finished run as its user saw it: what was asked, and what was answered."""

    run_id: str
    request: str
    answer: str
    outcome: Outcome


async def judge(
    store: Store, run_id: str, *, success: bool, by: Judge, reason: str = "", only_inferred: bool = False
) -> Judgement:
    """Append a judgement to a finished run's journal, with its outcome, in one transaction. What counts already is not
    said twice; with `only_inferred` a verdict of somebody who can know is left alone."""
    backend = store.database.backend
    reason = plain(reason)[:_LONGEST_REASON]
    after = Outcome(status=RunStatus.DONE if success else RunStatus.FAILED, judged_by=by, reason=reason)

    def unit(connection: Connection) -> Judgement:
        rows = connection.run(
            "SELECT epoch, status FROM runs WHERE id = ? AND session_id IN"
            f" (SELECT id FROM sessions WHERE deleted_at IS NULL){backend.row_lock}",
            (run_id,),
        )
        if not rows:
            raise NotFound(f"there is no run {run_id!r}", remedy="`hermes sessions list` shows what there is")
        epoch, status = rows[0]
        if status == RunStatus.OPEN:
            raise UsageError(
                f"run {run_id} is not over yet", remedy="wait for its answer; an interrupted one: `hermes resume`"
            )
        before = _outcome(connection, run_id)
        if before == after or (only_inferred and before.judged_by is not Judge.INFERRED):
            return Judgement(run_id=run_id, before=before, after=before)
        said = encode(Judged(success=success, by=by, reason=reason))
        append_all(connection, backend, [Append(run_id=run_id, epoch=epoch, events=[said], at=connection.now())])
        return Judgement(run_id=run_id, before=before, after=after)

    return await store.database.write(unit)


async def judge_and_learn(
    store: Store,
    learn: Learn,
    run_id: str,
    *,
    success: bool,
    by: Judge,
    reason: str = "",
    only_inferred: bool = False,
) -> Judgement:
    """Judge a run and let learning hear of it. Learning's failure is its own: the judgement stands."""
    made = await judge(store, run_id, success=success, by=by, reason=reason, only_inferred=only_inferred)
    if not made.changed:
        return made
    try:
        await learn(await store.traces.own_of_run(run_id))
    except Exception as error:  # noqa: BLE001 - supervises whatever learns
        why = f"{type(error).__name__}: {error}"
        return Judgement(run_id=run_id, before=made.before, after=made.after, not_learned=why)
    return made


async def last_finished(store: Store, session_id: str) -> Exchange | None:
    """The last finished run of a session. At most one can be open behind it."""

    def unit(connection: Connection) -> Exchange | None:
        rows = connection.run(
            "SELECT id, status FROM runs WHERE session_id = ? ORDER BY ordinal DESC LIMIT 2", (session_id,)
        )
        finished = [row[0] for row in rows if row[1] != RunStatus.OPEN]
        return _exchange(connection, finished[0]) if finished else None

    return await store.database.read(unit)


async def run_before(store: Store, run_id: str) -> Exchange | None:
    """The finished run that came just before this one in its session."""

    def unit(connection: Connection) -> Exchange | None:
        rows = connection.run(
            "SELECT p.id FROM runs r JOIN runs p ON p.session_id = r.session_id AND p.ordinal = r.ordinal - 1"
            " WHERE r.id = ? AND p.status <> 'open'",
            (run_id,),
        )
        return _exchange(connection, rows[0][0]) if rows else None

    return await store.database.read(unit)


def _exchange(connection: Connection, run_id: str) -> Exchange:
    rows = connection.run(
        "SELECT run_id, seq, epoch, kind, version, payload, crc, at FROM events"
        " WHERE run_id = ? AND kind IN ('user_message', 'run_finished') ORDER BY seq",
        (run_id,),
    )
    events = [recorded(row).event for row in rows]
    return Exchange(
        run_id=run_id,
        request=next((event.text for event in events if isinstance(event, UserMessage)), ""),
        answer=next((event.answer for event in events if isinstance(event, RunFinished)), ""),
        outcome=_outcome(connection, run_id),
    )


def _outcome(connection: Connection, run_id: str) -> Outcome:
    rows = connection.run("SELECT status, judged_by, reason FROM outcomes WHERE run_id = ?", (run_id,))
    if not rows:
        return Outcome(status=RunStatus.OPEN)
    return Outcome(status=RunStatus(rows[0][0]), judged_by=Judge(rows[0][1]), reason=rows[0][2])
