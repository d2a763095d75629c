"""What evidence comes to say: for this family, under this condition, from enough traces and sessions, and no longer."""

from itertools import permutations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.learning.cells import IndexCell, ToolCell, WideCell
from hermes_agent.learning.fold import weight_of
from hermes_agent.store.heuristics import Kind, Stage
from hermes_agent.store.lessons import Lesson, PlanStep
from hermes_agent.types.trace import AdviceItem, Judge
from tests.learning.lesson_maker import Memory, lesson, mended, seen


def failing(number: int, session: str = "") -> Lesson:
    return lesson(number, seen("bad", False), seen("good", True), mendings=[mended("bad", "good")], session=session)


def counts(memory: Memory, tool: str, family: str = "ledgers", condition: str = "") -> tuple[int, int]:
    """How often a tool worked and failed, as stored."""
    cell = msgspec.json.decode(memory.stored[("m", family, f"tool:{tool}", condition)], type=ToolCell)
    return cell.evidence.worked, cell.evidence.failed


@pytest.mark.req("H2", "H8")
def test_a_tool_that_keeps_failing_goes_behind_the_one_that_did_its_job_and_only_in_its_family() -> None:
    memory = Memory()
    for number in range(7):
        memory.learn(failing(number))
        memory.learn(lesson(100 + number, seen("bad", True), family="reports"))
    found = {(item.kind, item.family, item.subject, item.better, item.stage) for item in memory.acting()}
    assert found == {
        (Kind.PREFER_TOOL, "ledgers", "bad", "good", Stage.PROBATION),
        (Kind.AVOID_TOOL, "ledgers", "bad", "good", Stage.TRUSTED),
        (Kind.REPAIR, "ledgers", "bad:parse", "good", Stage.TRUSTED),
    }
    assert all(item.confidence >= 0.95 for item in memory.acting())


@pytest.mark.req("H14")
def test_one_bad_trace_and_one_bad_session_never_teach() -> None:
    memory = Memory()
    memory.learn(lesson(1, *(seen("bad", False, f"n={n}") for n in range(50)), mendings=[mended("bad", "good")] * 50))
    assert memory.acting() == []
    memory = Memory()
    for number in range(40):
        memory.learn(failing(number, session="only one"))
    assert memory.acting() == []
    memory.learn(failing(41, session="another"))
    assert {item.subject for item in memory.acting()} == {"bad", "bad:parse"}


@pytest.mark.req("H14")
def test_a_run_with_a_strangers_instructions_teaches_nothing() -> None:
    memory = Memory()
    for number in range(50):
        taught = lesson(number, seen("bad", False), mendings=[mended("bad", "good")], tainted=True)
        assert memory.learn(taught) == []
    assert memory.stored == {}


def test_without_a_better_tool_the_finding_is_a_hint() -> None:
    memory = Memory()
    for number in range(8):
        memory.learn(lesson(number, seen("bad", False)))
    assert [(item.kind, item.subject, item.better) for item in memory.acting()] == [(Kind.HINT, "bad", "")]
    memory.learn(failing(9))
    memory.learn(failing(10))
    stages = {(item.kind, item.stage) for item in memory.known.values() if item.subject == "bad"}
    assert (Kind.AVOID_TOOL, Stage.TRUSTED) in stages and (Kind.HINT, Stage.RETIRED) in stages


@pytest.mark.req("H2")
def test_a_condition_speaks_where_the_family_as_a_whole_does_not() -> None:
    memory = Memory()
    for number in range(16):
        memory.learn(
            lesson(
                number,
                seen("parser", True, "keys=path", "path.suffix=.csv"),
                seen("parser", False, "keys=path", "path.suffix=.ods"),
                mendings=[mended("parser", "other")],
            )
        )
        memory.learn(lesson(100 + number, seen("other", True, "keys=path")))
    avoided = [item for item in memory.acting() if item.kind is Kind.AVOID_TOOL]
    assert [(item.subject, item.condition, item.better) for item in avoided] == [
        ("parser", ("path.suffix=.ods",), "other")
    ]


