"""From a trace to a lesson: what counts, what counts once, and what says nothing about a tool."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.learning.lessons import lesson_of, strangers_texts, success_of
from hermes_agent.store.lessons import Lesson, Mending, Observation, PlanStep, ascii_json
from hermes_agent.types.tools import Effect, Label
from hermes_agent.types.trace import AdviceItem, CallStatus, Judge, RunStatus, ToolRecord
from tests.learning.lesson_maker import failed, record, trace


def taught(*calls: ToolRecord, status: RunStatus = RunStatus.DONE) -> Lesson:
    return lesson_of(trace(1, *calls, status=status), "ledgers", tainted=False)


def summed(*calls: ToolRecord) -> list[tuple[str, bool, str, int]]:
    """Each observation: tool, whether it worked, the error class, the tries."""
    return [(seen.tool, seen.worked, seen.error, seen.tries) for seen in taught(*calls).observations]


@pytest.mark.req("H14")
def test_a_whole_lesson() -> None:
    item = AdviceItem(id="h", text="t", applied=False, propensity=0.1)
    run = trace(
        4,
        record("find", name="ledger"),
        failed("parse", path="ledger.ods"),
        record("convert", path="ledger.ods", effect=Effect.ONCE),
        record("plan", steps="read it"),
        advice=(item,),
        judged_by=Judge.VERIFIER,
    )
    assert lesson_of(run, "ledgers", tainted=False) == Lesson(
        run_id="run4",
        session_id="session4",
        family="ledgers",
        model="m",
        at=1005.0,
        success=True,
        judged_by=Judge.VERIFIER,
        observations=(
            Observation(tool="find", worked=True, features=("keys=name", "name=ledger")),
            Observation(
                tool="parse", worked=False, error="parse", features=("keys=path", "path.suffix=.ods", "after=find:ok")
            ),
            Observation(
                tool="convert", worked=True, once=True, features=("keys=path", "path.suffix=.ods", "after=parse:parse")
            ),
            Observation(tool="plan", worked=True, features=("keys=steps", "steps.head=read", "after=convert:ok")),
        ),
        mendings=(
            Mending(
                tool="parse", error="parse", then="convert", worked=True, features=("keys=path", "path.suffix=.ods")
            ),
        ),
        steps=(
            PlanStep(tool="find", after="", worked=True, arguments={"name": "ledger"}),
            PlanStep(tool="parse", after="find", worked=False, arguments={"path": "ledger.ods"}),
            PlanStep(tool="convert", after="find", worked=True, arguments={"path": "ledger.ods"}),
        ),
        items=(item,),
        calls=4,
        errors=1,
        seconds=1.0,
    )


@pytest.mark.req("H14")
def test_retries_of_one_call_count_once() -> None:
    again = failed("get", "quota", url="http://a/1")
    assert summed(*[again] * 5) == [("get", False, "quota", 5)]
    patient = msgspec.structs.replace(again, attempts=4)
    assert summed(patient, again) == [("get", False, "quota", 5)]
    assert summed(again, failed("get", "quota", url="http://a/2")) == [
        ("get", False, "quota", 1),
        ("get", False, "quota", 1),
    ]


@pytest.mark.req("H14")
def test_a_call_that_failed_and_then_worked_counts_as_worked_and_the_other_way_round() -> None:
    bad, good = failed("get", "busy", url="u"), record("get", url="u")
    assert summed(bad, bad, good) == [("get", True, "busy", 3)]
    assert summed(good, bad) == [("get", False, "busy", 2)]
    assert summed(msgspec.structs.replace(good, attempts=3)) == [("get", True, "", 3)]


@pytest.mark.req("H14")
@pytest.mark.parametrize(
    "status", [CallStatus.STEERED, CallStatus.REFUSED, CallStatus.INTERRUPTED, CallStatus.IN_DOUBT]
)
def test_a_call_that_did_not_come_to_its_own_end_teaches_nothing(status: CallStatus) -> None:
    lesson = taught(record("send", status, error="not_permitted", to="a"), record("post", to="a"))
    assert [seen.tool for seen in lesson.observations] == ["post"]
    assert lesson.observations[0].features == ("keys=to", "to=a")
    assert (lesson.mendings, [step.tool for step in lesson.steps]) == ((), ["post"])


@pytest.mark.req("H14")
@pytest.mark.parametrize(
    ("error", "output"),
    [
        ("bad_arguments", "number must be an integer"),
        ("credentials", "set the key"),
        ("missing_program", "install it"),
        ("exit", "sh: 1: jq: not found\njq: command not found"),
        ("error", "401 Unauthorized"),
        ("not_permitted", "ask first"),
        ("undeclared", "it reached for the network"),
    ],
)
def test_slips_of_the_model_and_what_a_user_can_install_or_allow_teach_nothing(error: str, output: str) -> None:
    call = record("tool", CallStatus.ERROR, error=error, output=output, path="x.csv")
    lesson = taught(call, record("other", path="x.csv"))
    assert [seen.tool for seen in lesson.observations] == ["other"]
    assert (lesson.mendings, [step.tool for step in lesson.steps], lesson.errors) == ((), ["other"], 1)


@pytest.mark.parametrize("error", ["unknown_tool", "unavailable"])
def test_a_call_that_never_ran_teaches_nothing_but_a_failure_by_that_name_does(error: str) -> None:
    ran = record("tool", CallStatus.ERROR, error=error, path="x")
    assert summed(msgspec.structs.replace(ran, digest="")) == []
    assert summed(ran) == [("tool", False, error, 1)]


def test_a_time_out_is_a_failure_with_its_own_class() -> None:
    assert summed(record("tool", CallStatus.TIMEOUT)) == [("tool", False, "timeout", 1)]


@pytest.mark.parametrize(
    ("status", "judge", "outage", "found"),
    [
        (RunStatus.DONE, Judge.INFERRED, False, (True, Judge.INFERRED)),
        (RunStatus.FAILED, Judge.INFERRED, False, (False, Judge.INFERRED)),
        (RunStatus.FAILED, Judge.INFERRED, True, (None, Judge.INFERRED)),
        (RunStatus.INTERRUPTED, Judge.INFERRED, False, (None, Judge.INFERRED)),
        (RunStatus.OPEN, Judge.INFERRED, False, (None, Judge.INFERRED)),
        (RunStatus.DONE, Judge.USER, False, (True, Judge.USER)),
        (RunStatus.FAILED, Judge.VERIFIER, True, (False, Judge.VERIFIER)),
    ],
)
def test_who_says_whether_a_run_succeeded(
    status: RunStatus, judge: Judge, outage: bool, found: tuple[bool | None, Judge]
) -> None:
    assert success_of(trace(1, status=status, judged_by=judge, outage=outage)) == found


@pytest.mark.req("H7")
def test_a_failed_and_an_interrupted_run_teach_what_happened_before_the_end() -> None:
    calls = [failed("parse", path="a.csv"), record("wait", CallStatus.INTERRUPTED)]
    for status, success in ((RunStatus.FAILED, False), (RunStatus.INTERRUPTED, None)):
        lesson = taught(*calls, status=status)
        assert ([seen.tool for seen in lesson.observations], lesson.success) == (["parse"], success)
        assert (lesson.calls, lesson.errors) == (2, 1)


@pytest.mark.parametrize(
    ("first", "then", "mends"),
    [
        ({"path": "a.csv"}, {"file": "a.csv"}, True),
        ({"path": "a.csv"}, {"command": "iconv in/a.csv"}, True),
        ({"path": "a.csv"}, {"path": "b.csv"}, False),
        ({"id": 7}, {"number": 7}, True),
        ({"id": 7}, {"number": 77}, False),
        ({"paths": ["x.csv", "a.csv"]}, {"path": "a.csv"}, True),
        ({"flag": True}, {"other": True}, False),
        ({}, {}, True),
        ({}, {"path": "a.csv"}, False),
        ({"path": ""}, {"path": ""}, False),
    ],
)
def test_a_mending_needs_a_shared_value(first: dict[str, Any], then: dict[str, Any], mends: bool) -> None:
    lesson = taught(failed("one", **first), record("two", **then))
    assert [(item.tool, item.then, item.worked) for item in lesson.mendings] == (
        [("one", "two", True)] if mends else []
    )


def test_what_was_tried_until_something_worked_is_told_and_what_came_later_is_not() -> None:
    job: dict[str, Any] = {"path": "a.csv"}
    lesson = taught(failed("one", **job), failed("two", **job), record("three", **job), record("four", **job))
    assert [(item.tool, item.then, item.worked) for item in lesson.mendings] == [
        ("one", "two", False),
        ("one", "three", True),
        ("two", "three", True),
    ]


@pytest.mark.parametrize(
    ("mended", "change"),
    [
        ({"path": "a.csv", "encoding": "latin-1"}, "encoding=latin-1"),
        ({"path": "a.csv", "encoding": "x" * 31}, "another encoding"),
        ({"path": "a.csv", "encoding": "a\nb"}, "another encoding"),
        ({"path": "a.csv", "encoding": "a\x00b"}, "encoding=a b"),
        ({"path": "a.csv"}, "without encoding"),
        ({"path": "a.csv", "encoding": "latin-1", "strict": False}, "other arguments"),
    ],
)
def test_a_repair_by_the_same_tool_says_what_was_different(mended: dict[str, Any], change: str) -> None:
    lesson = taught(
        failed("read", "encoding", path="a.csv", encoding="utf-8"),
        record("read", **mended),
    )
    assert [(item.then, item.change) for item in lesson.mendings] == [("read", change)]


def test_the_same_call_made_again_is_a_retry_and_no_mending() -> None:
    assert taught(failed("get", url="u"), record("get", url="u")).mendings == ()


@pytest.mark.req("H7")
def test_the_same_call_after_something_was_changed_is_no_retry() -> None:
    """The tests again after an edit: the failure before it said something about the code, not about trying again."""
    test, edit = failed("check", "backend", path="a"), record("write", effect=Effect.IDEMPOTENT, path="a")
    tried = {one.tool: (one.tries, one.repeats) for one in taught(test, test).observations}
    assert tried == {"check": (2, 1)}
    tried = {one.tool: (one.tries, one.repeats) for one in taught(test, edit, test).observations}
    assert tried == {"check": (1, 0), "write": (1, 0)}
    assert summed(test, edit, record("check", path="a")) == [("check", True, "", 1), ("write", True, "", 1)]


def test_steps_know_what_worked_before_them_and_a_repeated_attempt_is_one_step() -> None:
    flaky = failed("b", path="x")
    lesson = taught(
        record("todo", text="x"),
        record("a", path="x"),
        flaky,
        flaky,
        record("b", path="x"),
        msgspec.structs.replace(record("inner", path="x"), parent="call9"),
        record("c", text="long " * 40),
        failed("d"),
    )
    assert lesson.steps == (
        PlanStep(tool="a", after="", worked=True, arguments={"path": "x"}),
        PlanStep(tool="b", after="a", worked=True, arguments={"path": "x"}),
        PlanStep(tool="c", after="b", worked=True, arguments={"text": "…"}),
        PlanStep(tool="d", after="c", worked=False),
    )
    assert lesson.plan == "a > b > c"


@pytest.mark.req("H14")
def test_a_tainted_run_teaches_only_that_it_happened() -> None:
    run = trace(1, failed("bad", path="x"), record("good", path="x"))
    lesson = lesson_of(run, "ledgers", tainted=True)
    assert (lesson.observations, lesson.mendings, lesson.steps) == ((), (), ())
    assert (lesson.tainted, lesson.calls, lesson.errors) == (True, 2, 1)


def test_only_what_strangers_wrote_is_searched_for_instructions() -> None:
    run = trace(
        1,
        record("fetch", output="a page", labels=(Label.UNTRUSTED,)),
        record("read", output="my diary", labels=(Label.PRIVATE,)),
        record("mail", output="a letter", labels=(Label.PRIVATE, Label.UNTRUSTED)),
    )
    assert strangers_texts(run) == ["a page", "a letter"]


def test_a_trace_of_ten_thousand_calls_makes_a_bounded_lesson() -> None:
    wide: dict[str, Any] = {f"key{n}": "y" * 1_000 for n in range(30)}
    shapes = [
        record("tool", CallStatus.ERROR, error="parse", digest=f"{number}", path=f"file{number}.csv", note="x" * 1_000)
        if number % 2
        else record(f"tool{number % 50}", digest=f"{number}", **wide, path=f"file{number + 1}.csv")
        for number in range(10_000)
    ]
    lesson = taught(*shapes)
    assert (lesson.calls, lesson.errors) == (10_000, 5_000)
    assert len(lesson.observations) <= 200 and len(lesson.mendings) <= 30 and len(lesson.steps) <= 200
    assert len(ascii_json(lesson)) < 250_000


WILD = st.text(st.characters(exclude_categories=()), max_size=80)
CALLS = st.lists(
    st.builds(
        lambda tool, status, error, output, arguments: ToolRecord(
            tool=tool, input=arguments, output=output, duration=0.0, status=status, error=error, digest=tool
        ),
        st.sampled_from(["a", "b", "c"]),
        st.sampled_from(list(CallStatus)),
        WILD,
        WILD,
        st.dictionaries(WILD, WILD | st.lists(WILD, max_size=2) | st.floats() | st.none(), max_size=4),
    ),
    max_size=6,
)


@settings(max_examples=30, deadline=None)
@given(CALLS)
def test_a_lesson_of_anything_round_trips_as_json(calls: list[ToolRecord]) -> None:
    lesson = taught(*calls)
    assert lesson == taught(*calls)
    assert msgspec.json.decode(ascii_json(lesson), type=Lesson) == lesson
