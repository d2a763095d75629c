"""Skills that say the same are found, and skills of one field that do not are left apart."""

from __future__ import annotations

from itertools import combinations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.learning.overlaps import Alike, Overlap, compared, find_overlaps, profile_of, shingles_of, stem_of
from hermes_agent.skills.skill import Skill
from tests.learning.alike_skills import CHOSEN_ON, Field, sample
from tests.learning.held_out_skills import HELD_OUT

Pairs = dict[frozenset[str], str]


def expected(fields: tuple[Field, ...]) -> tuple[list[Skill], Pairs]:
    """All skills of the fields, and which of their pairs are alike."""
    skills: list[Skill] = []
    alike: Pairs = {}
    for field in fields:
        skills += [field.first, field.same, field.retold, *field.others]
        alike[frozenset((field.first.name, field.same.name))] = Alike.DUPLICATE
        alike[frozenset((field.first.name, field.retold.name))] = Alike.OVERLAP
        alike[frozenset((field.same.name, field.retold.name))] = Alike.OVERLAP
    return skills, alike


def found_in(skills: list[Skill]) -> Pairs:
    return {frozenset((overlap.one, overlap.other)): overlap.kind for overlap in find_overlaps(skills)}


@pytest.mark.req("S10")
def test_what_the_weights_were_chosen_on_is_found_whole() -> None:
    skills, alike = expected(CHOSEN_ON)
    assert found_in(skills) == alike


@pytest.mark.req("S10")
def test_skills_that_were_held_out() -> None:
    """36 pairs of one field, 135 of different fields. Nothing is found that is not alike (precision 1), every duplicate
    is called one, and of twelve alike pairs one is missed (recall 11 of 12): 'resize photos' and 'shrink pictures'
    share hardly a word, and their 0.59 is below the limit."""
    skills, alike = expected(HELD_OUT)
    missed = frozenset(("resize-photos", "shrink-pictures-for-web"))
    assert found_in(skills) == {pair: kind for pair, kind in alike.items() if pair != missed}


def test_the_index_finds_what_comparing_every_pair_finds() -> None:
    skills, _ = expected(CHOSEN_ON + HELD_OUT)
    profiles = [profile_of(skill) for skill in skills]
    every = [overlap for one, other in combinations(profiles, 2) if (overlap := compared(one, other))]
    assert find_overlaps(skills) == sorted(every, key=lambda overlap: (-overlap.score, overlap.one, overlap.other))


def test_a_large_library_goes_through_the_index_and_loses_no_duplicate() -> None:
    """600 skills, so that common features are passed over; each of twenty was told twice."""
    fields = ["csv", "pods", "mail", "photos", "flights", "queries", "branches", "recipes", "lectures", "contracts"]
    acts = ["sort", "count", "translate", "compare", "archive", "draw", "explain", "merge", "download"]
    skills = [
        sample(
            f"{act}-{field}-{kind}",
            f"{act} {field} of the {kind} kind",
            f"{act} my {kind} {field}",
            f"Open the {kind} {field}.\nThen {act} them {kind} first.\nCheck {field} once more.",
        )
        for field in fields
        for act in acts
        for kind in ("amber", "bronze", "copper", "dotted", "ebony", "frosted")
    ]
    copies = [msgspec.structs.replace(skill, name=f"{skill.name}-2025") for skill in skills[::30]]
    found = find_overlaps([*skills, *copies])
    duplicates = {frozenset((overlap.one, overlap.other)) for overlap in found if overlap.score == 1.0}
    assert len(skills) + len(copies) > 500
    assert {frozenset((skill.name, f"{skill.name}-2025")) for skill in skills[::30]} <= duplicates


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("release-notes", "release-note"),
        ("release-notes-2024-05", "release-note"),
        ("release-note-v2", "release-note"),
        ("release-notes-june", "release-note"),
        ("release-notes-final-copy", "release-note"),
        ("2024", "2024"),
        ("marching-orders", "marching-order"),
        ("x509-check", "x509-check"),
    ],
)
def test_a_name_without_numbers_and_dates(name: str, stem: str) -> None:
    assert stem_of(name) == stem


def test_names_that_differ_in_a_number_are_no_reason_alone() -> None:
    one = sample("http-404", "Find dead links of a site.", "dead links", "Crawl the site.\nList addresses not found.")
    other = sample(
        "http-500", "Read why a server crashed.", "server error", "Open the error log.\nShow the first stack trace."
    )
    assert stem_of("http-404") == stem_of("http-500")
    assert find_overlaps([one, other]) == []


def test_the_same_steps_under_another_purpose_overlap() -> None:
    first = CHOSEN_ON[0].first
    other = msgspec.structs.replace(first, name="quarterly", description="Board papers.", triggers=("board meeting",))
    (overlap,) = find_overlaps([first, other])
    assert (overlap.kind, overlap.steps, overlap.body) == (Alike.OVERLAP, 1.0, 1.0)


def test_the_same_words_in_another_order_are_no_duplicate() -> None:
    first = CHOSEN_ON[1].first
    turned = "\n".join(" ".join(reversed(line.split())) for line in first.body.splitlines())
    (overlap,) = find_overlaps([first, msgspec.structs.replace(first, name="pytest-turned", body=turned)])
    assert (overlap.kind, overlap.score) == (Alike.OVERLAP, 0.89)


def test_what_is_said_of_an_overlap() -> None:
    overlap = Overlap(
        one="a", other="b", kind=Alike.OVERLAP, score=0.7, about=0.75, body=0.6, steps=0.125, same_name=True
    )
    assert overlap.why == "purpose 0.75, text 0.60, wording 0.12, names that differ in a number or a date"
    assert (overlap.of("a"), overlap.of("b")) == ("b", "a")


def test_empty_and_hostile_texts_are_like_nothing() -> None:
    empty = [Skill(name=name, description="", body="") for name in ("a", "b")]
    odd = [Skill(name=name, description="\ud800", body="\x00\ud800 \u202e" * 3) for name in ("c", "d")]
    assert [(one.one, one.other) for one in find_overlaps([*empty, *odd])] in ([], [("c", "d")])
    assert shingles_of("") == frozenset()


@settings(max_examples=40)
@given(st.lists(st.text(max_size=300), min_size=2, max_size=4))
def test_any_text_is_compared_the_same_way_round(bodies: list[str]) -> None:
    profiles = [
        profile_of(Skill(name=f"s{place}", description=body[:40], body=body)) for place, body in enumerate(bodies)
    ]
    for one, other in combinations(profiles, 2):
        overlap = compared(one, other)
        assert overlap == compared(other, one)
        assert overlap is None or 0.6 <= overlap.score <= 1.0
