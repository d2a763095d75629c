"""What the model is told about skills: the index within its budget, and what `/skill-name` brings."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from hermes_agent.config.settings import SkillSettings
from hermes_agent.skills.format import render_skill
from hermes_agent.skills.index import GUIDANCE_CHARACTERS, READING, WRITING, Invocation, SkillIndex, is_compact
from hermes_agent.skills.library import Held, Library
from hermes_agent.skills.skill import MAIN, Circumstances, Conditions, Skill, Slot
from hermes_agent.store.open import Store, open_store
from hermes_agent.store.skills import SkillStore
from hermes_agent.types.advice import SessionView, Told
from hermes_agent.types.tools import Label

ALWAYS = Conditions()
GUIDANCE = f"{READING}\n{WRITING}"


class Shelf:
    """A library of skills on a real disk and in a real store."""

    def __init__(self, home: Path, store: Store) -> None:
        self.home = home
        self.store = SkillStore(store.database, "me")
        self.circumstances = Circumstances(platform="linux")
        (home / "none").mkdir()

    def put(self, *skills: Skill) -> None:
        """Write skills of the user."""
        for skill in skills:
            folder = self.home / "skills" / skill.name
            folder.mkdir(parents=True, exist_ok=True)
            (folder / MAIN).write_text(render_skill(skill))

    def library(self) -> Library:
        """The skills as a new process finds them."""
        return Library(self.home, self.store, SkillSettings(), lambda note: None, self.home / "none")

    def mark(self, name: str, **columns: object) -> None:
        """Change what the store knows about a skill."""

        async def change() -> None:
            held = await self.library().get(name)
            await self.store.mark(held.stats.id, **columns)

        asyncio.run(change())

    def index(self, request: str = "", characters: int = 1500, probation: frozenset[str] = frozenset()) -> str:
        """The text of the section in the prompt."""
        settings = SkillSettings(index_characters=characters)
        source = SkillIndex(self.library(), settings, lambda _: self.circumstances, lambda held: held.name in probation)
        sections = asyncio.run(source.sections(view(request)))
        return "".join(section.text for section in sections)

    def told(
        self, request: str, expand: Callable[[Held, str], Awaitable[str]] | None = None, workspace: str = ""
    ) -> list[Told]:
        """What is said behind a request."""

        async def as_it_is(held: Held, text: str) -> str:
            return text

        source = Invocation(self.library(), lambda _: self.circumstances, expand or as_it_is)
        return list(asyncio.run(source.told(view(request, workspace))))

    def version(self, name: str) -> str:
        """The version of a skill as the library knows it."""
        return asyncio.run(self.library().get(name)).version


def view(request: str, workspace: str = "") -> SessionView:
    """A session that begins with this request."""
    return SessionView(session_id="s", workspace=workspace, surface="cli", model="m", request=request)


def plain(name: str, description: str = "Do it.", conditions: Conditions = ALWAYS) -> Skill:
    """A small skill."""
    return Skill(name=name, description=description, body="Steps.", conditions=conditions)


@pytest.fixture
def shelf(home: Path) -> Iterator[Shelf]:
    """An empty library."""
    store = open_store("", home)
    yield Shelf(home, store)
    store.close()


@pytest.mark.req("S1")
def test_guidance_is_given_within_its_budget_also_without_skills(shelf: Shelf) -> None:
    assert shelf.index() == GUIDANCE
    assert len(GUIDANCE) <= GUIDANCE_CHARACTERS
    assert "five or more calls" in WRITING
    assert "patch it at once" in WRITING
    assert "skill_view" in READING


@pytest.mark.parametrize(
    ("tools", "text"),
    [
        ({"terminal"}, ""),
        ({"skill_view", "skills_list"}, READING),
        ({"skill_view", "skill_manage"}, GUIDANCE),
    ],
)
def test_the_model_is_not_told_of_tools_it_does_not_have(shelf: Shelf, tools: set[str], text: str) -> None:
    shelf.circumstances = Circumstances(tools=frozenset(tools))
    assert shelf.index() == text


@pytest.mark.req("S9")
def test_one_line_for_each_skill_in_the_order_of_names(shelf: Shelf) -> None:
    shelf.put(
        plain("weather", "Tell the\nweather\u202e of a city " + "x" * 80), plain("csv"), plain("a" * 64, "b" * 80)
    )
    lines = shelf.index().removeprefix(f"{GUIDANCE}\n\n").split("\n")
    assert lines == [
        f"- {'a' * 64}: {'b' * 11}…",
        "- csv: Do it.",
        "- weather: Tell the weather\\u{202e} of a city " + "x" * 33 + "…",
    ]
    assert {len(line) for line in lines} == {80, 13}


def test_what_is_not_offered_is_not_listed(shelf: Shelf) -> None:
    shelf.put(
        plain("fine"),
        plain("off"),
        plain("stale"),
        plain("mac", conditions=Conditions(platforms=("macos",))),
        plain("group", conditions=Conditions(group_chat=True)),
        plain("broken"),
    )
    (shelf.home / "skills/broken" / MAIN).write_text("no skill")
    shelf.mark("off", enabled=False)
    shelf.mark("stale", health_status="deprecated")
    assert shelf.index() == f"{GUIDANCE}\n\n- fine: Do it."


def hundred() -> list[Skill]:
    """A hundred skills of ten kinds."""
    kinds = ["csv files", "weather", "git history", "plots", "logs", "releases", "music", "gardens", "tax", "travel"]
    return [
        plain(f"skill-{n:03}", f"Work on {kinds[n % 10]} in the manner number {n}, " + "as usual " * 5)
        for n in range(100)
    ]


@pytest.mark.req("S9")
def test_a_hundred_skills_fit_into_the_budget_the_fitting_first(shelf: Shelf) -> None:
    shelf.put(*hundred())
    text = shelf.index("What will the weather be on Sunday?")
    listed = text.removeprefix(f"{GUIDANCE}\n\n")
    lines = listed.split("\n")
    assert len(listed) <= 1500
    assert lines[-1] == f"and {100 - len(lines) + 1} more: skills_list finds them."
    assert len(lines) >= 18
    assert lines[:-1] == sorted(lines[:-1])
    assert {f"skill-{n:03}" for n in range(1, 100, 10)} <= {line[2:11] for line in lines}
    assert shelf.index("What will the weather be on Sunday?") == text
    assert shelf.index("Sum up this csv") != text


def test_use_and_probation_bring_a_skill_into_a_small_index(shelf: Shelf) -> None:
    shelf.put(*hundred()[:12])
    assert "skill-009" not in shelf.index(characters=200)
    shelf.mark("skill-009", usage_count=50)
    assert "skill-009" in shelf.index(characters=200)
    text = shelf.index("weather", characters=200, probation=frozenset({"skill-011"}))
    assert "skill-011" in text
    assert "skill-009" not in shelf.index("weather", characters=250, probation=frozenset({"skill-011"}))
    assert len(text.removeprefix(f"{GUIDANCE}\n\n")) <= 200


@pytest.mark.req("A5")
def test_an_invoked_skill_stands_behind_the_request(shelf: Shelf) -> None:
    shelf.put(Skill(name="weather", description="b", body="Weather of {{city}}.", slots=(Slot(name="city"),)))
    scripts = shelf.home / "skills/weather/scripts"
    scripts.mkdir()
    (scripts / "a.py").write_text("print(1)\n")
    version = shelf.version("weather")
    folder = shelf.home / "skills/weather"
    head = f"[The user invoked the skill weather, version {version}; in {folder}: scripts/a.py]"
    told = Told(source="skill", text=f"{head}\n\nWeather of Berlin.\n\nRequest: be\nquick", family="weather")
    assert shelf.told("/weather Berlin 'be\nquick'") == [told]
    assert shelf.told("  /Weather\tcity=Berlin 'be\nquick'") == [told]


def test_commands_in_an_invoked_skill_are_expanded(shelf: Shelf) -> None:
    shelf.put(Skill(name="now", description="b", body="!`date {{zone}}`", slots=(Slot(name="zone", default="-u"),)))

    async def expand(held: Held, text: str) -> str:
        return f"{held.name}, {held.shelf}: {text}"

    told = shelf.told("/now '$(id)'", expand)
    assert [each.text.split("\n\n")[1] for each in told] == ["now, user: !`date '$(id)'`"]


@pytest.mark.parametrize(
    "request_text",
    [
        "",
        "weather",
        "tell /weather",
        "/tmp/x is full",
        "/tmp",
        "/",
        "//weather",
        "/weather/x",
        "/weather: x",
        "/../x",
        "/wea\0ther",
    ],
)
def test_other_requests_are_left_alone(shelf: Shelf, request_text: str) -> None:
    shelf.put(plain("weather"))
    assert shelf.told(request_text) == []


@pytest.mark.parametrize(
    ("request_text", "notice"),
    [
        ("/wether Berlin", "There is no skill 'wether'; did you mean /weather?"),
        ("/mac", "The skill 'mac' is not offered here: it is for macos only. Tell the user so."),
        (
            "/off x",
            "The skill 'off' cannot be used: it is disabled; `hermes skills enable off` enables it. Tell the user so.",
        ),
        (
            "/weather",
            "The skill 'weather' was not invoked: 'city' is missing (as in /weather city=…). Tell the user so.",
        ),
        (
            "/broken",
            "The skill 'broken' cannot be used: line 1: SKILL.md must begin with a line of three hyphens (---) and its "
            "front matter. Tell the user so.",
        ),
    ],
)
def test_a_skill_that_cannot_be_used_says_why(shelf: Shelf, request_text: str, notice: str) -> None:
    shelf.put(
        Skill(name="weather", description="b", body="c", slots=(Slot(name="city"),)),
        plain("off"),
        plain("broken"),
        plain("mac", conditions=Conditions(platforms=("macos",))),
    )
    (shelf.home / "skills/broken" / MAIN).write_text("no skill")
    shelf.mark("off", enabled=False)
    assert shelf.told(request_text) == [Told(source="skill", text=notice)]


def test_a_skill_whose_trial_failed_can_still_be_invoked_and_says_so(shelf: Shelf) -> None:
    shelf.put(plain("weather"))
    shelf.mark("weather", health_status="deprecated")
    version = shelf.version("weather")
    head = f"[The user invoked the skill weather, version {version}; its last trial failed]"
    assert shelf.told("/weather") == [Told(source="skill", text=f"{head}\n\nSteps.", family="weather")]


def test_a_changed_skill_is_in_the_next_index(shelf: Shelf) -> None:
    shelf.put(plain("weather", "Old."))
    past = time.time() - 60
    os.utime(shelf.home / "skills/weather" / MAIN, (past, past))
    assert shelf.index().endswith("- weather: Old.")
    shelf.put(plain("weather", "New."))
    assert shelf.index().endswith("- weather: New.")


@pytest.mark.req("A5", "A12")
def test_an_invoked_skill_of_a_project_is_a_strangers_text(shelf: Shelf) -> None:
    folder = shelf.home / "work/.hermes/skills/weather"
    folder.mkdir(parents=True)
    (folder / MAIN).write_text(render_skill(plain("weather")))
    shelf.put(plain("climate"))
    workspace = str(shelf.home / "work")
    (told,) = shelf.told("/weather", workspace=workspace)
    assert (told.labels, told.origin) == (frozenset((Label.UNTRUSTED,)), str(folder))
    (own,) = shelf.told("/climate", workspace=workspace)
    assert (own.labels, own.origin) == (frozenset(), "")


def test_the_embedded_model_is_not_told_of_skills() -> None:
    assert (is_compact("local:smollm2"), is_compact("openai:local:x")) == (True, False)
