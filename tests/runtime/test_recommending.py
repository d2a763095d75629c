"""Which skills a request is told of: by a coin, with a reason, and anew when one was rewritten."""

from collections import Counter
from pathlib import Path

import pytest

from hermes_agent.learning.recommending import FITTING, Offer, recommended, unproposed
from hermes_agent.skills.skill import Author, Origin
from hermes_agent.store.heuristics import Heuristic, Kind, Stage
from hermes_agent.types.trace import AdviceItem
from tests.cli.command import Hermes
from tests.harness.rig import Rig, saying
from tests.runtime.reviewing import WORK, Learner, Thinking, learner, markdown

NEVER = {"creation_nudge_interval": 0}
HARP = "Tune the strings of a harp. Use when a harp sounds wrong."
REQUEST = "My harp sounds wrong, tune its strings."
AGENT, USER = Author(origin=Origin.REVIEW), Author(origin=Origin.USER)


def skill(subject: str, stage: Stage = Stage.PROBATION, effect: float | None = None, version: str = "v1") -> Heuristic:
    shown = {} if effect is None else {"effect": effect, "tasks": 40}
    return Heuristic(
        id=f"h-{subject}",
        kind=Kind.SKILL,
        model="m",
        family="harps",
        subject=subject,
        condition=(),
        better="",
        text=f"about {subject}",
        detail={"version": version},
        stage=stage,
        confidence=0.0,
        evidence=shown,
        created_at=0.0,
    )


def offer(name: str, similarity: float = 0.5, version: str = "v1") -> Offer:
    return Offer(name=name, version=version, description=f"about {name}", similarity=similarity)


def add(it: Learner, name: str, author: Author, description: str = HARP) -> None:
    made = it.agent.wait(it.knowledge.editing.create(name, markdown(name, description=description), author))
    assert made.ok, made


def advice(it: Learner, run_id: str) -> list[AdviceItem]:
    """What was said of skills in a run."""
    found = it.agent.wait(it.store.traces.of_run(run_id)).advice
    return [item for item in found if item.kind == "skill"]


@pytest.mark.req("L12")
def test_of_several_that_fit_two_are_chosen_the_proven_first_and_the_reason_is_said() -> None:
    known = [skill("a"), skill("b", Stage.TRUSTED, 0.2), skill("c"), skill("d", Stage.TRUSTED, -0.1), skill("gone")]
    offers = [offer("a", 0.9), offer("b", 0.3), offer("c", 0.4), offer("d", 0.8)]
    other = Heuristic(
        id="w",
        kind=Kind.WORKFLOW,
        model="m",
        family="harps",
        subject="w",
        condition=(),
        better="",
        text="steps",
        detail={},
        stage=Stage.TRUSTED,
        confidence=0.0,
        evidence={},
        created_at=0.0,
    )
    chosen = recommended([other, *known], offers)
    assert [(one.subject, one.text) for one in chosen] == [
        ("w", "steps"),
        (
            "d",
            "about d; likeness 0.80, effect -10 points, chosen before `b` (likeness 0.30, effect +20 points), "
            "`a` (likeness 0.90), `c` (likeness 0.40)",
        ),
        (
            "b",
            "about b; likeness 0.30, effect +20 points, chosen before `a` (likeness 0.90), `c` (likeness 0.40)",
        ),
    ]
    assert recommended(known, []) == []
    assert [one.text for one in recommended([skill("a")], [offer("a")])] == ["about a"]


@pytest.mark.req("L12")
def test_what_fits_is_proposed_once_and_a_retired_skill_again_when_it_was_rewritten() -> None:
    fits, far = offer("harp"), offer("far", FITTING - 0.01)
    assert unproposed([], [fits, far]) == [fits]
    for stage in Stage:
        assert unproposed([skill("harp", stage)], [fits]) == []
    again = offer("harp", version="v2")
    found = {stage: unproposed([skill("harp", stage)], [again]) for stage in Stage}
    assert found == {stage: [again] if stage is Stage.RETIRED else [] for stage in Stage}


