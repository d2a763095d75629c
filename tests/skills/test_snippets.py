"""Slots and commands in a skill's text: filled, run where that is allowed, and never by what a value says."""

import asyncio
import os
import shlex
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.skills.format import SkillProblem, filled, usage
from hermes_agent.skills.skill import Origin, Shelf, Skill, Slot
from hermes_agent.skills.slots import SNIPPET, command_problem, filled_command
from hermes_agent.skills.snippets import MAX_OUTPUT, MAX_SNIPPETS, SECONDS, expanded, is_trusted
from hermes_agent.skills.trials import SandboxRunner, sandboxed
from hermes_agent.types.tools import ToolResult

CITY = Skill(
    name="weather",
    description="Tell the weather.",
    body="Weather of {{city}} for {{ days }} days; {{other}} stays.",
    slots=(Slot(name="city", description="where"), Slot(name="days", default="3")),
)


def skill_with(body: str, *names: str) -> Skill:
    """A skill with a body and required slots."""
    return Skill(name="a", description="b", body=body, slots=tuple(Slot(name=name) for name in names))


@pytest.mark.req("A5")
@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("Berlin", "Weather of Berlin for 3 days; {{other}} stays."),
        ("Berlin 5", "Weather of Berlin for 5 days; {{other}} stays."),
        ("days=5 'New York'", "Weather of New York for 5 days; {{other}} stays."),
        ("city= days=5", "Weather of  for 5 days; {{other}} stays."),
        ("Berlin 5 and be quick", "Weather of Berlin for 5 days; {{other}} stays.\n\nRequest: and be quick"),
        ('city="{{days}} {{other}}"', "Weather of {{days}} {{other}} for 3 days; {{other}} stays."),
        ("city='!`id`'", "Weather of !\\`id` for 3 days; {{other}} stays."),
        ("'Zürich\n1' https://x/?a=b", "Weather of Zürich\n1 for https://x/?a=b days; {{other}} stays."),
        (r"city=\\1", r"Weather of \1 for 3 days; {{other}} stays."),
    ],
)
def test_slots_are_filled_by_name_or_place(arguments: str, text: str) -> None:
    assert filled(CITY, arguments) == text


@pytest.mark.parametrize(
    ("arguments", "problems"),
    [
        ("", ("'city' (where) is missing",)),
        ("town=Berlin", ("'town' is no parameter of weather; it has city, days", "'city' (where) is missing")),
        ("city=a city=b", ("'city' is given twice",)),
        ("city='a", ("a quotation mark or a backslash in the arguments is not closed",)),
        ("city=a\\", ("a quotation mark or a backslash in the arguments is not closed",)),
    ],
)
def test_arguments_that_do_not_fit_say_why_and_how(arguments: str, problems: tuple[str, ...]) -> None:
    with pytest.raises(SkillProblem) as raised:
        filled(CITY, arguments)
    assert raised.value.problems == problems
    assert raised.value.advice == "as in /weather city=… [days=3]"
    assert usage(CITY) == "/weather city=… [days=3]"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [("", "Look out.\n"), ("don't a=b !`id`", "Look out.\n\nRequest: don't a=b !\\`id`")],
)
def test_without_slots_everything_is_the_request(arguments: str, text: str) -> None:
    assert filled(Skill(name="a", description="b", body="Look out.\n"), arguments) == text


VALUES = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=15) | st.text(
    "!`{}x \n'\"\\$()", max_size=12
)
BODIES = st.lists(
    st.sampled_from(("{{x}}", "{{y}}", "!", "`", " ", "\n", "!`", "echo ", " !`echo {{x}}` ", "\n!`id`", "a")),
    max_size=8,
).map("".join)


@settings(max_examples=5_000 if os.environ.get("HERMES_TEST_FULL") == "1" else 200)
@given(BODIES, VALUES, VALUES)
@example("{{x}}`id`", "!", "")
@example("!{{x}}", "`id`", "")
@example("{{x}}!`id`", " ", "")
@example("{{x}}{{y}}", "!", "`id`")
@example("{{x}}", "{{y}}", "secret")
def test_no_value_makes_a_command_or_a_slot(body: str, x: str, y: str) -> None:
    skill = skill_with(body, "x", "y")
    arguments = f"x={shlex.quote(x)} y={shlex.quote(y)}"
    try:
        text = filled(skill, arguments)
    except SkillProblem:
        assert any("{{" in found[1] for found in SNIPPET.finditer(body))
        return
    written = [filled_command(found[1], {"x": x, "y": y}) for found in SNIPPET.finditer(body)]
    assert [found[1] for found in SNIPPET.finditer(text)] == written
    if "!`" not in body and "!`" not in x + y and "{{" in body:
        assert text.replace("!\\`", "!`") == y.join(x.join(body.split("{{x}}")).split("{{y}}")) or "{{" in x + y


