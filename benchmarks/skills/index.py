"""A hundred skills: what the list in the prompt costs, and whether the right one is found.

The ten bundled skills lie among ninety others of the kind that people and agents write. Requests are in words that were
written after the skills, without looking at their triggers. The least likeness of a recommendation was later chosen
with them in view, so that what they say about recommendations is no longer about unseen requests.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

import msgspec

from benchmarks.learning.arms import MEMORY
from benchmarks.learning.stats import Figure
from hermes_agent.config.settings import LearningSettings, SkillSettings
from hermes_agent.learning.advisor import LearnedAdvisor
from hermes_agent.learning.offering import LibraryOffers, Likeness
from hermes_agent.skills.format import render_skill
from hermes_agent.skills.index import SkillIndex
from hermes_agent.skills.library import Library
from hermes_agent.skills.skill import Circumstances, Skill
from hermes_agent.store.open import Store, open_store
from hermes_agent.tools.discovery import builtin_tools
from hermes_agent.types.advice import SessionView, Situation

SKILLS = 100
GOAL = 1_500
INCUMBENT = 15_910
_ACTS = (
    ("draft", "Write a first version of"),
    ("review", "Read critically and comment on"),
    ("archive", "File away and make findable"),
    ("forecast", "Estimate the next quarter of"),
    ("reconcile", "Compare two sources of"),
    ("announce", "Tell everybody concerned about"),
    ("price", "Work out what to ask for"),
    ("schedule", "Find dates for"),
    ("translate", "Put into another language"),
)
_THINGS = (
    ("contracts", "contracts with suppliers"),
    ("payroll", "the monthly payroll"),
    ("newsletters", "newsletters to members"),
    ("inventory", "stock in the warehouse"),
    ("travel", "business trips"),
    ("courses", "training courses"),
    ("recipes", "recipes of the canteen"),
    ("leases", "leases of flats"),
    ("patents", "patent applications"),
    ("podcasts", "podcast episodes"),
    ("deliveries", "parcel deliveries"),
    ("surveys", "customer surveys"),
    ("exhibitions", "exhibitions in the museum"),
    ("harvests", "harvests of the vineyard"),
    ("rehearsals", "rehearsals of the choir"),
    ("permits", "building permits"),
    ("donations", "donations to the shelter"),
    ("grants", "grant proposals"),
    ("machines", "maintenance of machines"),
    ("fleets", "cars of the fleet"),
    ("menus", "menus for receptions"),
    ("uniforms", "orders of uniforms"),
    ("greenhouses", "climate of greenhouses"),
    ("lessons", "piano lessons"),
    ("claims", "insurance claims"),
    ("visas", "visa applications"),
    ("tenders", "public tenders"),
    ("quarries", "output of the quarry"),
    ("ferries", "timetables of ferries"),
    ("archives", "letters in the archive"),
    ("beehives", "care of beehives"),
    ("shifts", "shifts of nurses"),
    ("auctions", "lots of an auction"),
)
REQUESTS: dict[str, tuple[str, ...]] = {
    "csv-analysis": (
        "There is an export called orders.csv, which region sold most?",
        "How many rows of customers.tsv have no postcode?",
        "Mean and maximum of the duration column in runs.csv, please",
        "Group the expenses in q2.csv by department",
        "Check whether prices.csv has duplicate lines",
    ),
    "git-workflow": (
        "Put my work on a branch of its own and commit it properly",
        "git says both modified: config.py, sort that out",
        "Squash the last three commits before I push",
        "I committed to main by mistake, get me out of this",
        "Get this change ready so that colleagues can merge it",
    ),
    "incident-report": (
        "Write up yesterday's outage for the team",
        "We need a post-mortem of the payment failure with a timeline",
        "Document the incident from Monday: impact, cause, follow-ups",
        "Put together what happened between 9 and 11 when the site was down",
        "Root cause report for the database downtime",
    ),
    "log-triage": (
        "The worker died overnight, here is worker.log",
        "Lots of stack traces in server.log, where does it begin?",
        "Which error came first in these log files?",
        "Look at the journal of nginx and tell me why it returns 502",
        "Group the exceptions in app.log",
    ),
    "plotting": (
        "Draw revenue by month as a line chart",
        "I need a bar graph of visitors per country",
        "Show how response times are distributed, as a picture",
        "Make a scatter plot of price against size",
        "Turn this table into a diagram for the slides",
    ),
    "python-test-debugging": (
        "pytest fails on my machine with an assertion error, help",
        "test_login passes alone but fails with the others",
        "The pipeline has been red since the last merge because of unit tests",
        "Three unittest cases broke after the upgrade, repair them",
        "Sometimes test_upload fails, sometimes not",
    ),
    "refactoring": (
        "This function has 400 lines, split it without changing what it does",
        "Rename the class Account to Customer everywhere",
        "Get rid of the duplicated code in the two importers",
        "Clean up module billing.py, behaviour stays as it is",
        "Extract the mail code into a module of its own",
    ),
    "release-notes": (
        "What changed since version 2.3? Write it for users",
        "Prepare the changelog for tomorrow's release",
        "Summarise the commits since the last tag for our customers",
        "Announce version 4.0 with all breaking changes",
        "Draft notes for the new release from the merged pull requests",
    ),
    "sql-exploration": (
        "What tables are in shop.db and how do they belong together?",
        "Find the ten customers with most orders in the sqlite database",
        "Write a query that lists invoices without payments",
        "Why is this SELECT so slow?",
        "Explore the schema of the warehouse database",
    ),
    "web-research": (
        "Find out which electric vans are on the market, with sources",
        "Compare the opinions on this law on the internet",
        "Look up current prices of heat pumps online",
        "Is it true that octopuses have three hearts? Cite something reliable",
        "Search the web for studies on remote work",
    ),
}


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What came of the requests: the size of the list, and for each request whether its skill was in it, was among the
    two recommended, and came first."""

    skills: int
    characters: int
    section: int
    listed: list[bool]
    recommended: list[bool]
    first: list[bool]
    missed: list[str]
    strange: int


