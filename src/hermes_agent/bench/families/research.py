"""Web research: facts about a town, from one of four sections of a local site that are built differently."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

import msgspec

from .parameters import Parameters
from .site import TOWNS, facts_of, serve
from .stages import Stage
from .task import Draft, Step, Task, json_problem
from .world import Family, FamilyWorld

FACTS, PAGE = "facts.json", "page.html"
_FETCH = Stage(
    program="researching",
    arguments={
        "site": "section of the local site: gazette, registry, almanac or observatory",
        "topic": "name of the page, in small letters",
        "output": "file to write",
    },
    paths=("output",),
    writes="output",
    ways={
        "fetch_page": "Bring a page of the local site.",
        "fetch_signed": "Bring a page of the local site that wants visitors to come in through the front page.",
        "fetch_pages": "Bring a page of the local site with all its parts, coming in through the front page.",
        "fetch_any": "Bring a page of the local site with all its parts, or its feed where a script builds it.",
    },
    network=True,
)
_FACTS = Stage(
    program="researching",
    arguments={
        "page": "file with the page",
        "site": "section of the local site that it is from",
        "output": "JSON file to write: population, founded, mayor",
    },
    paths=("page", "output"),
    writes="output",
    ways={
        "facts_list": "Take the facts about a town from a page that lists them.",
        "facts_table": "Take the facts about a town from a page with a list or a table.",
        "facts_any": "Take the facts about a town from a page with a list, a table or sentences.",
    },
)


def _make(rng: random.Random, seed: int, _number: int, given: Parameters) -> Draft:
    site, town = given.drawn(rng, "site"), rng.choice(TOWNS)
    request = (
        f"Research the town {town} in the {site} of the local site, whose pages the tools with names that begin with "
        f"`fetch_` bring. Write {FACTS}: an object with population and founded as numbers and mayor as text."
    )
    steps = (
        Step(tools=given.ways["fetch"], arguments={"site": site, "topic": town, "output": PAGE}),
        Step(tools=given.ways["facts"], arguments={"page": PAGE, "site": site, "output": FACTS}),
    )
    return Draft(
        request=request,
        steps=steps,
        truth=msgspec.to_builtins(facts_of(seed, site, town)),
    )


def _problem(task: Task, workspace: Path) -> str:
    return json_problem(workspace, FACTS, task.truth)


FAMILY = Family(name="research", stages=(_FETCH, _FACTS), make=_make, problem=_problem, serve=serve)
World = partial(FamilyWorld, FAMILY)
