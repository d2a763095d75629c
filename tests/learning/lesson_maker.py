"""Lessons and traces written by hand, and learning without a database."""

from collections.abc import Callable, Iterable, Mapping

from hermes_agent.learning.cells import Cells
from hermes_agent.learning.findings import Finding, Wish
from hermes_agent.learning.fold import fold
from hermes_agent.learning.life import Occasion, Register, Rules
from hermes_agent.store.heuristics import CellKey, Heuristic
from hermes_agent.store.lessons import Lesson, Mending, Observation, PlanStep
from hermes_agent.types.tools import Effect, Label
from hermes_agent.types.trace import (
    AdviceItem,
    CallStatus,
    ExecutionSummary,
    Judge,
    Outcome,
    RunStatus,
    ToolRecord,
    Trace,
)


def seen(tool: str, worked: bool, *features: str, error: str = "", tries: int = 1, once: bool = False) -> Observation:
    """One observation; a failure has an error class."""
    return Observation(
        tool=tool,
        worked=worked,
        features=features,
        error=error or ("" if worked else "parse"),
        tries=tries,
        once=once,
    )


def mended(tool: str, then: str, worked: bool = True, error: str = "parse", change: str = "") -> Mending:
    """After `tool` failed, `then` was done."""
    return Mending(tool=tool, error=error, then=then, worked=worked, change=change)


def lesson(
    number: int,
    *observations: Observation,
    family: str = "ledgers",
    model: str = "m",
    session: str = "",
    mendings: Iterable[Mending] = (),
    steps: Iterable[PlanStep] = (),
    items: Iterable[AdviceItem] = (),
    success: bool | None = True,
    judged_by: Judge = Judge.INFERRED,
    tainted: bool = False,
) -> Lesson:
    """The lesson of run `number`; every run is a session of its own unless told."""
    return Lesson(
        run_id=f"run{number}",
        session_id=session or f"session{number}",
        family=family,
        model=model,
        at=1000.0 + number,
        success=success,
        judged_by=judged_by,
        tainted=tainted,
        observations=observations,
        mendings=tuple(mendings),
        steps=tuple(steps),
        items=tuple(items),
    )


class Memory:
    """Learning on a dictionary: the fold and the life of heuristics, without a store."""

    def __init__(self, approve: tuple[str, ...] = (), frozen: bool = False) -> None:
        self.stored: dict[CellKey, str] = {}
        self.known: dict[str, Heuristic] = {}
        self.findings: list[Finding] = []
        self._rules = Rules(approve=approve, frozen=frozen)

    def learn(self, taught: Lesson) -> list[Finding]:
        """Fold one lesson and apply what it asks for."""
        cells = Cells(self._load)
        findings = fold(taught, cells)
        register = Register(self.known.values(), self._rules, Occasion(run_id=taught.run_id, at=taught.at), 0)
        register.apply(findings, cells)
        if taught.success is not None and taught.judged_by is not Judge.INFERRED:
            register.judge(taught.items, cells, success=taught.success)
        self.known = register.known
        self.stored.update(cells.changed())
        self.findings += findings
        return findings

    def _load(self, keys: Iterable[CellKey]) -> Mapping[CellKey, str]:
        return {key: self.stored[key] for key in keys if key in self.stored}

    def acting(self) -> list[Heuristic]:
        """The heuristics that act."""
        return [heuristic for heuristic in self.known.values() if heuristic.stage.acts]

    def until_acting(self, make: Callable[[int], Lesson], most: int = 200) -> int:
        """How many lessons it takes until something acts."""
        for number in range(1, most + 1):
            if any(finding.wish is Wish.ACT for finding in self.learn(make(number))):
                return number
        raise AssertionError(f"nothing acts after {most} lessons")


def record(
    tool: str,
    status: CallStatus = CallStatus.OK,
    *,
    error: str = "",
    attempts: int = 1,
    digest: str = "",
    output: str = "",
    labels: tuple[Label, ...] = (),
    effect: Effect = Effect.NONE,
    **arguments: object,
) -> ToolRecord:
    """A finished call."""
    return ToolRecord(
        tool=tool,
        input=arguments,
        output=output,
        duration=0.01,
        status=status,
        error=error,
        attempts=attempts,
        digest=digest or f"{tool}:{sorted(arguments.items())}",
        labels=labels,
        effect=effect,
    )


def failed(tool: str, error: str = "parse", **arguments: object) -> ToolRecord:
    """A call that failed."""
    return record(tool, CallStatus.ERROR, error=error, output=f"{error} error", **arguments)  # type: ignore[arg-type]


def trace(
    number: int,
    *calls: ToolRecord,
    request: str = "Summarise the ledger.",
    status: RunStatus = RunStatus.DONE,
    judged_by: Judge = Judge.INFERRED,
    family: str = "ledgers",
    session: str = "",
    advice: tuple[AdviceItem, ...] = (),
    outage: bool = False,
) -> Trace:
    """A finished run."""
    errors = sum(call.status is not CallStatus.OK for call in calls)
    return Trace(
        run_id=f"run{number}",
        session_id=session or f"session{number}",
        request=request,
        model="m",
        steps=(),
        calls=calls,
        outcome=Outcome(status=status, judged_by=judged_by),
        summary=ExecutionSummary(
            total_steps=len(calls),
            tool_calls_count=len(calls),
            error_count=errors,
            total_time=1.0,
            tools_used=tuple(call.tool for call in calls),
            was_successful=status is RunStatus.DONE,
        ),
        family=family,
        started_at=1000.0 + number,
        advice=advice,
        outage=outage,
    )
