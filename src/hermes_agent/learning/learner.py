"""Learning from a trace: once, in one transaction, in the order of a sequence that all replicas share."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from ..config.settings import LearningSettings
from ..store.database import Connection, Database
from ..store.heuristics import (
    EVERY_FAMILY,
    Heuristic,
    activate_members,
    active_set,
    add_audit,
    lock_sequence,
    placed_heuristics,
    read_cells,
    save_heuristic,
    set_value,
    value_of,
    write_cells,
)
from ..store.lessons import Lesson, add_judgement, add_lesson
from ..store.lessons import lesson_of as stored_lesson
from ..types.base import Value
from ..types.trace import Judge, Trace
from .cells import Cells
from .families import learn_family
from .fold import fold
from .lessons import lesson_of
from .life import Occasion, Register, Rules
from .watching import settle, watch


class Learned(Value, frozen=True, kw_only=True):
    """What a lesson changed: the set in force, and what people should hear."""

    version: int = 0
    notices: tuple[str, ...] = ()


class Learner:
    """Folds traces into the store. Any number of processes may do so at once."""

    def __init__(
        self,
        database: Database,
        owner: str = "local",
        settings: LearningSettings | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._database = database
        self._owner = owner
        self._settings = settings or LearningSettings()
        self._clock = clock

    async def learn(self, trace: Trace, family: str, *, tainted: bool) -> Learned:
        """Take a finished run into account. The same run again changes nothing, unless its outcome was judged since."""
        lesson = lesson_of(trace, family, tainted=tainted)
        return await self._database.write(lambda connection: self.absorb(connection, lesson, trace.request))

    def learn_now(self, trace: Trace, family: str, *, tainted: bool) -> Learned:
        """`learn` for programs without an event loop."""
        lesson = lesson_of(trace, family, tainted=tainted)
        return self._database.write_now(lambda connection: self.absorb(connection, lesson, trace.request))

    def absorb(self, connection: Connection, lesson: Lesson, request: str) -> Learned:
        """Everything that follows from one lesson, inside the caller's transaction."""
        seq = lock_sequence(connection, self._database.backend)
        known = stored_lesson(connection, lesson.run_id)
        if known is not None:
            judgement = _newly_judged(known, lesson)
            if judgement is None:
                set_value(connection, "sequence", seq - 1)
                return Learned(version=value_of(connection, "active_set"))
            add_judgement(connection, judgement, seq, self._clock())
            counted = known.judged_by is Judge.INFERRED
            return self._follow(connection, judgement, None, counted=counted)
        if _erased(connection, lesson.session_id):
            set_value(connection, "sequence", seq - 1)
            return Learned(version=value_of(connection, "active_set"))
        family = learn_family(connection, lesson.family, request, lesson.at, lesson.session_id)
        lesson = msgspec.structs.replace(lesson, family=family.id)
        add_lesson(connection, lesson, seq, self._owner)
        return self._follow(connection, lesson, lesson, counted=True)

    def _follow(self, connection: Connection, lesson: Lesson, fresh: Lesson | None, *, counted: bool) -> Learned:
        """Fold the evidence, change heuristics, watch the outcome, and write it all."""
        cells = Cells(lambda keys: read_cells(connection, keys))
        register = self._register(connection, lesson)
        if fresh is not None:
            register.apply(fold(fresh, cells), cells)
        notices: tuple[str, ...] = ()
        if counted and lesson.success is not None:
            if lesson.judged_by is not Judge.INFERRED and not lesson.tainted:
                register.judge(lesson.items, cells, success=lesson.success)
            notices = watch(connection, lesson, register, cells, self._settings.roll_back)
        register.promote_waiting()
        self._applied(register, lesson)
        version = write_changes(connection, register, lesson.run_id, self._clock())
        write_cells(connection, cells.changed())
        if register.rolled_back:
            settle(connection, lesson)
        return Learned(version=version, notices=notices)

    def _register(self, connection: Connection, lesson: Lesson) -> Register:
        known = placed_heuristics(connection, lesson.model, (lesson.family, EVERY_FAMILY))
        return register_for(connection, known, self._settings, lesson.run_id, self._clock())

    def _applied(self, register: Register, lesson: Lesson) -> None:
        """Note when something learned first acted: the latency of the feedback loop."""
        for item in lesson.items:
            heuristic = register.known.get(item.id)
            if heuristic is not None and item.applied and heuristic.applied_at is None:
                register.known[item.id] = msgspec.structs.replace(heuristic, applied_at=lesson.at)
                register.changed[item.id] = None


def _erased(connection: Connection, session_id: str) -> bool:
    """Whether the session was deleted meanwhile: nothing of it may be written any more."""
    return bool(connection.run("SELECT 1 FROM sessions WHERE id = ? AND deleted_at IS NOT NULL", (session_id,)))


def _newly_judged(known: Lesson, lesson: Lesson) -> Lesson | None:
    """The known lesson with a judgement it did not have; None when nothing is new, or when the run says nothing at all,
    as one that replay made."""
    if lesson.judged_by is Judge.INFERRED or lesson.success is None:
        return None
    if (known.judged_by, known.success) == (lesson.judged_by, lesson.success):
        return None
    return msgspec.structs.replace(known, success=lesson.success, judged_by=lesson.judged_by)


def register_for(
    connection: Connection, known: list[Heuristic], settings: LearningSettings, run_id: str, at: float
) -> Register:
    """A register over some heuristics, under the rules in force."""
    probation = connection.run(
        "SELECT COUNT(*) FROM heuristics WHERE stage = 'probation' AND kind IN ('workflow', 'skill')"
    )
    rules = Rules(approve=settings.approve, probation=settings.probation, frozen=bool(value_of(connection, "frozen")))
    return Register(known, rules, Occasion(run_id=run_id, at=at), int(probation[0][0]))


def write_changes(connection: Connection, register: Register, run_id: str, at: float) -> int:
    """Write changed heuristics, the set that follows, and the audit; returns the version in force."""
    if not register.changed:
        return value_of(connection, "active_set")
    members = set(active_set(connection).members)
    for name in register.changed:
        heuristic = register.known[name]
        save_heuristic(connection, heuristic)
        (members.add if heuristic.stage.acts else members.discard)(name)
    cause = register.audit[-1].cause if register.audit else ""
    before = value_of(connection, "active_set")
    version = activate_members(connection, members, cause, run_id, at)
    for entry in register.audit:
        changed = version if version != before else 0
        add_audit(connection, msgspec.structs.replace(entry, set_version=changed))
    return version
