"""Lessons, heuristics and audit entries at known times, written through the store's own functions."""

from collections.abc import Sequence
from pathlib import Path

from hermes_agent.store.database import Connection
from hermes_agent.store.heuristics import (
    AuditEntry,
    Heuristic,
    Kind,
    Stage,
    activate_members,
    add_audit,
    lock_sequence,
    save_heuristic,
)
from hermes_agent.store.lessons import Lesson, Observation, PlanStep, add_lesson
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.trace import AdviceItem, Judge

DAY = 86_400
START = 20_000 * DAY
"""A midnight, UTC."""
FAMILY = "invoices"
MODEL = "scripted:a"


def lesson(
    number: int,
    *,
    at: float,
    success: bool | None = True,
    plan: str = "read_file > write_file",
    family: str = FAMILY,
    model: str = MODEL,
    error: str = "",
    advised: bool = False,
    seconds: float = 2.0,
) -> Lesson:
    """One run. With an error, `parse_csv` failed before the plan worked."""
    failed = (Observation(tool="parse_csv", worked=False, error=error),) if error else ()
    tools = plan.split(" > ") if plan else []
    return Lesson(
        run_id=f"{family}-{model}-{number:06d}",
        session_id="s1",
        family=family,
        model=model,
        at=at,
        success=success,
        judged_by=Judge.VERIFIER,
        observations=failed,
        steps=tuple(PlanStep(tool=tool, after="", worked=True) for tool in tools),
        items=(AdviceItem(id="h1", text="use write_file"),) if advised else (),
        calls=len(tools) + len(failed),
        errors=len(failed),
        seconds=seconds,
    )


def heuristic(name: str, stage: Stage, *, applied_at: float | None = None, family: str = FAMILY) -> Heuristic:
    """Something learned about `parse_csv`."""
    return Heuristic(
        id=name,
        kind=Kind.AVOID_TOOL,
        model=MODEL,
        family=family,
        subject="parse_csv",
        text="`parse_csv` fails on invoices, use `read_file`",
        condition=("path.suffix=.csv",),
        better="read_file",
        stage=stage,
        confidence=0.97,
        evidence={"worked": 1, "failed": 9, "e": 152.25},
        created_at=START,
        updated_at=START + 60,
        applied_at=applied_at,
    )


def entry(name: str, was: str, became: str, at: float, *, cause: str = "it failed", version: int = 0) -> AuditEntry:
    """One change."""
    return AuditEntry(
        seq=0,
        heuristic_id=name,
        kind="avoid_tool",
        model=MODEL,
        family=FAMILY,
        was=was,
        became=became,
        cause=cause,
        run_id="r1",
        evidence={"worked": 1, "failed": 9},
        set_version=version,
        at=at,
    )


def fill(
    store: Store,
    lessons: Sequence[Lesson] = (),
    heuristics: Sequence[Heuristic] = (),
    audit: Sequence[AuditEntry] = (),
) -> None:
    """Write them in one transaction."""

    def unit(connection: Connection) -> None:
        for one in lessons:
            add_lesson(connection, one, lock_sequence(connection, store.database.backend), "local")
        for known in heuristics:
            save_heuristic(connection, known)
        for change in audit:
            add_audit(connection, change)

    store.database.write_now(unit)


def history(runs: int = 60, *, start: float = START) -> list[Lesson]:
    """A family that fails half of the time, learns after thirty runs, and then succeeds by one plan."""
    return [
        lesson(
            n,
            at=start + n * 3600,
            success=n % 2 == 0 if n < runs // 2 else True,
            plan=f"read_file > tool_{n % 3}" if n < runs // 2 else "read_file > write_file",
            error="encoding" if n % 5 == 0 else "",
            advised=n >= runs // 2,
            seconds=4.0 if n < runs // 2 else 2.0,
        )
        for n in range(runs)
    ]


def taught(url: str, home: Path, *, start: float = START) -> None:
    """A home in which something was learned: sixty runs, one trusted heuristic, one rolled back."""
    store = open_store(url, home)
    middle = start + 30 * 3600
    fill(
        store,
        history(start=start),
        [heuristic("h1", Stage.TRUSTED, applied_at=middle + 90), heuristic("h2", Stage.RETIRED)],
        [
            entry("h1", "", "candidate", middle - 10),
            entry("h1", "candidate", "trusted", middle, version=1),
            entry("h2", "candidate", "probation", middle + 3600),
            entry("h2", "probation", "retired", middle + 2 * 3600, cause="rolled back: success fell", version=3),
        ],
    )

    def sets(connection: Connection) -> None:
        activate_members(connection, ["h1"], "it failed", "r1", middle)
        activate_members(connection, ["h1", "h2"], "tasks go better", "r2", middle + 3600)
        activate_members(connection, ["h1"], "rolled back: success fell", "r3", middle + 2 * 3600)

    store.database.write_now(sets)
    store.close()
