"""A run observed: the five figures of row L2."""

import msgspec
import pytest

from hermes_agent.learning.observe import ErrorRecovery, Observed, observe
from hermes_agent.store.learning_views import Best
from hermes_agent.types.tools import Label
from hermes_agent.types.trace import CallStatus, ExecutionSummary, Outcome, RunStatus, ToolRecord, Trace


def call(tool: str, error: str = "", status: CallStatus | None = None, **arguments: str) -> ToolRecord:
    state = status or (CallStatus.ERROR if error else CallStatus.OK)
    return ToolRecord(tool=tool, input=dict(arguments), output="", duration=0.1, status=state, error=error)


def trace(*calls: ToolRecord, status: RunStatus = RunStatus.DONE, seconds: float = 4.0, outage: bool = False) -> Trace:
    return Trace(
        run_id="r1",
        session_id="s1",
        request="Sum up the invoices in june.csv",
        model="m",
        steps=(),
        calls=calls,
        outcome=Outcome(status=status),
        summary=ExecutionSummary(
            total_steps=2 * len(calls) + 1,
            tool_calls_count=len(calls),
            error_count=0,
            total_time=seconds,
            tools_used=tuple(one.tool for one in calls),
            was_successful=status is RunStatus.DONE,
        ),
        outage=outage,
    )


MENDED = trace(
    call("parse_csv", "encoding", path="june.csv", encoding="utf-8"),
    call("parse_csv", path="june.csv", encoding="latin-1"),
    call("query", sql="SELECT 1"),
    call("write_file", path="out.txt"),
)


@pytest.mark.req("L2")
def test_everything_at_once() -> None:
    """Success, three tools, a mended error, and a value of the request in a call: the whole learning value."""
    assert observe(MENDED, Best()) == Observed(
        success=True,
        efficiency_score=1.0,
        error_recovery=ErrorRecovery(errors=1, recovered=1, new_pitfalls=("parse_csv:encoding",)),
        learning_value=1.0,
        key_insights=(
            "new: parse_csv fails with encoding",
            "after parse_csv:encoding, parse_csv worked with changed encoding",
            "first way that worked: parse_csv > query > write_file",
        ),
    )


@pytest.mark.req("L2")
def test_efficiency_is_the_best_over_this_one_and_at_most_one() -> None:
    known = Best(calls=1, seconds=1.0, pitfalls=frozenset({"parse_csv:encoding"}))
    seen = observe(MENDED, known)
    assert seen.efficiency_score == pytest.approx((2 / 5 + 1 / 4) / 2)
    assert seen.error_recovery.new_pitfalls == ()
    assert seen.key_insights == ("after parse_csv:encoding, parse_csv worked with changed encoding",)
    better = observe(trace(call("query"), seconds=0.5), Best(calls=5, seconds=2.0))
    assert better.efficiency_score == 1.0
    assert better.key_insights == ("shortest way that worked: query", "fastest so far: 0.5 s, before 2 s")
    assert observe(trace(seconds=0.0), Best(calls=0, seconds=0.0)).efficiency_score == 1.0


@pytest.mark.req("L2")
def test_a_failed_run() -> None:
    seen = observe(
        trace(call("query", "locked"), call("fetch", "timeout", CallStatus.TIMEOUT), status=RunStatus.FAILED), Best()
    )
    assert seen == Observed(
        success=False,
        efficiency_score=1.0,
        error_recovery=ErrorRecovery(errors=2, recovered=0, new_pitfalls=("query:locked", "fetch:timeout")),
        learning_value=0.0,
        key_insights=(
            "new: query fails with locked",
            "new: fetch fails with timeout",
            "2 failed calls were not made good",
        ),
    )
    assert seen.error_recovery.share == 0.0 and ErrorRecovery().share is None


def test_nobody_can_say() -> None:
    assert observe(trace(status=RunStatus.FAILED, outage=True), Best()).success is None
    assert observe(trace(status=RunStatus.INTERRUPTED), Best()).success is None
    assert observe(trace(status=RunStatus.OPEN), Best()).learning_value == 0.0


def test_refused_and_steered_calls_are_no_errors() -> None:
    seen = observe(trace(call("rm", status=CallStatus.REFUSED), call("slow", status=CallStatus.STEERED)), Best())
    assert seen.error_recovery == ErrorRecovery()


def test_what_can_be_generalised() -> None:
    """A value of the request in a call that worked, or a family that succeeded before; never after strangers' text."""
    assert observe(trace(call("read_file", path="june.csv")), Best()).learning_value == pytest.approx(0.6)
    assert observe(trace(call("read_file", path="other.csv")), Best()).learning_value == pytest.approx(0.4)
    assert observe(trace(call("read_file", path="other.csv")), Best(calls=3)).learning_value == pytest.approx(0.6)
    strange = msgspec.structs.replace(call("read_file", path="june.csv"), labels=(Label.UNTRUSTED,))
    assert observe(trace(strange), Best(calls=3)).learning_value == pytest.approx(0.4)


def test_hostile_names_and_many_errors_stay_short() -> None:
    calls = [call(f"tool{n}", "x\x1b[31m\n" * 100) for n in range(50)]
    seen = observe(trace(*calls), Best())
    assert seen.error_recovery.errors == seen.error_recovery.recovered == 50
    assert len(seen.key_insights) == 5
    assert all(len(text) <= 160 and "\x1b" not in text and "\n" not in text for text in seen.key_insights)
    odd = msgspec.structs.replace(call("nest"), input={"a": [{"b": ["june.csv", 3, None]}]})
    assert observe(trace(odd), Best()).learning_value == pytest.approx(0.6)