def test_pairs_are_looked_at_only_where_single_features_leave_failures_unexplained() -> None:
    memory = Memory()
    shapes = [("a=1", "b=1"), ("a=1", "b=2"), ("a=2", "b=1"), ("a=2", "b=2")]
    for number in range(60):
        for place, features in enumerate(shapes):
            worked = features != ("a=1", "b=2")
            memory.learn(
                lesson(number * 10 + place, seen("tool", worked, *features), mendings=[mended("tool", "other")])
            )
        memory.learn(lesson(number * 10 + 9, seen("other", True)))
    avoided = [item.condition for item in memory.acting() if item.kind is Kind.AVOID_TOOL]
    assert avoided == [("a=1", "b=2")]


def test_weights_of_all_conditions_of_a_tool_sum_to_at_most_one() -> None:
    index = IndexCell()
    for number in range(100):
        index = index.with_condition(f"f={number}").with_condition(f"f={number} & g=1", pair=True)
    conditions = ["", *index.conditions, *index.pairs]
    assert len(conditions) == 81
    assert sum(weight_of(condition, index) for condition in conditions) <= 1


def test_a_repaired_tool_is_given_back_and_costs_twice_the_evidence_next_time() -> None:
    memory = Memory()
    for number in range(7):
        memory.learn(failing(number))
    for number in range(4):
        assert memory.acting()
        memory.learn(lesson(50 + number, seen("bad", True)))
    assert [item for item in memory.acting() if item.subject == "bad"] == []
    causes = {item.kind: item.stage for item in memory.known.values() if item.subject == "bad"}
    assert causes == {Kind.PREFER_TOOL: Stage.RETIRED, Kind.AVOID_TOOL: Stage.RETIRED}
    needed = 0
    while not any(item.kind is Kind.AVOID_TOOL for item in memory.acting()):
        needed += 1
        memory.learn(lesson(100 + needed, seen("bad", False)))
    assert needed == 9


def test_a_tool_that_breaks_after_a_hundred_good_calls_is_found() -> None:
    memory = Memory()
    for number in range(100):
        memory.learn(lesson(number, seen("tool", True)))
        memory.learn(lesson(1000 + number, seen("other", True)))
    needed = memory.until_acting(
        lambda number: lesson(200 + number, seen("tool", False), mendings=[mended("tool", "other")])
    )
    assert needed <= 30


def test_futile_retries_are_known_for_the_family_and_for_all_of_them() -> None:
    memory = Memory()
    for number in range(10):
        memory.learn(lesson(number, seen("flaky", False, error="quota", tries=3), family=f"family{number % 5}"))
    found = [(item.kind, item.family, item.subject) for item in memory.acting() if item.kind is Kind.FUTILE_RETRY]
    assert found == [(Kind.FUTILE_RETRY, "*", "flaky:quota")]


def test_a_retry_that_helps_is_not_called_futile() -> None:
    memory = Memory()
    for number in range(60):
        memory.learn(lesson(number, seen("flaky", number % 3 != 0, error="busy", tries=2)))
    assert [item for item in memory.acting() if item.kind is Kind.FUTILE_RETRY] == []


def test_a_repair_names_the_argument_that_helped() -> None:
    memory = Memory()
    for number in range(8):
        memory.learn(lesson(number, mendings=[mended("read", "read", error="encoding", change="encoding=latin-1")]))
    [repair] = memory.acting()
    assert (repair.kind, repair.subject, repair.better, repair.detail) == (
        Kind.REPAIR,
        "read:encoding",
        "read",
        {"change": "encoding=latin-1"},
    )


@pytest.mark.req("B8")
def test_a_new_family_starts_from_what_all_families_teach_about_a_tool() -> None:
    memory = Memory()
    for family in ("one", "two", "three"):
        for number in range(3):
            memory.learn(
                lesson(
                    number,
                    seen("bad", False),
                    seen("good", True),
                    family=family,
                    session=f"{family}{number}",
                    mendings=[mended("bad", "good")],
                )
            )
    wide = [item for item in memory.acting() if item.family == "*"]
    assert [(item.kind, item.subject, item.better) for item in wide] == [(Kind.PREFER_TOOL, "bad", "good")]
    for number in range(3):
        memory.learn(lesson(900 + number, seen("bad", True), family="four"))
    assert [item for item in memory.acting() if item.family == "*"] == []