def others(count: int) -> Iterator[Skill]:
    """Skills of other trades."""
    pairs = sorted(product(_THINGS, _ACTS), key=lambda pair: (_ACTS.index(pair[1]) + 3 * _THINGS.index(pair[0])) % 37)
    for (thing, things), (act, acts) in pairs[:count]:
        yield Skill(
            name=f"{act}-{thing}",
            description=f"{acts} {things}, step by step and with a check at the end. Use when {things} are the matter.",
            body=f"# {act} {thing}\n\n1. Collect what there is.\n2. {acts} {things}.\n3. Check the result.\n",
            triggers=(f"{act} {things}", f"help with {things}"),
        )


@cache
def here(surface: str = "cli") -> Circumstances:
    """A command line with all tools."""
    tools = frozenset(entry.spec.name for entry in builtin_tools())
    return Circumstances(platform="linux", tools=tools | {"skill_view", "skill_manage", "skills_list"})


def shelved(home: Path, count: int, store: Store) -> Library:
    """A library with the bundled skills and so many in all, the others put there as a person would."""
    library = Library(home, store.skills, SkillSettings(), lambda text: None)
    for skill in others(count - len(REQUESTS)):
        folder = home / "skills" / skill.name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(render_skill(skill))
    return library


async def found(home: Path, count: int = SKILLS) -> Found:
    """Ask for everything once, each request in a family of its own, so that nothing is learned from the others."""
    store = open_store(f"sqlite:///{home}/hermes.db", home)
    try:
        library = shelved(home, count, store)
        advisor = LearnedAdvisor(store, LearningSettings(), lambda text: None, LibraryOffers(library, here, Likeness()))
        index = SkillIndex(library, SkillSettings(), lambda view: here())
        result = Found(
            skills=len(await library.all()),
            characters=0,
            section=0,
            listed=[],
            recommended=[],
            first=[],
            missed=[],
            strange=0,
        )
        for name, requests in REQUESTS.items():
            for place, request in enumerate(requests):
                result = await _asked(result, index, advisor, name, request, f"{name}-{place}")
        return result
    finally:
        store.close()


async def _asked(so_far: Found, index: SkillIndex, advisor: LearnedAdvisor, name: str, request: str, run: str) -> Found:
    view = SessionView(session_id=run, workspace="", surface="cli", model="m", request=request)
    text = (await index.sections(view))[0].text
    lines = [line for line in text.splitlines() if line.startswith("- ")]
    advice = await advisor.advise(Situation(request=request, model="m", run_id=run, family=run))
    told = [item.subject for item in advice.items if item.subject]
    listed = any(line.startswith(f"- {name}:") for line in lines)
    return msgspec.structs.replace(
        so_far,
        characters=max(so_far.characters, len(text.rpartition("\n\n")[2])),
        section=max(so_far.section, len(text)),
        listed=[*so_far.listed, listed],
        recommended=[*so_far.recommended, name in told],
        first=[*so_far.first, told[:1] == [name]],
        missed=[*so_far.missed, *([] if name in told else [request])],
        strange=so_far.strange + sum(one not in REQUESTS for one in told),
    )


def figures() -> list[Figure]:
    """The table."""
    with tempfile.TemporaryDirectory(prefix="skills-", dir=MEMORY if MEMORY.is_dir() else None) as folder:
        got = asyncio.run(found(Path(folder)))
    asked = len(got.listed)
    return [
        Figure(
            what=f"index at {got.skills} skills, characters; whole section with guidance",
            measured=f"{got.characters:,}; {got.section:,}",
            goal=f"<= {GOAL:,} (incumbent {INCUMBENT:,})",
            reached=got.characters <= GOAL,
        ),
        Figure(what="right skill is in the index", measured=f"{sum(got.listed)} of {asked}"),
        Figure(
            what="right skill is recommended; is recommended first",
            measured=f"{sum(got.recommended)}; {sum(got.first)} of {asked}",
        ),
        Figure(what="recommendations of a wrong trade", measured=f"{got.strange} in {asked} requests"),
    ]
