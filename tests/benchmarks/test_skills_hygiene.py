"""The benchmarks of skills: their worlds and scripted writers must be right before any figure is."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from benchmarks.skills.extractor import Extractor, vocabulary
from benchmarks.skills.gains import steering
from benchmarks.skills.hygiene import Arm, History, figures, lived
from benchmarks.skills.index import REQUESTS, found, others
from benchmarks.skills.office import AFTER, BEFORE, WAYS, Office, Task, tasks, written
from benchmarks.skills.retirement import (
    BASES,
    COST,
    Rate,
    done_twice,
    found_by_pairs,
    injected,
    rates,
    retired_at,
)
from hermes_agent.learning.extract import parse_draft
from hermes_agent.learning.overlaps import DUPLICATE, find_overlaps
from hermes_agent.skills.library import BUNDLED
from hermes_agent.types.errors import UsageError
from hermes_agent.types.tools import ToolResult

ROOT = Path(__file__).parents[2]
TASK = Task(number=3, family="csv-totals", request="Sum up hours in a.csv for me", subject="a.csv")


def called(office: Office, *names: str) -> list[ToolResult]:
    return [office._serve(name, "a.csv") for name in names]


def test_tasks_depend_on_their_seed_alone_and_cover_all_kinds_of_work() -> None:
    first, same, other = tasks(1, 300), tasks(1, 300), tasks(2, 300)
    assert first == same != other
    assert {task.family for task in first} == set(written().families) == set(vocabulary())


def test_a_request_lists_the_steps_and_is_known_again() -> None:
    office = Office(1)
    request = office.begin(TASK)
    argument = '{"subject": "a.csv"}'
    ways = " or ".join(f"{way} {argument}" for way in WAYS)
    steps = [
        f"{BEFORE[0]} {argument}",
        f"{BEFORE[1]} {argument}",
        ways,
        f"{AFTER[0]} {argument}",
        f"{AFTER[1]} {argument}",
    ]
    numbered = "\n".join(f"{place}. {step}" for place, step in enumerate(steps, 1))
    assert request == f"{TASK.request}\n\n{numbered}\n\nreference 3"
    assert office.task_of(request) == TASK
    assert office.task_of("reference 99") is office.task_of("something else") is None


def test_a_task_is_solved_by_all_steps_and_right_work_and_by_nothing_less() -> None:
    office = Office(1)
    right, wrong, refused = 0, 0, 0
    for number in range(200):
        task = msgspec.structs.replace(TASK, number=number)
        office.begin(task)
        assert not office.solved()
        *_, work = called(office, *BEFORE, office.right["csv-totals"])
        assert not office.solved()
        called(office, *AFTER)
        right += office.solved()
        refused += not work.ok
        office.begin(task)
        called(office, *BEFORE, next(way for way in WAYS if way != office.right["csv-totals"]), *AFTER)
        wrong += office.solved()
    assert 140 < right < 180 and 45 < wrong < 90 and 15 < refused < 45


def drafts(seed: int, count: int) -> tuple[Extractor, list[str]]:
    """What the extractor writes about so many tasks that went well."""
    office = Office(seed)
    extractor = Extractor(seed, office)
    found_drafts = []
    for task in tasks(seed, count):
        office.begin(task)
        draft = extractor._written(task, WAYS[1], [WAYS[0]])
        found_drafts.append(json.dumps(draft))
    return extractor, found_drafts


def test_whole_drafts_are_what_the_product_asks_for() -> None:
    extractor, texts = drafts(1, 200)
    parsed = [parse_draft(text) for text in texts]
    names = {name for words in vocabulary().values() for name in words.names}
    narrow = [draft for draft in parsed if draft.name not in names]
    assert 10 < len(narrow) == extractor.counted["narrow"] < 60
    advised = [draft for draft in parsed if any(f"`{WAYS[1]}`" in step for step in draft.steps)]
    assert 4 < len(parsed) - len(advised) == extractor.counted["mistaken"] < 40


def test_spoiled_drafts_are_never_taken() -> None:
    extractor, texts = drafts(2, 60)
    for text in texts:
        with pytest.raises(UsageError, match="malformed"):
            parse_draft(extractor._spoiled(json.loads(text)))


def test_wordings_of_one_family_overlap_in_part_and_families_do_not_copy_each_other() -> None:
    """An extractor whose drafts were all alike, or all different, would measure nothing."""
    for words in vocabulary().values():
        assert len(set(words.names)) == 4 and len(set(words.descriptions)) == 3 and len(set(words.triggers)) == 4
    from hermes_agent.skills.skill import Skill

    skills = [
        Skill(name=words.names[0], description=words.descriptions[0], body=f"Do {name}.", triggers=words.triggers)
        for name, words in vocabulary().items()
    ]
    assert [one for one in find_overlaps(skills) if one.score >= DUPLICATE] == []


@pytest.mark.req("L5")
def test_a_short_history_writes_skills_and_keeps_no_duplicates() -> None:
    history = lived(Arm.ON, 5, 50)
    assert len(history.solved) == 50
    assert history.skills == sum(history.per_family.values()) > 0
    assert history.duplicates == 0
    assert max(history.per_family.values()) <= 3
    extractions = sum(count for name, count in history.changes.items() if name.startswith("extraction"))
    assert extractions == history.drafts["asked"] <= sum(history.solved)
    assert history.changes["curation done"] > 0
    assert (history.curated, history.peak) == ({"passes": 1}, history.skills)


def test_nothing_is_written_where_learning_is_off() -> None:
    history = lived(Arm.OFF, 5, 4)
    assert history == History(arm="off", seed=5, solved=history.solved)


def lived_as(arm: Arm, solved: list[bool], **given: Any) -> History:
    return History(arm=arm, seed=1, solved=solved, **given)


def test_the_table_misses_the_goal_when_one_family_has_three_skills_or_two_say_the_same() -> None:
    bad = figures([lived_as(Arm.ON, [True] * 3, per_family={"a": 3, "b": 1}, duplicates=1, skills=4)])
    good = figures([lived_as(Arm.ON, [True] * 3, per_family={"a": 2, "b": 1}, skills=3)])
    reached = [[one.reached for one in table if one.goal] for table in (bad, good)]
    assert reached == [[False, False, True], [True, True, True]]


def test_harm_is_retired_by_its_coin_and_no_harm_is_not() -> None:
    harmful = rates(retired_at, COST, 0.5, 100, 15)
    harmless = rates(retired_at, 0.0, 0.5, 100, 15)
    assert list(harmful) == list(BASES)
    share = Rate(good=sum(one is not None for some in harmful.values() for one in some), all=90)
    assert share.share >= 0.93
    assert sum(one is not None for some in harmless.values() for one in some) <= 4
    assert retired_at(random.Random(1), 1.0, 1.0, 0.5, 100) == retired_at(random.Random(1), 1.0, 1.0, 0.5, 100)


def test_pairs_find_harm_sooner_when_the_skill_is_told_in_each() -> None:
    always, sometimes = (rates(found_by_pairs, COST, chance, 30, 20) for chance in (1.0, 0.5))
    counts = [sum(one is not None for some in found.values() for one in some) for found in (always, sometimes)]
    assert counts[0] > 2 * counts[1]


def test_a_rate_has_its_interval() -> None:
    assert str(Rate(good=95, all=100)) == "95.0 % [88.8, 97.8] of 100"


@pytest.mark.req("L12")
def test_an_injected_skill_is_retired_by_the_product_from_outcomes_alone() -> None:
    case = injected(2, 0.9)
    assert case.retired_at is not None and case.retired_at <= 100
    assert case.told < case.untold


@pytest.mark.slow
def test_tasks_done_twice_speak_against_an_injected_skill() -> None:
    twice = done_twice(3, 1.0, told=True)
    assert twice.losses > 0 == twice.wins and not twice.unjudged


def test_requests_for_every_bundled_skill_and_others_that_are_none_of_them() -> None:
    bundled = {file.parent.name for file in BUNDLED.glob("*/SKILL.md")}
    assert set(REQUESTS) == bundled
    made = [skill.name for skill in others(290)]
    assert len(set(made)) == 290 and not bundled & set(made)


def test_a_small_library_is_listed_whole_and_asked_for_everything(tmp_path: Path) -> None:
    got = asyncio.run(found(tmp_path, 12))
    asked = sum(map(len, REQUESTS.values()))
    assert (got.skills, len(got.listed), len(got.recommended)) == (12, asked, asked)
    assert all(got.listed) and sum(got.recommended) > asked / 2
    assert len(got.missed) == asked - sum(got.recommended)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("For this, use `clock` first.", ["clock"]),
        ("avoid `terminal`", ["terminal"]),
        ("Skip `clock`; prefer `terminal`.", ["clock", "terminal"]),
        ("`clock` is a tool; use the other one", []),
        ("use `nothing_of_ours`", []),
    ],
)
def test_what_can_steer_the_apprentice(text: str, expected: list[str]) -> None:
    assert steering(text, frozenset({"clock", "terminal"})) == expected


def test_the_command_prints_json_and_refuses_parts_that_are_not_there() -> None:
    command = [sys.executable, "-m", "benchmarks.skills", "--only"]
    good = subprocess.run([*command, "gains", "--json"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {row["measured"].partition(":")[0] for row in json.loads(good.stdout)} == {"not measured"}
    assert good.stderr == "measuring gains\n"
    bad = subprocess.run([*command, "nonsense"], cwd=ROOT, capture_output=True, text=True)
    assert bad.returncode == 2 and "there is no part nonsense" in bad.stderr
