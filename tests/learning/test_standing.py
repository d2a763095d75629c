"""One run's view of what was learned: coins that can be repeated and weighed, and the words the model reads."""

import math
from typing import Any

import msgspec
import pytest

from hermes_agent.learning.standing import Standing, coin, worded
from hermes_agent.store.heuristics import EVERY_FAMILY, Heuristic, Kind, Stage
from hermes_agent.types.advice import Failure, Moment, Ruling, Situation, Steer
from hermes_agent.types.plan import ActivePlan
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import AdviceItem

WHERE = Situation(request="sum the ledger", model="m", family="ledgers", run_id="run1")
RUNS = 1000


def known(name: str, kind: Kind, subject: str = "bad", stage: Stage = Stage.TRUSTED, **more: Any) -> Heuristic:
    return Heuristic(
        id=name,
        kind=kind,
        model="m",
        family=str(more.pop("family", "ledgers")),
        subject=subject,
        text=str(more.pop("text", f"`{subject}` failed 7 of 7 times in tasks like this")),
        stage=stage,
        **more,
    )


AVOID = known("avoid", Kind.AVOID_TOOL, better="good")
PREFER = known("prefer", Kind.PREFER_TOOL, better="good", text="`good` worked 7 of 7 times, `bad` 0 of 7")
HINT = known("hint", Kind.HINT, "lonely", text="`lonely` failed 7 of 7 times in tasks like this")
ON_ODS = known("ods", Kind.AVOID_TOOL, "parser", better="other", condition=("path.suffix=.ods",), text="it failed")
FUTILE = known("futile", Kind.FUTILE_RETRY, "get:quota", text="trying `get` again after quota helped 0 of 7 times")
REPAIR = known(
    "repair",
    Kind.REPAIR,
    "read:encoding",
    better="read",
    detail={"change": "encoding=latin-1"},
    text="after `read` failed with encoding, this worked 7 of 7 times",
)
SKIP = known("skip", Kind.SKIP_STEP, "c", condition=("after=b",), text="`c` failed 7 of 7 times right after `b`")
MOVE = known(
    "move", Kind.MOVE_STEP, "c", condition=("after=b",), better="a", text="`c` failed 7 of 7 times right after `b`"
)
SOONER = msgspec.structs.replace(MOVE, id="sooner", better="", detail={"before": "b"})
ANY_QUOTA = known("any", Kind.FUTILE_RETRY, "*:quota", family=EVERY_FAMILY, text="a call again after quota: 0 of 8")
REPEATED = known("repeated", Kind.FUTILE_RETRY, "*:*", family=EVERY_FAMILY, text="a call again: 0 of 8")
QUOTA = Failure(tool="get", error="Quota", text="", attempt=1)
TRIED_AGAIN = "use `bad` first this time: it failed before and is tried again."
FLOW = known("flow", Kind.WORKFLOW, "plan:1", text="a > b > c", detail={"steps": ["a path={path}", "b", "c x=1", "d"]})


def standing(*heuristics: Heuristic, run: str = "run1", explore: float = 0.0, widened: bool = False) -> Standing:
    situation = msgspec.structs.replace(WHERE, run_id=run)
    return Standing(situation, heuristics, explore, widened=widened)


def moment(tool: str, previous: str = "", failed: Failure | None = None, **arguments: object) -> Moment:
    call = ToolCall(id="c1", name=tool, arguments=dict(arguments))
    return Moment(call=call, situation=WHERE, previous=previous, failed=failed)


def within(count: int, share: float, runs: int = RUNS) -> bool:
    """Whether a count is within four standard deviations of what a coin gives."""
    return abs(count - share * runs) <= 4 * math.sqrt(runs * share * (1 - share))


@pytest.mark.req("B1")
def test_a_coin_is_the_same_for_the_same_run_or_seed_and_differs_between_them() -> None:
    assert coin("run1", "h") == coin("run1", "h")
    assert len({coin(f"run{number}", "h") for number in range(1000)}) == 1000
    assert all(0 <= coin(f"run{number}", "h") < 1 for number in range(1000))
    on_probation = msgspec.structs.replace(FLOW, stage=Stage.PROBATION)

    def decided(run: str, seed: int | None) -> bool:
        situation = msgspec.structs.replace(WHERE, run_id=run, seed=seed)
        return Standing(situation, [on_probation], 0.1, widened=False).decided(on_probation)[0]

    assert len({decided(f"run{number}", 7) for number in range(100)}) == 1
    assert len({decided("run1", number) for number in range(100)}) == 2
    assert [decided(f"run{n}", None) for n in range(50)] == [decided(f"run{n}", None) for n in range(50)]


