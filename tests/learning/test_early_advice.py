"""What is said before a finding is sure, how soon a change is noticed, and when something is looked at more often."""

import msgspec
import pytest

from hermes_agent.learning.cells import Cells, IndexCell, ToolCell, index_key, tool_key
from hermes_agent.learning.evidence import Rate
from hermes_agent.learning.ranking import best_instead
from hermes_agent.store.heuristics import Kind, Stage
from hermes_agent.store.lessons import Lesson, Observation
from tests.learning.lesson_maker import Memory, lesson, mended, seen
from tests.learning.tables import failing


def said(memory: Memory, subject: str = "bad") -> dict[Kind, Stage]:
    """What is known about a subject, and how far it has come."""
    return {item.kind: item.stage for item in memory.known.values() if item.subject == subject}


@pytest.mark.req("H2", "H14")
def test_three_failures_in_a_row_from_two_sessions_are_told_where_nothing_better_is_known() -> None:
    memory = Memory()
    for number in range(2):
        memory.learn(lesson(number, seen("bad", False)))
    assert said(memory) == {}
    memory.learn(lesson(2, seen("bad", False)))
    (hint,) = memory.acting()
    assert (hint.kind, hint.stage, hint.better, hint.text) == (
        Kind.HINT,
        Stage.PROBATION,
        "",
        "`bad` failed 3 of 3 times in tasks like this",
    )
    assert 0.95 <= hint.confidence < 0.99
    assert hint.evidence["chance_worse"] == pytest.approx(hint.confidence, abs=1e-4)


@pytest.mark.req("H10")
def test_what_was_only_likely_is_trusted_once_the_sequential_test_has_spoken() -> None:
    memory = Memory()
    stages = []
    for number in range(7):
        memory.learn(lesson(number, seen("bad", False)))
        stages.append(said(memory).get(Kind.HINT))
    assert stages == [None, None, *([Stage.PROBATION] * 4), Stage.TRUSTED]
    (hint,) = memory.acting()
    assert (hint.text, hint.evidence["failed"]) == ("`bad` failed 7 of 7 times in tasks like this", 7)


@pytest.mark.parametrize("worked", [1, 2])
def test_a_tool_that_may_work_half_the_time_is_not_warned_of(worked: int) -> None:
    memory = Memory()
    for number in range(worked):
        memory.learn(lesson(100 + number, seen("bad", True)))
    for number in range(3):
        memory.learn(lesson(number, seen("bad", False)))
    assert said(memory) == {}


@pytest.mark.req("H14")
def test_one_session_alone_warns_of_nothing() -> None:
    memory = Memory()
    for number in range(9):
        memory.learn(lesson(number, seen("bad", False), session="only one"))
    assert memory.acting() == []


@pytest.mark.req("H2")
def test_a_ranking_acts_when_it_is_nearly_certain_and_is_a_candidate_before() -> None:
    memory = Memory()
    for number in range(3):
        memory.learn(lesson(100 + number, seen("bad", True)))
    for number in range(3):
        memory.learn(failing(number))
    (ranked,) = memory.known.values()
    assert (ranked.kind, ranked.stage, ranked.better) == (Kind.PREFER_TOOL, Stage.CANDIDATE, "good")
    assert 0.7 <= ranked.confidence < 0.99
    memory.learn(failing(3))
    (ranked,) = memory.known.values()
    assert (ranked.kind, ranked.stage) == (Kind.PREFER_TOOL, Stage.PROBATION)
    assert ranked.confidence >= 0.99


def observed(*results: tuple[bool, str]) -> ToolCell:
    cell = ToolCell()
    for worked, session in results:
        cell = cell.observed(worked=worked, session=session, confirms=not worked)
    return cell


@pytest.mark.req("H8")
def test_four_failures_in_a_row_from_two_sessions_count_as_a_change() -> None:
    good = [(True, f"s{number}") for number in range(50)]
    three = observed(*good, *((False, f"t{number}") for number in range(3)))
    assert three.recent == three.rate and three.rate.good > 20
    four = observed(*good, *((False, f"t{number}") for number in range(4)))
    assert four.recent == Rate(good=0.0, all=4.0)
    one_session = observed(*good, *((False, "t") for _ in range(9)))
    assert one_session.recent == one_session.rate
    again = observed(*good, *((False, f"t{number}") for number in range(9)), (True, "u"))
    assert again.recent == again.rate


@pytest.mark.req("H8")
def test_a_tool_that_breaks_goes_behind_after_four_failures_however_well_it_did() -> None:
    memory = Memory()
    for number in range(100):
        memory.learn(lesson(number, seen("bad", True)))
    for number in range(3):
        memory.learn(failing(200 + number))
        assert memory.acting() == []
    memory.learn(failing(210))
    assert said(memory) == {Kind.PREFER_TOOL: Stage.PROBATION}


