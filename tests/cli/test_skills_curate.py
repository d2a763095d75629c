"""`hermes skills curate` and `hermes skills overlaps` as a person and a program use them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from hermes_agent.skills.format import read_folder, render_skill
from hermes_agent.skills.skill import MAIN, Files, Skill
from hermes_agent.store.open import open_store
from tests.cli.command import Hermes
from tests.cli.forked import ForkedHermes
from tests.cli.terminal import Terminal
from tests.learning.alike_skills import CHOSEN_ON
from tests.learning.skill_home import USER, Home

_DEPLOY = CHOSEN_ON[2]
_SENT = "Call the health address from inside the cluster five times."


def fill(home: Path, *skills: Skill, by_user: tuple[Skill, ...] = ()) -> dict[str, Files]:
    """Skills that a review made, and some of a person's; every byte of them."""
    home.mkdir(exist_ok=True)
    store = open_store("", home)
    place = Home(store, home)

    async def work() -> None:
        await place.add(*skills)
        await place.add(*by_user, author=USER)

    asyncio.run(work())
    store.close()
    return lying(home)


def lying(home: Path) -> dict[str, Files]:
    """Every byte of every skill in use."""
    return {path.name: read_folder(path) for path in sorted((home / "skills").iterdir()) if (path / MAIN).is_file()}


@pytest.mark.req("S10")
@pytest.mark.slow
def test_look_then_do_then_take_back(forked: ForkedHermes) -> None:
    before = fill(forked.home, _DEPLOY.first, _DEPLOY.same, *_DEPLOY.others)
    plan = forked.json("skills", "curate", "--dry-run")
    (proposal,) = plan["proposals"]
    assert {key: proposal[key] for key in ("action", "skill", "absorbed")} == {
        "action": "merge",
        "skill": {"name": "deploy-service", "version": proposal["skill"]["version"]},
        "absorbed": [{"name": "deploy-service-eu-2", "version": proposal["absorbed"][0]["version"]}],
    }
    assert plan.keys() == {"proposals", "left", "more"} and "files" not in proposal
    shown = forked.run("skills", "curate", "--dry-run")
    assert shown.returncode == 0
    assert shown.stdout.startswith("merge deploy-service-eu-2 into deploy-service: deploy-service-eu-2: duplicate 0.99")
    assert "+++ /dev/null" in shown.stdout and f"-4. {_SENT}" in shown.stdout
    assert lying(forked.home) == before

    done = forked.json("skills", "curate", "--yes")
    assert [(change["ok"], change["action"], change["name"]) for change in done["changes"]] == [
        (True, "replace", "deploy-service"),
        (True, "delete", "deploy-service-eu-2"),
    ]
    assert lying(forked.home).keys() == before.keys() - {"deploy-service-eu-2"}
    undone = forked.run("skills", "curate", "--undo")
    assert undone.returncode == 0
    assert sorted(line.split(" is as it was")[0] for line in undone.stdout.splitlines()) == [
        "deploy-service",
        "deploy-service-eu-2",
    ]
    assert lying(forked.home) == before
    again = forked.run("skills", "curate", "--undo", done["batch"])
    assert (again.returncode, again.stderr) == (2, f"error: {done['batch']} was undone already\n")
    assert forked.run("skills", "curate", "--yes").stdout == "nothing to curate\n"


def test_in_a_terminal_it_asks(hermes: Hermes) -> None:
    before = fill(hermes.home, _DEPLOY.first, _DEPLOY.same)
    for answer, code in (("n", 1), ("y", 0)):
        terminal = Terminal(hermes, "skills", "curate")
        terminal.expect("Do this?")
        assert lying(hermes.home) == before
        terminal.enter(answer)
        assert terminal.wait() == code
        assert (len(lying(hermes.home)) == 1) is (answer == "y")


def test_without_a_terminal_nothing_is_changed_unasked(forked: ForkedHermes) -> None:
    before = fill(forked.home, _DEPLOY.first, _DEPLOY.same)
    done = forked.run("skills", "curate")
    assert done.returncode == 2
    assert (
        "error: this asks first, and there is no terminal to ask\n  try: say --yes, or --dry-run to look" in done.stderr
    )
    assert lying(forked.home) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--undo",), "there is no curation to undo"),
        (("--undo", "nothing"), "there is no background work 'nothing'"),
        (("--undo", "%"), "there is no background work '%'"),
        (("--undo", "--yes"), "--undo stands alone"),
        (("--undo", "x", "--dry-run"), "--undo stands alone"),
    ],
)
def test_what_makes_no_sense_is_said(forked: ForkedHermes, arguments: tuple[str, ...], said: str) -> None:
    assert forked.json("skills", "curate", *arguments, code=2)["error"] == said


def test_overlaps_of_everybodys_skills(forked: ForkedHermes) -> None:
    project = forked.workspace / ".hermes" / "skills" / "deploy-it"
    project.mkdir(parents=True)
    named = msgspec.structs.replace(_DEPLOY.first, name="deploy-it")
    (project / MAIN).write_text(render_skill(named))
    fill(forked.home, _DEPLOY.same, by_user=(_DEPLOY.first,))
    found = forked.json("skills", "overlaps")
    ours = {"deploy-it", _DEPLOY.first.name, _DEPLOY.same.name}
    assert {(one["one"], one["other"], one["kind"]) for one in found if {one["one"], one["other"]} <= ours} == {
        ("deploy-it", "deploy-service", "duplicate"),
        ("deploy-it", "deploy-service-eu-2", "duplicate"),
        ("deploy-service", "deploy-service-eu-2", "duplicate"),
    }
    table = forked.run("skills", "overlaps").stdout.splitlines()
    assert table[0].split() == ["kind", "score", "skill", "and", "because", "of"]
    assert len(table) == len(found) + 1


def test_no_skills_at_all(forked: ForkedHermes) -> None:
    assert forked.json("skills", "curate", "--dry-run") == {"proposals": [], "left": [], "more": 0}
    assert forked.json("skills", "overlaps") == []