@pytest.mark.parametrize(
    ("heuristic", "explore", "widened", "share"),
    [
        (AVOID, 0.1, False, 0.9),
        (AVOID, 0.0, False, 1.0),
        (AVOID, 0.1, True, 0.5),
        (msgspec.structs.replace(AVOID, evidence={"hopeful": True}), 0.1, False, 0.5),
        (msgspec.structs.replace(AVOID, evidence={"hopeful": True}), 0.0, False, 1.0),
        (msgspec.structs.replace(AVOID, evidence={"hopeful": False}), 0.1, False, 0.9),
        (FLOW, 0.3, False, 0.9),
        (FLOW, 0.1, True, 0.5),
        (msgspec.structs.replace(FLOW, stage=Stage.PROBATION), 0.1, False, 0.5),
    ],
)
def test_coins_fall_as_often_as_they_say(heuristic: Heuristic, explore: float, widened: bool, share: float) -> None:
    on = 0
    for number in range(RUNS):
        item = standing(heuristic, run=f"r{number}", explore=explore, widened=widened).item(heuristic)
        assert item.propensity == pytest.approx(share if item.applied else 1 - share)
        on += item.applied
    assert within(on, share)


def test_coins_of_different_heuristics_are_independent() -> None:
    one, two = (msgspec.structs.replace(FLOW, id=name, stage=Stage.PROBATION) for name in ("one", "two"))
    both = 0
    for number in range(RUNS):
        here = standing(one, two, run=f"r{number}")
        both += here.decided(one)[0] == here.decided(two)[0]
    assert within(both, 0.5)


def test_at_most_two_coins_of_probation_are_flipped_in_a_run_and_all_get_their_turn() -> None:
    trying = [
        msgspec.structs.replace(FLOW, id=f"flow{number}", subject=f"plan:{number}", stage=Stage.PROBATION)
        for number in range(6)
    ]
    tried: dict[str, int] = {}
    for number in range(300):
        items, *_ = standing(*trying, AVOID, run=f"r{number}").opening()
        coins = [item.id for item in items if item.kind == "workflow"]
        assert len(coins) == 2
        for name in coins:
            tried[name] = tried.get(name, 0) + 1
    assert all(within(tried[item.id], 1 / 3, 300) for item in trying)


def test_what_is_trusted_on_tasks_is_held_out_together() -> None:
    flows = [msgspec.structs.replace(FLOW, id=f"flow{n}", subject=f"plan:{n}") for n in range(4)]
    held = 0
    for number in range(RUNS):
        here = standing(*flows, run=f"r{number}")
        decisions = {here.decided(flow)[0] for flow in flows}
        assert len(decisions) == 1
        held += decisions == {False}
    assert within(held, 0.1)


def test_all_advice_against_one_tool_shares_one_coin() -> None:
    apart = known("elsewhere", Kind.AVOID_TOOL, "other", better="good")
    differs = 0
    for number in range(500):
        here = standing(AVOID, PREFER, apart, run=f"r{number}", explore=0.5)
        assert here.decided(AVOID) == here.decided(PREFER)
        differs += here.decided(AVOID) != here.decided(apart)
    assert within(differs, 0.5, 500)


@pytest.mark.req("H3")
@pytest.mark.parametrize(
    ("heuristic", "text"),
    [
        (AVOID, "avoid `bad`: `bad` failed 7 of 7 times in tasks like this; use `good`."),
        (ON_ODS, "it failed; there `other` works."),
        (PREFER, "use `good` rather than `bad`: `good` worked 7 of 7 times, `bad` 0 of 7."),
        (HINT, "avoid `lonely` if there is another way: `lonely` failed 7 of 7 times in tasks like this."),
        (msgspec.structs.replace(ON_ODS, kind=Kind.HINT, better=""), "it failed."),
        (SKIP, "skip `c`: `c` failed 7 of 7 times right after `b`."),
        (MOVE, "do `c` after `a`: `c` failed 7 of 7 times right after `b`."),
        (SOONER, "do `c` before `b`: `c` failed 7 of 7 times right after `b`."),
        (REPAIR, "after `read` failed with encoding, this worked 7 of 7 times: use `read` with encoding=latin-1."),
        (FLOW, "steps that worked for this: (1) a path={path}; (2) b; (3) c x=1; (4) d"),
        (FUTILE, "trying `get` again after quota helped 0 of 7 times"),
    ],
)
def test_the_words_the_model_reads(heuristic: Heuristic, text: str) -> None:
    assert worded(heuristic) == text