@pytest.mark.req("H8", "H11")
def test_what_begins_to_work_again_is_tried_more_often_until_it_fails_again() -> None:
    memory = Memory()
    for number in range(7):
        memory.learn(failing(number))
    against = [item for item in memory.acting() if item.subject == "bad"]
    assert [item.evidence.get("hopeful") for item in against] == [None, None]
    memory.learn(lesson(50, seen("bad", True)))
    assert hopeful(memory) == [True, True]
    memory.learn(lesson(51, seen("bad", False)))
    memory.learn(lesson(52, seen("bad", False)))
    assert hopeful(memory) == [False, False]
    assert said(memory) == {Kind.PREFER_TOOL: Stage.PROBATION, Kind.AVOID_TOOL: Stage.TRUSTED}
    repair = next(item for item in memory.acting() if item.kind is Kind.REPAIR)
    assert "hopeful" not in repair.evidence


def hopeful(memory: Memory) -> list[object]:
    return [item.evidence["hopeful"] for item in memory.acting() if item.subject == "bad"]


def tried(number: int, tool: str, repeats: int = 0, error: str = "quota", worked: bool = False) -> Lesson:
    """A run that tried a call again; the model itself did, where it repeats."""
    again = Observation(tool=tool, worked=worked, error=error, tries=3, repeats=repeats)
    return lesson(number, again, family=f"family{number % 4}")


def futile(memory: Memory) -> list[tuple[str, str]]:
    return [(item.family, item.subject) for item in memory.acting() if item.kind is Kind.FUTILE_RETRY]


@pytest.mark.req("H7")
def test_a_kind_of_failure_is_futile_to_retry_once_three_tools_have_shown_it() -> None:
    memory, two = Memory(), Memory()
    for number in range(8):
        assert futile(memory) == []
        memory.learn(tried(number, f"tool{number % 3}"))
        two.learn(tried(number, f"tool{number % 2}"))
    assert (futile(memory), futile(two)) == ([("*", "*:quota")], [])
    (found,) = [item for item in memory.acting() if item.kind is Kind.FUTILE_RETRY]
    assert found.text == "trying a call again after quota helped 0 of 8 times"


@pytest.mark.req("H7")
def test_what_the_model_repeats_is_futile_whatever_the_failure() -> None:
    """The harness retries what may be transient; a model that makes the same call again learns nothing from it."""
    memory, harness = Memory(), Memory()
    for number in range(12):
        error, tool = f"error{number // 3}", f"tool{number % 3}"
        memory.learn(tried(number, tool, repeats=1, error=error))
        harness.learn(tried(number, tool, error=error))
    assert (futile(memory), futile(harness)) == ([("*", "*:*")], [])
    (found,) = [item for item in memory.acting() if item.kind is Kind.FUTILE_RETRY]
    assert found.text == "trying a call again after it failed helped 0 of 9 times"


@pytest.mark.req("H7")
def test_a_futile_retry_that_helps_again_is_allowed_again() -> None:
    memory = Memory()
    for number in range(8):
        memory.learn(tried(number, f"tool{number % 3}"))
    for number in range(20):
        memory.learn(tried(50 + number, "tool1", worked=True))
    assert futile(memory) == []
    assert {item.stage for item in memory.known.values() if item.kind is Kind.FUTILE_RETRY} == {Stage.RETIRED}


@pytest.mark.parametrize("error", ["not_found", "exit_1", "exit_code_2", "ambiguous"])
def test_a_failure_about_what_was_asked_for_is_not_held_against_the_tool_but_its_repair_is_learned(error: str) -> None:
    memory = Memory()
    for number in range(9):
        repaired = mended("read", "read", error=error, change="path=docs/a.md")
        memory.learn(lesson(number, seen("read", False, error=error), mendings=[repaired]))
    assert [(item.kind, item.subject) for item in memory.acting()] == [(Kind.REPAIR, f"read:{error}")]
    assert [key for key in memory.stored if key[2] == "tool:read"] == []


@pytest.mark.parametrize("chosen", ["", "gone"])
def test_alternatives_that_hardly_ever_work_are_no_better(chosen: str) -> None:
    """Whatever was recommended before, or nothing: it is no reason to recommend it now."""
    where = lesson(1)
    stored = {
        index_key(where, "bad"): IndexCell(instead={"other": (1, 60)}, chosen=chosen),
        tool_key(where, "other"): observed((True, "s"), *((False, f"s{number}") for number in range(60))),
        tool_key(where, "bad"): observed(*((False, f"s{number}") for number in range(60))),
    }
    cells = Cells(lambda keys: {key: msgspec.json.encode(stored[key]).decode() for key in keys if key in stored})
    assert best_instead(where, "bad", cells) == ""


def test_what_was_recommended_before_stays_among_tools_that_are_as_good() -> None:
    memory = Memory()
    for number in range(4):
        memory.learn(failing(number))
    for number in range(20):
        better = lesson(100 + number, seen("bad", False), seen("best", True), mendings=[mended("bad", "best")])
        memory.learn(better)
    assert {item.better for item in memory.acting() if item.kind is Kind.PREFER_TOOL} == {"good"}
