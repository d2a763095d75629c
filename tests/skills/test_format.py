"""SKILL.md: what is read, what is refused and how it is said, and that what we write is standard and reads back."""

import json
import os
from pathlib import Path

import pytest
import skills_ref
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from hermes_agent.skills.format import (
    MAX_SKILL,
    SkillProblem,
    nonstandard,
    parse_skill,
    render_skill,
)
from hermes_agent.skills.skill import MAIN, Conditions, Skill, Slot, Trial
from hermes_agent.skills.slots import snippet_problems

FULL_SWEEP = os.environ.get("HERMES_TEST_FULL") == "1"
FULL = Skill(
    name="csv-analysis",
    description="Look at a CSV file: columns, gaps --- and sums",
    body="# Steps\n\n---\n\n1. Count {{file}}: !`wc -l {{file}}`\n",
    license="MIT",
    compatibility="Python 3.11",
    allowed_tools="terminal read_file",
    category="data",
    tags=("csv", "a: b", "true", "3"),
    triggers=("a CSV file is to be\nunderstood", "sums over columns"),
    conditions=Conditions(platforms=("linux",), group_chat=False, tools=("terminal",), environment=("HOME",)),
    slots=(Slot(name="file"), Slot(name="rows", default="", description="how many"), Slot(name="n", default="3")),
    dependencies=("python>=3.11",),
    template="templates/report.md",
    success_criteria=("the sums agree",),
    pitfalls=("files with a BOM: \ufeff", " spaces "),
    trials=(
        Trial(
            name="small",
            run="python skill/scripts/count.py {{file}}\necho done",
            files={"a.csv": "x,y\n1,2\n", "folder/b.csv": "\n\n"},
            parameters={"file": "a.csv"},
            exit=3,
            contains=("done",),
        ),
    ),
    other={"version": "1.0", "vendor": '{"tags": ["a", {"b": "c"}], "deep": [["d"]]}', "empty": "[]", "said": "null"},
)
STANDARD = "---\nname: weather\ndescription: Tell the weather.\n---\n\nLook out of the window.\n"


def problems_of(text: str | bytes, folder_name: str = "") -> tuple[str, ...]:
    """What `parse_skill` says against a text."""
    with pytest.raises(SkillProblem) as raised:
        parse_skill(text, folder_name)
    return raised.value.problems


def with_front(front: str) -> str:
    """A skill with these lines beside its name and description."""
    return f"---\nname: weather\ndescription: Tell the weather.\n{front}---\nBody\n"


@pytest.mark.req("A5")
def test_everything_reads_back_as_it_was_and_is_standard(tmp_path: Path) -> None:
    text = render_skill(FULL)
    folder = tmp_path / FULL.name
    folder.mkdir()
    (folder / MAIN).write_text(text)
    assert parse_skill(text, FULL.name) == FULL
    assert parse_skill(text.encode(), FULL.name) == FULL
    assert skills_ref.validate(folder) == []
    assert nonstandard(text) == ()


def test_what_we_write_is_for_people() -> None:
    skill = Skill(
        name="weather",
        description="Tell the weather of a city.",
        body="Look out.",
        slots=(Slot(name="city"), Slot(name="days", default="3")),
        pitfalls=("Rain, mostly",),
    )
    assert render_skill(skill) == (
        "---\nname: weather\ndescription: Tell the weather of a city.\nmetadata:\n  parameters:\n    - name: city\n"
        '    - name: days\n      default: "3"\n  pitfalls:\n    - Rain, mostly\n---\n\nLook out.\n'
    )