@pytest.mark.req("H2", "H3")
def test_the_opening_says_everything_once_and_records_what_was_withheld() -> None:
    items, hints, behind, plan = standing(AVOID, PREFER, HINT, FUTILE, REPAIR).opening()
    assert items == [
        AdviceItem(id="avoid", text=AVOID.text, kind="avoid_tool"),
        AdviceItem(id="prefer", text=PREFER.text, kind="prefer_tool"),
        AdviceItem(id="hint", text=HINT.text, kind="hint"),
    ]
    assert hints == [worded(AVOID), worded(HINT)]
    assert (behind, plan) == (["bad"], None)


@pytest.mark.req("H6")
def test_what_is_left_aside_says_once_that_the_tool_is_tried_again() -> None:
    """Silence would explore nothing where other advice still recommends the alternative."""
    items, hints, behind, _ = standing(AVOID, PREFER, explore=1.0).opening()
    assert items == [
        AdviceItem(id="avoid", text=AVOID.text, kind="avoid_tool", applied=False),
        AdviceItem(id="prefer", text=PREFER.text, kind="prefer_tool", applied=False),
    ]
    assert (hints, behind) == ([TRIED_AGAIN], [])
    for silent in (HINT, ON_ODS, SKIP):
        assert standing(silent, explore=1.0).opening()[1:3] == ([], [])


@pytest.mark.req("H2")
def test_only_the_own_family_speaks_and_it_silences_what_holds_everywhere() -> None:
    other = msgspec.structs.replace(AVOID, id="else", family="reports")
    wide = msgspec.structs.replace(PREFER, id="wide", family=EVERY_FAMILY, better="worse")
    assert standing(other).opening() == ([], [], [], None)
    assert [item.id for item in standing(wide).opening()[0]] == ["wide"]
    assert [item.id for item in standing(wide, PREFER).opening()[0]] == ["prefer"]


@pytest.mark.req("H4")
def test_a_plan_comes_from_a_workflow_and_loses_or_moves_the_step_that_fails() -> None:
    assert standing(FLOW).opening()[3] == ActivePlan(pending=("a path={path}", "b", "c x=1", "d"))
    assert standing(FLOW, SKIP).opening()[3] == ActivePlan(pending=("a path={path}", "b", "d"))
    assert standing(FLOW, MOVE).opening()[3] == ActivePlan(pending=("a path={path}", "c x=1", "b", "d"))
    assert standing(FLOW, SOONER).opening()[3] == ActivePlan(pending=("a path={path}", "c x=1", "b", "d"))
    only = msgspec.structs.replace(FLOW, detail={"steps": ["c"]})
    assert standing(only, SOONER).opening()[3] == ActivePlan(pending=("c",))
    assert standing(only, SKIP).opening()[3] == ActivePlan(pending=("c",))
    assert standing(SKIP).opening()[3] is None


@pytest.mark.req("H6")
def test_a_call_that_is_known_not_to_work_is_steered_with_the_reason_and_the_better_tool() -> None:
    item = AdviceItem(id="avoid", text=AVOID.text, kind="avoid_tool")
    assert standing(AVOID, PREFER).review(moment("bad")) == Ruling(
        steer=Steer(reason=AVOID.text, better="good"), items=(item,)
    )
    assert standing(AVOID, PREFER).review(moment("good")) == Ruling()
    assert standing(PREFER, HINT).review(moment("bad")) == Ruling()
    withheld = standing(AVOID, explore=1.0).review(moment("bad"))
    assert withheld == Ruling(items=(msgspec.structs.replace(item, applied=False),))


def test_a_condition_steers_only_where_it_holds() -> None:
    here = standing(ON_ODS)
    assert here.review(moment("parser", path="x.csv")) == Ruling()
    assert here.review(moment("parser", path="x.ods")).steer == Steer(reason="it failed", better="other")