@pytest.mark.req("H16")
def test_another_model_starts_clean() -> None:
    memory = Memory()
    for number in range(8):
        memory.learn(failing(number))
    assert {item.model for item in memory.acting()} == {"m"}
    memory.learn(lesson(50, seen("bad", False), model="m2", mendings=[mended("bad", "good")]))
    assert {item.model for item in memory.acting()} == {"m"}


def planned(number: int, worked: bool, after: str = "b") -> Lesson:
    """A run of the plan a, b, c, d in which `c` stands after another step."""
    steps = [
        PlanStep(tool="a", after="", worked=True),
        PlanStep(tool="b", after="a", worked=True),
        PlanStep(tool="c", after=after, worked=worked),
        PlanStep(tool="d", after="b", worked=True),
    ]
    return lesson(number, seen("c", worked, f"after={after}:ok"), steps=steps, success=worked)


@pytest.mark.req("H4")
def test_a_step_that_always_fails_after_another_is_done_before_it_and_comes_back_when_it_works() -> None:
    memory = Memory(approve=("skip_step",))
    for number in range(7):
        memory.learn(planned(number, worked=False))
    moved = [item for item in memory.acting() if item.kind is Kind.MOVE_STEP]
    assert [(item.subject, item.condition, item.better, item.detail) for item in moved] == [
        ("c", ("after=b",), "", {"before": "b"})
    ]
    for number in range(4):
        memory.learn(planned(200 + number, worked=True))
    assert [item for item in memory.acting() if item.kind is Kind.MOVE_STEP] == []


@pytest.mark.req("H4")
def test_a_step_goes_where_it_is_known_to_work() -> None:
    memory = Memory(approve=("skip_step",))
    for number in range(3):
        memory.learn(planned(number, worked=True, after="a"))
    for number in range(9):
        memory.learn(planned(100 + number, worked=False))
    moved = [item for item in memory.acting() if item.kind is Kind.MOVE_STEP]
    assert [(item.subject, item.condition, item.better, item.detail) for item in moved] == [
        ("c", ("after=b",), "a", {})
    ]


@pytest.mark.req("H4", "H10")
def test_a_step_that_fails_sooner_too_is_skipped_once_a_person_agrees() -> None:
    memory = Memory(approve=("skip_step",))
    for number in range(3):
        memory.learn(planned(number, worked=False, after="a"))
    for number in range(9):
        memory.learn(planned(100 + number, worked=False))
    waiting = [item for item in memory.known.values() if item.stage is Stage.AWAITING_APPROVAL]
    assert [(item.kind, item.subject, item.condition) for item in waiting] == [(Kind.SKIP_STEP, "c", ("after=b",))]


@pytest.mark.req("H4", "H10")
def test_a_step_that_was_moved_and_fails_there_too_is_soon_proposed_to_be_left_out() -> None:
    memory = Memory(approve=("skip_step",))
    for number in range(7):
        memory.learn(planned(number, worked=False))
    assert [item.detail for item in memory.acting() if item.kind is Kind.MOVE_STEP] == [{"before": "b"}]
    for number in range(2):
        memory.learn(planned(100 + number, worked=False, after="a"))
    assert [item for item in memory.known.values() if item.kind is Kind.SKIP_STEP] == []
    memory.learn(planned(110, worked=False, after="a"))
    left_out = [item for item in memory.known.values() if item.kind is Kind.SKIP_STEP]
    assert [(item.subject, item.condition, item.stage) for item in left_out] == [
        ("c", ("after=a",), Stage.AWAITING_APPROVAL)
    ]


@pytest.mark.req("B8")
def test_what_did_the_job_of_an_alternative_is_an_alternative_too() -> None:
    """A run may end before it gets as far as the tool that works."""
    memory = Memory()
    for number in range(5):
        memory.learn(lesson(number, seen("bad", False), seen("worse", False), mendings=[mended("bad", "worse", False)]))
        memory.learn(lesson(50 + number, seen("worse", False), seen("good", True), mendings=[mended("worse", "good")]))
    found = {(item.kind, item.subject, item.better) for item in memory.acting() if item.kind is Kind.PREFER_TOOL}
    assert found == {(Kind.PREFER_TOOL, "bad", "good"), (Kind.PREFER_TOOL, "worse", "good")}


