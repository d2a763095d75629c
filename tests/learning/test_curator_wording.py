"""A model words the merged skill; where its answer cannot be taken, the merge without a model stands."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_agent.learning.curator import Rewrite
from hermes_agent.learning.proposals import Proposal
from hermes_agent.skills.format import render_skill
from hermes_agent.skills.skill import MAIN, Skill
from hermes_agent.store.open import open_store
from hermes_agent.types.errors import ModelError, ModelFailure
from tests.learning.alike_skills import CHOSEN_ON
from tests.learning.skill_home import Home

_CSV = CHOSEN_ON[0]


@pytest.fixture
def skills(home: Path) -> Iterator[Home]:
    """A home on SQLite."""
    store = open_store("", home)
    yield Home(store, home)
    store.close()


class Answers:
    """A model that is asked for one skill of two."""

    def __init__(self, body: str, failure: bool = False) -> None:
        self.body = body
        self.failure = failure
        self.asked: list[tuple[str, str]] = []

    async def __call__(self, umbrella: Skill, absorbed: Skill) -> str:
        self.asked.append((umbrella.name, absorbed.name))
        if self.failure:
            raise ModelError(ModelFailure.NETWORK, "no answer")
        return render_skill(Skill(name=umbrella.name, description="Totals of tables.", body=self.body))


def merge_with(skills: Home, rewrite: Rewrite | None) -> Proposal:
    async def work() -> Proposal:
        await skills.add(_CSV.first, _CSV.same)
        (proposal,) = (await skills.curator(rewrite=rewrite).plan()).proposals
        return proposal

    return asyncio.run(work())


def test_a_model_may_word_the_merged_skill(skills: Home) -> None:
    model = Answers("Sum it up; see references/csv-totals-2024-06.md.")
    proposal = merge_with(skills, model)
    assert model.asked == [("csv-totals", "csv-totals-2024-06")]
    assert proposal.files[MAIN].decode().endswith("\nSum it up; see references/csv-totals-2024-06.md.\n")
    assert b"totals per product" in proposal.files[MAIN]
    assert b"Read the first ten lines" in proposal.files["references/csv-totals-2024-06.md"]


@pytest.mark.parametrize("model", [Answers("See scripts/nothing.py."), Answers("", failure=True)])
def test_a_model_that_fails_leaves_the_merge_without_it(skills: Home, model: Answers) -> None:
    proposal = merge_with(skills, model)
    assert len(model.asked) == 1
    assert b"Group, sum, and sort" in proposal.files[MAIN] and list(proposal.files) == [MAIN]