@pytest.mark.req("L12", "L5")
def test_the_coin_is_even_for_what_an_agent_wrote_and_nine_in_ten_for_what_a_person_made(rig: Rig) -> None:
    model = Thinking([saying("it sounds well")])
    with learner(rig, model, learning={"mode": "on"}, skills=NEVER) as it:
        add(it, "tuning-a-harp", AGENT)
        add(it, "harp-strings-by-ear", USER, "Tune harp strings by ear. Use when a harp sounds wrong.")
        chances: dict[str, Counter[float]] = {"tuning-a-harp": Counter(), "harp-strings-by-ear": Counter()}
        for _ in range(10):
            result = it.run(REQUEST, session="new")
            items = advice(it, result.run_id)
            assert sorted(item.subject for item in items) == sorted(chances)
            told = "\n".join(one.text for one in model.of(WORK)[-1].since_request())
            for item in items:
                chances[item.subject][item.propensity if item.applied else round(1 - item.propensity, 6)] += 1
                assert (f"the skill `{item.subject}` fits this task" in told) is item.applied
        assert chances == {"tuning-a-harp": Counter({0.5: 10}), "harp-strings-by-ear": Counter({0.9: 10})}


@pytest.mark.req("L12")
def test_the_choice_among_several_is_in_the_journal_and_why_tells_it(local_rig: Rig) -> None:
    model = Thinking([saying("it sounds well")])
    with learner(local_rig, model, learning={"mode": "on"}, skills=NEVER) as it:
        for name in ("tuning-a-harp", "harp-tuning-by-ear", "harp-strings-anew"):
            add(it, name, AGENT)
        it.run(REQUEST)
        result = it.run(REQUEST, session="new")
        items = advice(it, result.run_id)
        assert (len(items), all("chosen before `" in item.text for item in items)) == (2, True)
    said = Hermes(Path(local_rig.home.parent)).run("why", result.run_id)
    assert said.returncode == 0, said.stderr
    assert "chosen before" in " ".join(said.stdout.split())


@pytest.mark.req("L12", "L4")
def test_a_retired_skill_that_is_rewritten_gets_a_new_trial(rig: Rig) -> None:
    model = Thinking([saying("it sounds well")])
    with learner(rig, model, learning={"mode": "on"}, skills=NEVER) as it:
        add(it, "tuning-a-harp", AGENT)
        it.run(REQUEST, session="new")
        (known,) = it.agent.wait(it.store.heuristics.of_skill("tuning-a-harp"))
        retired = "UPDATE heuristics SET stage = 'retired' WHERE kind = 'skill'"
        it.agent.wait(it.store.database.write(lambda connection: connection.run(retired)))
        it.run(REQUEST, session="new")
        assert [one.stage for one in it.agent.wait(it.store.heuristics.of_skill("tuning-a-harp"))] == [Stage.RETIRED]
        held = it.agent.wait(it.knowledge.library.get("tuning-a-harp"))
        better = markdown("tuning-a-harp", description=HARP, body="1. Begin with the lowest string.")
        changed = it.agent.wait(it.knowledge.editing.edit("tuning-a-harp", better, AGENT, held.version))
        it.run(REQUEST, session="new")
        (anew,) = it.agent.wait(it.store.heuristics.of_skill("tuning-a-harp"))
        assert (known.stage, anew.id, anew.stage, anew.detail) == (
            Stage.PROBATION,
            known.id,
            Stage.PROBATION,
            {"version": changed.version},
        )


@pytest.mark.req("S11", "L11")
def test_a_script_of_an_agents_that_nobody_validated_is_not_recommended(local_rig: Rig) -> None:
    with learner(local_rig, Thinking([saying("ok")]), learning={"mode": "on"}, skills=NEVER) as it:
        add(it, "tuning-a-harp", AGENT)
        held = it.agent.wait(it.knowledge.library.get("tuning-a-harp"))
        write = it.knowledge.editing.write_file("tuning-a-harp", "scripts/a.py", "print(1)\n", AGENT, held.version)
        changed = it.agent.wait(write)
        assert advice(it, it.run(REQUEST, session="new").run_id) == []
        it.agent.wait(it.store.skills.mark(held.stats.id, validated=changed.version))
        (item,) = advice(it, it.run(REQUEST, session="new").run_id)
        assert item.subject == "tuning-a-harp"