def test_a_workflow_keeps_what_is_the_same_and_makes_slots_of_the_rest() -> None:
    memory = Memory()
    for number in range(3):
        steps = [
            PlanStep(tool="load", after="", worked=True, arguments={"path": f"{number}.csv", "encoding": "utf-8"}),
            PlanStep(tool="sum", after="load", worked=True, arguments={"column": "amount"}),
        ]
        memory.learn(lesson(number, steps=steps))
    [workflow] = memory.acting()
    assert (workflow.kind, workflow.stage) == (Kind.WORKFLOW, Stage.PROBATION)
    assert workflow.detail == {"steps": ["load encoding=utf-8 path={path}", "sum column=amount"]}


@pytest.mark.req("H10")
def test_what_touches_an_effect_that_happens_once_waits_for_a_person() -> None:
    memory = Memory(approve=("once",))
    for number in range(8):
        memory.learn(
            lesson(number, seen("send", False, once=True), seen("post", True), mendings=[mended("send", "post")])
        )
    stages = {item.kind: item.stage for item in memory.known.values() if item.subject == "send"}
    assert stages == {Kind.PREFER_TOOL: Stage.AWAITING_APPROVAL, Kind.AVOID_TOOL: Stage.AWAITING_APPROVAL}


def test_an_outcome_that_is_only_inferred_promotes_nothing() -> None:
    def workflow_and_coin(judge: Judge) -> Stage:
        memory = Memory()
        steps = [PlanStep(tool="a", after="", worked=True), PlanStep(tool="b", after="a", worked=True)]
        for number in range(3):
            memory.learn(lesson(number, steps=steps))
        [workflow] = memory.acting()
        for number in range(400):
            on = number % 2 == 0
            item = AdviceItem(id=workflow.id, text="", applied=on, propensity=0.5)
            memory.learn(lesson(10 + number, items=[item], success=on, judged_by=judge))
        return memory.known[workflow.id].stage

    assert workflow_and_coin(Judge.INFERRED) is Stage.PROBATION
    assert workflow_and_coin(Judge.VERIFIER) is Stage.TRUSTED


def test_what_harms_is_retired_by_its_own_coin() -> None:
    memory = Memory()
    steps = [PlanStep(tool="a", after="", worked=True), PlanStep(tool="b", after="a", worked=True)]
    for number in range(3):
        memory.learn(lesson(number, steps=steps))
    [workflow] = memory.acting()
    for number in range(400):
        on = number % 2 == 0
        item = AdviceItem(id=workflow.id, text="", applied=on, propensity=0.5)
        memory.learn(lesson(10 + number, items=[item], success=not on, judged_by=Judge.USER))
    assert memory.known[workflow.id].stage is Stage.RETIRED


def test_a_frozen_set_stays_while_evidence_is_counted() -> None:
    memory = Memory(frozen=True)
    for number in range(20):
        memory.learn(failing(number))
    assert memory.acting() == []
    assert {item.stage for item in memory.known.values()} == {Stage.CANDIDATE}
    assert counts(memory, "bad") == (0, 20)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), min_size=1, max_size=6))
@settings(max_examples=30)
def test_counts_do_not_depend_on_the_order_of_lessons(calls: list[tuple[str, bool]]) -> None:
    """Replicas take their places in the sequence in any order."""
    totals = set()
    for order in list(permutations(range(len(calls))))[:24]:
        memory = Memory()
        for number in order:
            tool, worked = calls[number]
            memory.learn(lesson(number, seen(tool, worked)))
        totals.add(tuple(sorted((tool, counts(memory, tool)) for tool in {tool for tool, _ in calls})))
    assert len(totals) == 1


def test_a_cell_stays_small_whatever_is_called() -> None:
    memory = Memory()
    for number in range(300):
        features = tuple(f"x{n}={number}" for n in range(10))
        memory.learn(lesson(number, seen("tool", number % 2 == 0, *features), family=f"family{number}"))
        memory.learn(lesson(1000 + number, seen("tool", number % 2 == 0, *features)))
    kept = msgspec.json.decode(memory.stored[("m", "*", "tool:tool", "")], type=WideCell)
    assert len(kept.families) == 64
    index = msgspec.json.decode(memory.stored[("m", "ledgers", "index:tool", "")], type=IndexCell)
    assert (len(index.conditions), len(index.pairs)) == (40, 0)