@pytest.mark.parametrize(
    ("text", "skill"),
    [
        (STANDARD, Skill(name="weather", description="Tell the weather.", body="Look out of the window.")),
        ("\ufeff" + STANDARD.replace("\n", "\r\n"), parse_skill(STANDARD)),
        ("---\nname: a\ndescription: >-\n  one\n  two\n---", Skill(name="a", description="one two", body="")),
        (
            "---\nname: 'a'\ndescription: |\n  b\nallowed-tools: [Read, 'Bash(git:*)']\n"
            "metadata: {version: 2.0, tags: 'x, y'}\n---\n",
            Skill(
                name="a",
                description="b",
                body="",
                allowed_tools="Read Bash(git:*)",
                tags=("x", "y"),
                other={"version": "2.0"},
            ),
        ),
        (
            "---\nname: a\ndescription: b\nversion: 1\ntriggers: when\nmetadata:\n  tests: none yet\n  note:\n---\nc",
            Skill(
                name="a",
                description="b",
                body="c",
                triggers=("when",),
                other={"version": "1", "tests": "none yet", "note": ""},
            ),
        ),
        (
            "---\nname: a\ndescription: b\nmetadata:\n  parameters:\n  - city\n  - name: n\n    default:\n---\n",
            Skill(name="a", description="b", body="", slots=(Slot(name="city"), Slot(name="n", default=""))),
        ),
    ],
)
def test_what_others_wrote_loads_and_survives(text: str, skill: Skill) -> None:
    assert parse_skill(text) == skill
    assert parse_skill(render_skill(skill)) == skill


def test_fields_the_standard_does_not_know_are_named() -> None:
    assert nonstandard(with_front("version: 1\nauthor: me\n")) == ("version", "author")


def test_every_problem_is_named_with_its_line() -> None:
    text = (
        "---\nname: My--Skill\nlicense:\n  - MIT\nmetadata:\n  conditions:\n    os: linux\n    group-chat: maybe\n"
        "  parameters:\n    - name: 1st\n    - name: city\n    - name: city\n      colour: red\n  template: ../x\n"
        "  tests:\n    - run: \"echo '{{city}}'\"\n      exit: 999\n      files:\n        skill/SKILL.md: x\n"
        "name: again\n"
        '---\n\nbody\n!`echo "{{city}}"`\n'
    )
    assert problems_of(text, "my-skill") == (
        "line 1: 'description' is missing",
        "line 2: name 'My--Skill' must be small letters a-z, digits and single hyphens between them",
        "line 3: 'license' must be a text, not a list or a mapping",
        "line 7: 'conditions' has no 'os'; it may have platforms, group-chat, tools, environment",
        "line 8: 'group-chat' must be true or false",
        "line 10: a parameter needs a name of letters, digits, _ and -, beginning with a letter or _, not '1st'",
        "line 12: there are two parameters called 'city'",
        "line 13: 'parameters.2' has no 'colour'; it may have name, default, description",
        "line 14: the path '../x' has a part that is hidden, leads upwards, or ends in a dot or a space",
        "line 16: a test needs 'name'",
        "line 16: write {{city}} without quotes around it in a command: its value is quoted already",
        "line 17: 'exit' must be a number from 0 to 255",
        "line 19: the path 'skill/SKILL.md' is taken: the skill itself lies in skill/",
        "line 20: 'name' is given twice; keep one of them",
        "line 24: write {{city}} without quotes around it in a command: its value is quoted already",
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: SKILL.md must begin with a line of three hyphens (---) and its front matter"),
        ("# Title\n", "line 1: SKILL.md must begin with a line of three hyphens (---) and its front matter"),
        ("---\nname: a\n", "line 1: the front matter is not closed; put a line of three hyphens (---) behind it"),
        ("---\n- a\n---\n", "line 2: the front matter must be a mapping such as `name: my-skill`"),
        ("---\n---\n", "line 2: the front matter must be a mapping such as `name: my-skill`"),
        (b"---\nname: a\n# \xff\n---\n", "line 3: byte 0xff is not UTF-8"),
        ("---\nname: a\n---\na\0b", "line 4: a NUL character; remove it"),
        (with_front('license: "a\\0b"\n'), "line 4: the front matter holds a NUL or half a character; remove it"),
        ("---\nname: a\ud800\n---\n", "line 2: half a character (a lone surrogate); remove it"),
        (with_front("license: &x a\n"), "line 4: YAML anchors (&x) are refused; write the value out"),
        (with_front("license: *x\n"), "line 4: YAML aliases (*x) are refused; write the value out"),
        (
            with_front("license: !!python/object/apply:os.system [ls]\n"),
            "line 4: YAML tags (tag:yaml.org,2002:python/object/apply:os.system) are refused; write a plain value",
        ),
        (with_front("? [a]\n: b\n"), "line 4: a key must be a word, not a list or a mapping"),
        (with_front("metadata: " + "[" * 9 + "]" * 9 + "\n"), "line 4: the front matter is nested more than 8 deep"),
        (with_front("metadata: [" + "a," * 4000 + "]\n"), "line 4: the front matter has more than 4000 values"),
        (with_front("license: a\n--- b\n"), "line 5: the front matter must be one YAML document"),
        (with_front("license: a\n...\nb: c\n"), None),
        (with_front("a" * 121 + ": b\n"), "line 4: a key is longer than 120 characters"),
        (with_front("license: a\nLicense: [b\n"), None),
        (with_front("license: a\n  b: c\n"), None),
        (with_front("license: 'a\n"), None),
        ("---\nname: a\ndescription: ' '\n---\n", "line 3: 'description' is empty"),
        (
            "---\nname: a\ndescription: " + "b" * 1025 + "\n---\n",
            "line 3: 'description' is longer than 1024 characters (1025)",
        ),
        (
            "---\nname: " + "a" * 65 + "\ndescription: b\n---\n",
            "line 2: 'name' is longer than 64 characters (65)",
        ),
        (with_front("metadata: text\n"), "line 4: 'metadata' must be a mapping"),
        (with_front("x: 1\nmetadata:\n  x: 2\n"), "line 4: 'x' is given here and under metadata; keep the latter"),
        (with_front("metadata:\n  tags: {a: b}\n"), "line 5: 'tags' must be a list of texts"),
        (with_front("metadata:\n  tests: {a: b}\n"), "line 5: 'tests' must be a list"),
        (
            with_front("metadata:\n  template: x.md\n"),
            "line 5: 'x.md' is no support file's path (put it into one of references/, templates/, scripts/, assets/)",
        ),
        ("x" * (MAX_SKILL + 1), "SKILL.md is larger than 100,000 bytes"),
        ("é" * (MAX_SKILL - 1), "SKILL.md is larger than 100,000 bytes"),
    ],
)
def test_what_does_not_fit_is_refused(text: str | bytes, problem: str | None) -> None:
    found = problems_of(text)
    assert len(found) == 1
    if problem is not None:
        assert found == (problem,)