def test_nothing_is_steered_to_a_tool_that_is_itself_avoided() -> None:
    back = known("back", Kind.AVOID_TOOL, "good", better="bad")
    here = standing(AVOID, back)
    assert (here.review(moment("bad")), here.review(moment("good"))) == (Ruling(), Ruling())
    worse = msgspec.structs.replace(REPAIR, better="good")
    failure = Failure(tool="read", error="encoding", text="", attempt=1)
    assert standing(worse, back).repair(failure) == Ruling()


@pytest.mark.req("H4")
def test_a_step_is_advised_against_right_after_the_one_it_fails_after() -> None:
    after_b = moment("c", previous="b:ok")
    skipped = standing(SKIP).review(after_b).steer
    assert skipped == Steer(reason="this step is skipped here: `c` failed 7 of 7 times right after `b`")
    assert standing(SKIP).review(moment("c", previous="b:parse")) == Ruling()
    assert standing(SKIP).review(moment("c", previous="a:ok")) == Ruling()
    moved = standing(MOVE).review(after_b).steer
    assert moved == Steer(reason="`c` failed 7 of 7 times right after `b`; do it after `a`, where it works")
    assert standing(SOONER).review(after_b) == Ruling(), "too late to do it sooner: it may as well be tried"


@pytest.mark.req("H7")
def test_a_retry_known_to_be_futile_is_advised_against_for_that_failure_only() -> None:
    assert standing(FUTILE).weigh_retry(QUOTA) == Ruling(
        steer=Steer(reason=FUTILE.text), items=(AdviceItem(id="futile", text=FUTILE.text, kind="futile_retry"),)
    )
    busy = msgspec.structs.replace(QUOTA, error="busy")
    assert standing(FUTILE).weigh_retry(busy) == Ruling()
    again = standing(FUTILE).review(moment("get", failed=QUOTA))
    assert again.steer == Steer(reason=FUTILE.text)
    assert standing(FUTILE).review(moment("get")) == Ruling()


@pytest.mark.req("H7")
def test_a_kind_of_failure_is_futile_to_retry_with_any_tool_and_a_repetition_after_any_failure() -> None:
    other, busy = (msgspec.structs.replace(QUOTA, tool="put"), msgspec.structs.replace(QUOTA, error="busy"))
    assert standing(ANY_QUOTA).weigh_retry(other).steer == Steer(reason=ANY_QUOTA.text)
    assert standing(ANY_QUOTA).weigh_retry(busy) == Ruling()
    assert standing(REPEATED).weigh_retry(QUOTA) == Ruling(), "it is about what the model itself repeats"
    assert standing(REPEATED).review(moment("get", failed=busy)).steer == Steer(reason=REPEATED.text)
    assert standing(REPEATED).review(moment("get")) == Ruling()
    here = standing(REPEATED, ANY_QUOTA, FUTILE)
    assert [item.id for item in here.weigh_retry(QUOTA).items] == ["futile"], "the closest one speaks"
    assert [item.id for item in here.review(moment("put", failed=other)).items] == ["any"]
    assert [item.id for item in here.review(moment("get", failed=busy)).items] == ["repeated"]


@pytest.mark.req("H7")
def test_a_retry_is_explored_once_in_a_run() -> None:
    here = standing(FUTILE, explore=1.0)
    item = AdviceItem(id="futile", text=FUTILE.text, kind="futile_retry", applied=False)
    assert here.weigh_retry(QUOTA) == Ruling(items=(item,))
    assert here.weigh_retry(QUOTA) == Ruling(steer=Steer(reason=FUTILE.text), items=(item,))
    assert here.review(moment("get", failed=QUOTA)).steer == Steer(reason=FUTILE.text)
    tool = standing(AVOID, explore=1.0)
    assert [tool.review(moment("bad")).steer for _ in range(3)] == [None] * 3, "a tool is explored the whole run"


def test_a_repair_is_told_after_its_failure_and_the_own_family_before_all_others() -> None:
    failure = Failure(tool="read", error="", text="'utf-8' codec can't decode", attempt=1)
    told = standing(REPAIR).repair(failure)
    assert told == Ruling(hint=worded(REPAIR), items=(AdviceItem(id="repair", text=REPAIR.text, kind="repair"),))
    wide = msgspec.structs.replace(REPAIR, id="wide", family=EVERY_FAMILY, confidence=1.0, condition=("x",))
    assert standing(wide, REPAIR).repair(failure) == told
    assert standing(REPAIR, explore=1.0).repair(failure).hint == ""
    assert standing(REPAIR).repair(msgspec.structs.replace(failure, tool="other")) == Ruling()
