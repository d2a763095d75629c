"""The guard at work: outcomes are held against the baseline of their family, and what made it worse is taken back."""

from __future__ import annotations

import msgspec

from ..store.database import Connection
from ..store.heuristics import EVERY_FAMILY, read_set, value_of
from ..store.lessons import Lesson, ascii_json
from ..types.trace import Judge
from .cells import Cells
from .guard import Alarm, FamilyGuard, judged
from .life import Register

_SAVE = (
    "INSERT INTO watches (family, model, watching, payload) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (family, model) DO UPDATE SET watching = excluded.watching, payload = excluded.payload"
)


def watch(
    connection: Connection, lesson: Lesson, register: Register, cells: Cells, roll_back: float
) -> tuple[str, ...]:
    """Let the guard see an outcome; go back to the last known-good set if it says so. Returns what people should hear.

    An outcome under an older set, as of a pinned run, says nothing about the one in force. What is only inferred is
    held against inferred outcomes: a run that ends by itself is not the same as a task that a verifier accepted.
    """
    version = _last_change(connection, lesson)
    if lesson.set_version < version:
        return ()
    family = lesson.family
    place = family if lesson.judged_by is not Judge.INFERRED else inferred(family)
    before = _read(connection, place, lesson.model)
    others = connection.run(
        "SELECT COUNT(*) FROM watches WHERE watching = 1 AND NOT (family = ? AND model = ?)", (place, lesson.model)
    )
    guard, alarm = judged(
        before,
        success=bool(lesson.success),
        version=version,
        families=int(others[0][0]) + 1,
        roll_back=roll_back,
    )
    _save(connection, place, lesson.model, guard)
    if alarm is None:
        return ()
    if alarm is Alarm.NOTIFY:
        return (f"{family}: success is below its baseline; half of its runs now go without what was learned",)
    good = set(read_set(connection, guard.known_good).members)
    cause = f"rolled back: success fell below the baseline measured with set {guard.known_good}"
    register.roll_back(cells, cause, good)
    if not register.rolled_back:
        return (f"{family}: success fell below its baseline; the set is frozen, so nothing was taken back",)
    return (f"{family}: {cause} (`hermes learning audit` says what was retired)",)


def settle(connection: Connection, lesson: Lesson) -> None:
    """After a rollback, the set that is in force now holds what the known-good one held here: both guards begin anew
    from it, each with its own baseline."""
    version = _last_change(connection, lesson)
    for place in (lesson.family, inferred(lesson.family)):
        guard = _read(connection, place, lesson.model)
        _save(
            connection,
            place,
            lesson.model,
            FamilyGuard(baseline=guard.baseline, known_good=version, version=version),
        )


def inferred(family: str) -> str:
    """Where inferred outcomes of a family are watched."""
    return f"{family}~inferred"


def _read(connection: Connection, place: str, model: str) -> FamilyGuard:
    rows = connection.run("SELECT payload FROM watches WHERE family = ? AND model = ?", (place, model))
    return msgspec.json.decode(rows[0][0], type=FamilyGuard) if rows else FamilyGuard()


def _save(connection: Connection, place: str, model: str, guard: FamilyGuard) -> None:
    connection.run(_SAVE, (place, model, int(guard.watching is not None), ascii_json(guard)))


def _last_change(connection: Connection, lesson: Lesson) -> int:
    """The newest set that changed what acts in this family on this model, or the one in force where a person went back
    behind it: runs come with that one now."""
    newest = 0
    for family in (lesson.family, EVERY_FAMILY):
        rows = connection.run(
            "SELECT set_version FROM heuristic_audit WHERE family = ? AND model = ? AND set_version > 0"
            " ORDER BY seq DESC LIMIT 1",
            (family, lesson.model),
        )
        newest = max(newest, int(rows[0][0]) if rows else 0)
    return min(newest, value_of(connection, "active_set"))