@pytest.mark.parametrize(
    "name", ["Weather", "wetter-ä", "-a", "a-", "a--b", "a b", "a_b", "a/b", "..", "ａ", "a\u200b"]
)
def test_names_are_plain(name: str) -> None:
    assert len(problems_of(f'---\nname: "{name}"\ndescription: b\n---\n')) == 1


def test_the_folder_must_have_the_name() -> None:
    assert problems_of(STANDARD, "wind") == (
        "line 2: the skill is called 'weather' but its folder 'wind'; make them the same",
    )


def test_a_bomb_of_aliases_is_refused_before_it_grows() -> None:
    layers = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9) if n else 'x'}]\n" for n in range(30))
    assert problems_of(f"---\n{layers}---\n") == ("line 2: YAML anchors (&a0) are refused; write the value out",)


def test_very_many_problems_are_counted() -> None:
    tests = "".join(f"    - {{name: t{n}, run: x, exit: no}}\n" for n in range(50))
    found = problems_of(with_front(f"metadata:\n  tests:\n{tests}"))
    assert found[0] == "line 6: 'exit' must be a number from 0 to 255"
    assert found[40:] == ("and 10 more problems",)


def test_what_cannot_be_read_back_is_not_written() -> None:
    with pytest.raises(SkillProblem, match="small letters"):
        render_skill(Skill(name="../x", description="b", body=""))
    with pytest.raises(SkillProblem, match="larger than"):
        render_skill(Skill(name="a", description="b", body="c" * MAX_SKILL))
    with pytest.raises(SkillProblem, match="may not be called tags"):
        render_skill(Skill(name="a", description="b", body="", tags=("c",), other={"tags": "d"}))


LETTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
TEXT = st.one_of(
    st.text(LETTERS, max_size=20),
    st.text("ab:-#'\"\\{}[]\n\t |>&*!%@`~, \x85\u2028\ufeff", max_size=12),
    st.sampled_from(
        ("---", "-----", "null", "~", "true", "1.5", "yes", "a: b", "a #b", " x ", "a\n\nb\n", "a\n  b", "\n")
    ),
)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
NAMES = st.from_regex(r"[a-z0-9]{1,8}(-[a-z0-9]{1,5}){0,3}", fullmatch=True)
SLOT_NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,8}", fullmatch=True)
PATHS = st.from_regex(r"[a-z][a-z0-9_]{0,6}(/[a-z]{1,4}\.[a-z]{1,3})?", fullmatch=True).filter(
    lambda path: path.split("/")[0] != "skill"
)
SLOTS = st.lists(
    st.builds(Slot, name=SLOT_NAMES, default=st.none() | TEXT, description=TEXT),
    max_size=3,
    unique_by=lambda slot: slot.name,
).map(tuple)
TRIALS = st.lists(
    st.builds(
        Trial,
        name=TEXT.filter(str.strip),
        run=TEXT.filter(str.strip),
        files=st.dictionaries(PATHS, TEXT, max_size=2),
        parameters=st.dictionaries(TEXT, TEXT, max_size=2),
        exit=st.integers(0, 255),
        contains=TEXTS,
    ),
    max_size=2,
    unique_by=lambda trial: trial.name,
).map(tuple)
NESTED = st.recursive(
    TEXT, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3), max_leaves=6
)


def as_json(value: object) -> str:
    """Unknown metadata as a skill keeps it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


CONDITIONS = st.builds(
    Conditions, platforms=TEXTS, group_chat=st.none() | st.booleans(), tools=TEXTS, environment=TEXTS
)
SKILLS = st.builds(
    Skill,
    name=NAMES,
    description=TEXT.map(str.strip).filter(bool),
    body=st.text(LETTERS, max_size=60).map(lambda text: text.replace("\r", ""))
    | st.sampled_from(("\n", "---\n", "\n\na\n\n")),
    license=TEXT.map(str.strip),
    compatibility=TEXT.map(str.strip),
    allowed_tools=TEXT.map(str.strip),
    category=TEXT,
    tags=TEXTS,
    triggers=TEXTS,
    conditions=CONDITIONS,
    slots=SLOTS,
    dependencies=TEXTS,
    template=st.just("") | PATHS.map(lambda path: f"scripts/{path}"),
    success_criteria=TEXTS,
    pitfalls=TEXTS,
    trials=TRIALS,
    other=st.dictionaries(TEXT, NESTED.map(as_json), max_size=3),
).filter(lambda skill: not any(snippet_problems(skill.body, [slot.name for slot in skill.slots])))


@settings(
    max_examples=2000 if FULL_SWEEP else 40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
@given(SKILLS)
@example(FULL)
def test_any_skill_reads_back_as_it_was(skill: Skill) -> None:
    text = render_skill(skill)
    assert parse_skill(text, skill.name) == skill
    assert parse_skill(text.encode()) == skill
    assert render_skill(parse_skill(text)) == text


@settings(max_examples=300 if FULL_SWEEP else 12, suppress_health_check=list(HealthCheck))
@given(SKILLS)
def test_whatever_we_write_the_reference_accepts(tmp_path: Path, skill: Skill) -> None:
    folder = tmp_path / skill.name
    folder.mkdir(exist_ok=True)
    (folder / MAIN).write_text(render_skill(skill))
    assert skills_ref.validate(folder) == []
    read = skills_ref.read_properties(folder)
    assert (read.name, read.description) == (skill.name, skill.description)


@settings(max_examples=10_000 if FULL_SWEEP else 250)
@given(
    st.binary(max_size=200)
    | st.binary(max_size=80).map(lambda data: b"---\n" + data + b"\n---\n" + data)
    | st.text("ab:-#'\"\\{}[]\n\t |>&*!%@`~,0?", max_size=80).map(
        lambda text: f"---\nname: a\n{text}\n---\n{text}".encode()
    )
)
@example(b'---\na: "\\UFFFFFFFF"\n---\n')
@example(b"---\n%YAML 99999999999999999999.1\n--- a\n---\n")
@example(b"---\n? ? ? a\n---\n")
def test_no_bytes_raise_anything_but_a_problem(data: bytes) -> None:
    try:
        skill = parse_skill(data)
    except SkillProblem as error:
        assert error.problems
        assert all("\n" not in problem for problem in error.problems)
    else:
        assert parse_skill(render_skill(skill)) == skill