@settings(max_examples=200)
@given(st.text(st.characters(exclude_characters="\0`\n\r", exclude_categories=["Cs"]), max_size=20))
@example("'; id; '")
@example("$(id)")
def test_a_value_in_a_command_is_one_word(value: str) -> None:
    command = filled_command("printf %s {{x}} --to={{x}}", {"x": value})
    assert shlex.split(command) == ["printf", "%s", value, f"--to={value}"]


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("echo '{{x}}'", "without quotes"),
        ('echo "$(cat {{x}})"', "without quotes"),
        ("echo $'a\\'b {{x}}'", "may not use $'"),
        ("echo $(( {{x}} ))", "may not use (("),
        ("[[ 1 -eq {{x}} ]]", "may not use [["),
        ("cat <<EOF\n{{x}}\nEOF", "may not use <<"),
        ("echo `cat {{x}}`", "may not use `"),
        ("echo \\{{x}}", "backslash"),
        ("echo a # {{x}}", "comment"),
        ("echo a # it's\necho 'b {{x}}'", "without quotes"),
        ('echo "\\" {{x}}"', "without quotes"),
    ],
)
def test_places_where_quoting_would_not_hold_are_refused(command: str, says: str) -> None:
    assert says in command_problem(command, ["x"])
    assert command_problem(command, ["y"]) == ""
    with pytest.raises(SkillProblem):
        filled_command(command, {"x": "a"})


@pytest.mark.parametrize(
    "command",
    [
        "echo {{x}}",
        "echo 'a' \"b\" {{x}} 'c'",
        "echo a#b {{x}}",
        "echo \\' {{x}}",
        "echo $(cat {{x}})",
        "a 'b\\' {{x}}",
    ],
)
def test_ordinary_places_are_not(command: str) -> None:
    assert command_problem(command, ["x"]) == ""


@pytest.mark.parametrize("value", ["a\nid", "`id`", "a\rb"])
def test_values_that_would_leave_a_command_are_refused(value: str) -> None:
    with pytest.raises(SkillProblem, match="no line break and no backtick"):
        filled(skill_with("!`echo {{x}}`", "x"), f"x={shlex.quote(value)}")


@pytest.fixture
def runner() -> SandboxRunner:
    """The sandbox in which skills' commands run."""
    return sandboxed(SandboxSettings(), {"PATH": os.environ["PATH"], "HOME": "/nonexistent"})


@pytest.mark.req("A5")
def test_commands_run_in_the_sandbox_for_what_is_trusted(tmp_path: Path, runner: SandboxRunner) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    body = skill_with("See !`cat a.txt; echo '!'\\\\140id\\\\140`.\n!`printf %s {{x}}` and Wow!`no` !`exit 3` !``", "x")
    text = asyncio.run(expanded(filled(body, "'$(id); \"'\\''b'"), True, runner, tmp_path))
    first, rest = text.split(".\n", 1)
    assert first.startswith("See one\n!")
    assert rest.startswith("$(id); \"'b and Wow!`no` [`exit 3` failed (")
    assert rest.endswith("!``")


class Recording:
    """A runner that answers at once and keeps what it was asked."""

    def __init__(self, text: str = "") -> None:
        self.asked: list[tuple[str, Path, float]] = []
        self._text = text

    async def __call__(self, command: str, *, directory: Path, timeout: float) -> ToolResult:
        self.asked.append((command, directory, timeout))
        return ToolResult(text=self._text)


def test_nothing_runs_for_what_is_not_trusted(tmp_path: Path) -> None:
    recording = Recording()
    text = asyncio.run(expanded("Do !`rm -rf /`.", False, recording, tmp_path))
    assert text == "Do !`rm -rf /` [not run: neither the user nor the product wrote this skill]."
    assert recording.asked == []


def test_output_is_cut_and_not_looked_through_and_commands_are_few(tmp_path: Path) -> None:
    recording = Recording(" !`id` " + "x" * 10_000)
    body = " ".join(f"!`run {number}`" for number in range(MAX_SNIPPETS + 1))
    text = asyncio.run(expanded(body, True, recording, tmp_path))
    assert recording.asked == [(f"run {number}", tmp_path, SECONDS) for number in range(MAX_SNIPPETS)]
    assert text.endswith(f"!`run {MAX_SNIPPETS}` [not run: a skill may run {MAX_SNIPPETS} commands]")
    assert text.count("!`id`") == MAX_SNIPPETS
    assert len(text) <= MAX_SNIPPETS * (MAX_OUTPUT + 1) + 100


@pytest.mark.parametrize(
    ("shelf", "origin", "trusted"),
    [
        (Shelf.USER, Origin.USER, True),
        (Shelf.BUNDLED, Origin.BUNDLED, True),
        (Shelf.USER, Origin.FOREGROUND, False),
        (Shelf.USER, Origin.REVIEW, False),
        (Shelf.USER, Origin.HUB, False),
        (Shelf.PROJECT, Origin.PROJECT, False),
        (Shelf.PROJECT, Origin.USER, False),
        (Shelf.HUB, Origin.HUB, False),
        (Shelf.TEAM, Origin.TEAM, False),
    ],
)
def test_only_the_users_own_and_the_products_are_trusted(shelf: Shelf, origin: Origin, trusted: bool) -> None:
    assert is_trusted(shelf, origin) is trusted
