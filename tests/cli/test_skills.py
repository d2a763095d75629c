"""`hermes skills`: looking at skills, and switching, archiving and restoring them."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import click
import msgspec
import pytest
import skills_ref

from hermes_agent.skills.format import nonstandard, parse_skill, render_skill
from hermes_agent.skills.skill import MAIN, Conditions, Skill
from hermes_agent.store.open import open_store
from hermes_agent.store.skills import Use
from hermes_agent.surfaces.cli.skills import COMMANDS, command
from tests.cli.command import HERMES, Hermes
from tests.cli.forked import ForkedHermes
from tests.cli.skill_editor import GREET, SCRIPT, lay
from tests.cli.terminal import terminal
from tests.sampling import sampled

BUNDLED = [
    "csv-analysis",
    "git-workflow",
    "incident-report",
    "log-triage",
    "plotting",
    "python-test-debugging",
    "refactoring",
    "release-notes",
    "sql-exploration",
    "web-research",
]


def names(rows: list[dict[str, object]]) -> list[object]:
    return [row["name"] for row in rows]


@pytest.mark.req("S8")
def test_every_shelf_is_listed_with_who_made_it(forked: ForkedHermes) -> None:
    lay(forked.home / "skills")
    lay(forked.home / "skills-hub", msgspec.structs.replace(GREET, name="from-hub"))
    lay(forked.home / "skills-team")
    lay(forked.workspace / ".hermes" / "skills")
    broken = forked.home / "skills" / "broken"
    broken.mkdir()
    (broken / MAIN).write_text("no front matter")
    rows = forked.json("skills", "list")
    assert names(rows) == sorted([*BUNDLED, "from-hub", "greet"])
    shown = {row["name"]: row for row in rows}
    assert (shown["greet"]["shelf"], shown["greet"]["origin"]) == ("project", "project")
    assert (shown["greet"]["shadows"], shown["from-hub"]["origin"]) == (["user", "team"], "hub")
    everything = forked.json("skills", "list", "--all")
    assert [(row["shelf"], row["shadowed"]) for row in everything if row["name"] == "greet"] == [
        ("project", False),
        ("user", True),
        ("team", True),
    ]
    wrong = next(row for row in everything if row["name"] == "broken")
    assert wrong["problem"].startswith("line 1: SKILL.md must begin with a line of three hyphens")
    assert names(forked.json("skills", "list", "--origin", "hub")) == ["from-hub"]
    assert names(forked.json("skills", "list", "--shelf", "user", "--all")) == ["broken", "greet"]
    table = forked.run("skills", "list")
    head = table.stdout.splitlines()[0]
    assert head.split()[:8] == ["name", "shelf", "origin", "uses", "success", "utility", "health", "flags"]
    assert "hides user+team" in table.stdout and "\x1b" not in table.stdout
    assert "3 more not in use; --all shows them" in table.stderr
    assert "the skill broken (user) is not used" in table.stderr


def test_a_home_without_skills_of_its_own(forked: ForkedHermes) -> None:
    forked.home.mkdir()
    (forked.home / "config.yaml").write_text("skills:\n  mode: 'off'\n")
    assert forked.json("skills", "list", "--shelf", "user") == []
    done = forked.run("skills", "list", "--origin", "team")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "there is no such skill\nskills are switched off; `hermes config set skills.mode on`\n"
    assert forked.run("skills", "list", "--shelf", "cupboard").returncode == 2


def test_show_says_where_it_is_from_and_what_it_says(forked: ForkedHermes) -> None:
    folder = lay(forked.home / "skills")
    shown = forked.json("skills", "show", "greet")
    assert msgspec.convert(shown["skill"], Skill) == GREET
    assert {key: shown[key] for key in ("shelf", "origin", "made_by", "paths", "versions", "not_here", "folder")} == {
        "shelf": "user",
        "origin": "user",
        "made_by": "",
        "paths": ["scripts/greet.sh"],
        "versions": 1,
        "not_here": "",
        "folder": str(folder),
    }
    text = forked.run("skills", "show", "greet").stdout
    assert "made by      user, " in text and "tests        hello, nobody" in text
    assert text.endswith("\n\n# Greet\n\nSay **hello** first.\n")
    assert forked.run("skills", "show", "greet", "--raw").stdout == (folder / MAIN).read_text()
    assert forked.run("skills", "show", "greet", "--file", "scripts/greet.sh").stdout == SCRIPT
    assert forked.json("skills", "show", "greet", "--file", "scripts/greet.sh")["text"] == SCRIPT
    wrong = forked.run("skills", "show", "greet", "--file", "scripts/gret.sh")
    assert (wrong.returncode, wrong.stderr.splitlines()[-1]) == (2, "  try: did you mean scripts/greet.sh?")


def test_show_tells_why_a_skill_is_not_offered(forked: ForkedHermes) -> None:
    picky = Conditions(platforms=("plan9",), tools=("terminal", "telepathy"), environment=("MOON",))
    lay(forked.home / "skills", msgspec.structs.replace(GREET, conditions=picky))
    why = "it is for plan9 only; it needs the tool telepathy; it needs MOON to be set in the environment"
    assert forked.json("skills", "show", "greet")["not_here"] == why
    shown = forked.run("skills", "show", "greet").stdout
    assert f"not offered  {why}\n" in shown and "environment  MOON\n" in shown
    assert forked.run("skills", "disable", "greet").returncode == 0
    assert "not offered  it is disabled; `hermes skills enable greet`" in forked.run("skills", "show", "greet").stdout


def test_on_a_terminal_markdown_is_set_and_escapes_are_shown(hermes: Hermes) -> None:
    lay(hermes.home / "skills", msgspec.structs.replace(GREET, body="# Title\n\nbold **word** \u202egnp"))
    with terminal(hermes, "skills", "show", "greet") as screen:
        assert screen.wait() == 0
        screen.expect("\\u{202e}gnp")
        assert "**word**" not in screen.shown and "\x1b[1mword" in screen.raw.decode()


@pytest.mark.parametrize("name", sampled(["../../etc", "Greet", "a" * 500, "\x1b[31mred", "", "gre\nt"], 3))
def test_hostile_names_are_no_skills(forked: ForkedHermes, name: str) -> None:
    for one in ("show", "archive"):
        done = forked.run("skills", one, "--", name)
        assert done.returncode == 2 and "\x1b" not in done.stderr
        assert done.stderr.startswith("error: there is no skill ") and len(done.stderr) < 300


def test_close_names_are_suggested_everywhere(forked: ForkedHermes) -> None:
    for one in ("edit", "unpin", "restore", "stats"):
        done = forked.json("skills", one, "csv-analysys", code=2)
        assert done == {"error": "there is no skill 'csv-analysys'", "remedy": "did you mean csv-analysis?"}


@pytest.mark.slow
def test_switches_are_set_and_set_back(forked: ForkedHermes) -> None:
    lay(forked.home / "skills")
    done = forked.run("skills", "disable", "greet")
    assert done.stdout == "greet (shelf user) is disabled; take it back with `hermes skills enable greet`\n"
    assert forked.run("skills", "disable", "greet").stdout == "greet is disabled already\n"
    assert "greet" not in names(forked.json("skills", "list"))
    pinned = forked.json("skills", "pin", "greet")
    assert (pinned["pinned"], pinned["enabled"], pinned["changed"]) == (True, False, True)
    row = next(line for line in forked.run("skills", "list", "--all").stdout.splitlines() if line.startswith("greet "))
    assert "pinned, disabled" in row
    assert forked.json("skills", "enable", "greet")["enabled"]
    assert forked.json("skills", "unpin", "greet")["pinned"] is False
    assert forked.json("skills", "unpin", "greet")["changed"] is False


@pytest.mark.req("S7")
@pytest.mark.slow
def test_the_archive_and_the_way_back(forked: ForkedHermes) -> None:
    folder = lay(forked.home / "skills")
    files = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = forked.run("skills", "archive", "greet")
    assert (done.returncode, done.stdout) == (0, "greet is in the archive\n")
    assert "`hermes skills restore greet` brings it back" in done.stderr and not folder.exists()
    assert "it is archived" in forked.run("skills", "show", "greet").stdout
    for one in ("pin", "test"):
        assert forked.json("skills", one, "greet", code=2)["error"] == "greet is archived"
    assert forked.json("skills", "validate", "greet")["ok"]
    assert forked.json("skills", "restore", "greet")["ok"]
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == files
    assert [entry["action"] for entry in forked.json("skills", "history", "greet")] == ["restore", "delete", "found"]
    refused = forked.json("skills", "archive", "csv-analysis", code=2)
    assert "`hermes skills disable csv-analysis`" in refused["error"]
    assert "say which version" in forked.json("skills", "restore", "greet", code=2)["error"]


@pytest.mark.slow
def test_history_diff_and_an_earlier_version(forked: ForkedHermes) -> None:
    folder = lay(forked.home / "skills")
    first = forked.json("skills", "show", "greet")["version"]
    assert forked.json("skills", "diff", "greet", code=2)["error"] == "greet has only one version"
    (folder / MAIN).write_text(render_skill(msgspec.structs.replace(GREET, body="Say \x1b[31mhowdy.")))
    (folder / "scripts" / "raw.bin").write_bytes(b"\xff\xfe")
    diff = forked.run("skills", "diff", "greet").stdout
    assert "-Say **hello** first." in diff and "+Say \\u{001b}[31mhowdy." in diff and "(not text: 2 bytes)" in diff
    history = forked.json("skills", "history", "greet")
    assert [(one["origin"], one["action"], one["parent"]) for one in history] == [
        ("user", "edit", first),
        ("user", "found", ""),
    ]
    second = history[0]["version"]
    assert forked.json("skills", "diff", "greet", second[:6], first[:6])["from"] == second
    assert forked.run("skills", "diff", "greet", second).stdout == f"{second} and {second} are the same\n"
    assert f"{second}*" in forked.run("skills", "history", "greet").stdout
    assert forked.json("skills", "diff", "greet", "zz", code=2)["error"] == "greet has no version 'zz'"
    assert "shelf team" in forked.json("skills", "diff", "greet", "team", code=2)["error"]
    back = forked.run("skills", "restore", "greet", "--version", first[:8])
    assert back.stdout == f"greet is at version {first}\n"
    assert f"take it back with `hermes skills restore greet --version {second}`" in back.stderr
    assert parse_skill((folder / MAIN).read_bytes()) == GREET and not (folder / "scripts" / "raw.bin").exists()
    assert forked.json("skills", "restore", "greet", second)["version"] == second
    assert forked.json("skills", "restore", "greet", second, "--version", first, code=2)["remedy"] == "give one"


def use_it(home: Path, name: str) -> None:
    """Three runs that used a skill, two of them in one family."""
    store = open_store("", home)

    async def work() -> None:
        stats = await store.skills.find("user", name)
        assert stats is not None
        for number, (family, success) in enumerate((("ducks", True), ("ducks", False), ("", None))):
            await store.skills.record_use(
                Use(
                    run_id=f"r{number}",
                    skill_id=stats.id,
                    session_id="s",
                    version=stats.version,
                    how="viewed",
                    family=family,
                    success=success,
                    at=1000.0 + number,
                )
            )
            if success is not None:
                await store.skills.count_use(stats.id, success=success, rate=0.1, efficiency=0.5)

    asyncio.run(work())
    store.close()


@pytest.mark.req("L6")
@pytest.mark.slow
def test_stats_by_family(forked: ForkedHermes) -> None:
    lay(forked.home / "skills")
    assert "not measured yet" in forked.run("skills", "stats", "greet").stdout
    use_it(forked.home, "greet")
    found = forked.json("skills", "stats", "greet")
    assert found["families"] == [
        {"family": "ducks", "name": "ducks", "uses": 2, "judged": 2, "succeeded": 1, "last": 1001.0},
        {"family": "", "name": "", "uses": 1, "judged": 0, "succeeded": 0, "last": 1002.0},
    ]
    assert (found["stats"]["usage_count"], round(found["stats"]["success_rate"], 3)) == (2, 0.9)
    assert "embedding" not in found["stats"] and found["measurements"] == []
    text = forked.run("skills", "stats", "greet").stdout
    assert "success      90% (moving)" in text and "ducks" in text and "1 of 2" in text and "not placed" in text
    table = forked.run("skills", "stats").stdout.splitlines()
    assert table[1].split()[:3] == ["greet", "2", "90%"]
    assert forked.json("skills", "stats")[0]["name"] == "greet"


def test_a_link_in_the_place_of_a_skill(forked: ForkedHermes, tmp_path: Path) -> None:
    elsewhere = lay(tmp_path / "elsewhere")
    (forked.home / "skills").mkdir(parents=True)
    (forked.home / "skills" / "greet").symlink_to(elsewhere)
    shown = forked.run("skills", "show", "greet")
    assert shown.returncode == 0 and "it is a link, and links are not followed" in shown.stdout
    assert forked.run("skills", "show", "greet", "--raw").returncode == 2
    assert forked.json("skills", "disable", "greet", code=2)["error"].startswith("the skill greet is not on record")


def test_names_are_completed(hermes: Hermes) -> None:
    lay(hermes.home / "skills")
    lay(hermes.workspace / ".hermes" / "skills", msgspec.structs.replace(GREET, name="greet-all"))
    (hermes.home / "skills" / "gre at").mkdir()

    def completed(*words: str) -> list[str]:
        environment = hermes.environment(
            _HERMES_COMPLETE="bash_complete", COMP_WORDS=" ".join(words), COMP_CWORD=str(len(words) - 1)
        )
        done = subprocess.run([HERMES], capture_output=True, text=True, env=environment, cwd=hermes.workspace)
        return [line.partition(",")[2] for line in done.stdout.splitlines()]

    assert completed("hermes", "skills", "show", "gre") == ["greet", "greet-all"]
    assert completed("hermes", "skills", "restore", "csv") == ["csv-analysis"]
    assert "history" in completed("hermes", "skills", "hi")


def test_every_command_is_there_and_has_help() -> None:
    context = click.Context(
        command, info_name="skills", parent=click.Context(click.Group("hermes"), info_name="hermes")
    )
    for name in command.list_commands(context):
        one = command.get_command(context, name)
        assert one is not None
        text = one.get_help(click.Context(one, info_name=name, parent=context))
        assert text.startswith(f"Usage: hermes skills {name} ") and one.get_short_help_str(200) == COMMANDS[name]


def test_a_command_that_is_not_there(forked: ForkedHermes) -> None:
    assert "did you mean `hermes skills list`" in forked.run("skills", "lst").stderr


def test_the_example_in_the_manual_is_a_skill(tmp_path: Path) -> None:
    manual = (Path(__file__).parents[2] / "docs" / "skills.md").read_text()
    example = manual.partition("````markdown\n")[2].partition("````")[0]
    skill = parse_skill(example, "release-check")
    assert parse_skill(render_skill(skill)) == skill and nonstandard(example) == ()
    assert (len(skill.trials), len(skill.slots), skill.conditions.group_chat) == (2, 1, False)
    folder = tmp_path / "release-check"
    folder.mkdir()
    (folder / MAIN).write_text(example)
    assert skills_ref.validate(folder) == []
