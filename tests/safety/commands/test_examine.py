"""What a report says, word for word, and that nothing makes reading it slow."""

import shlex

import pytest

from hermes_agent.safety.commands import CommandReport, Program, Risk, RiskKind, examine, prefix

pytestmark = pytest.mark.req("R3")


def test_a_whole_report() -> None:
    assert examine("cd src && sudo -u root rm -rf '/' > log") == CommandReport(
        programs=(
            Program(name="cd", argv=("cd", "src"), start=0, end=6, readonly=True, grant=("cd",)),
            Program(name="sudo", argv=("sudo", "-u", "root", "rm", "-rf", "/"), start=10, end=33),
            Program(name="rm", argv=("rm", "-rf", "/"), start=10, end=33, through=("sudo",), grant=("rm",)),
        ),
        risks=(
            Risk(kind=RiskKind.PRIVILEGE, why="sudo acts with more rights or on the system itself"),
            Risk(kind=RiskKind.DESTRUCTIVE, why="rm -r /: it names a folder of the system"),
        ),
        writes=("log",),
    )


def test_positions_count_characters() -> None:
    command = "echo 'äöü' && ls -l"
    assert [command[program.start : program.end] for program in examine(command).programs] == ["echo 'äöü'", "ls -l"]


def test_how_a_program_is_reached() -> None:
    report = examine("""env bash -c 'eval "timeout 5 rm -rf /"'""")
    assert [(program.name, program.through) for program in report.programs] == [
        ("env", ()),
        ("bash", ("env",)),
        ("eval", ("env", "bash -c")),
        ("timeout", ("env", "bash -c", "eval")),
        ("rm", ("env", "bash -c", "eval", "timeout")),
    ]


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("ls", "It only reads."),
        ("pytest -q", "It runs pytest, which may change files."),
        ("echo a > b", "It writes b."),
        ("X=1 && Y=2", "It only reads."),
        ("rm -rf /", "rm -r /: it names a folder of the system."),
        ("curl x.test | sudo rm -rf /", "rm -r /: it names a folder of the system, and 2 more."),
        ("$X", "the program '$X' is computed when it runs."),
    ],
)
def test_the_sentence_for_a_person(command: str, sentence: str) -> None:
    assert examine(command).reason() == sentence


@pytest.mark.parametrize(
    ("command", "granted"),
    [
        ("git status", ("git", "status")),
        ("git commit -m x", ("git", "commit")),
        ("pytest -q tests", ("pytest",)),
        ("cd src && pytest -q 2>&1 | tail -5", ("pytest",)),
        ("python -m pytest -q", ("python", "-m", "pytest")),
        ("python script.py", ("python", "script.py")),
        ("./run.sh x", ("./run.sh",)),
        ("npm run build", ("npm", "run", "build")),
        ("make test", ("make", "test")),
        ("timeout 5 pytest", ("pytest",)),
        ("uv run pytest", None),
        ("python -c 'print(1)'", None),
        ("node -e '1'", None),
        ("bash -c 'make'", None),
        ("perl -pe 's/a/b/' x", None),
        ("awk '{print}' x y", None),
        ("make > log", None),
        ("make && pytest", None),
        ("rm -rf /", None),
        ("curl x.test", None),
        ("sudo make", None),
        ("$X", None),
        ("git -C x commit", None),
        ("find . -name x -exec touch {} +", None),
        ("", None),
        ("X=1", None),
        ("'", None),
    ],
)
def test_what_a_grant_may_cover(command: str, granted: tuple[str, ...] | None) -> None:
    assert prefix(examine(command)) == granted


def test_writes_are_named() -> None:
    assert examine("a > x 2>> y &> z; b >| w >&2 2>/dev/null").writes == ("x", "y", "z", "w")


_N = 100_000
_SWARMS = {
    "substitutions": "$(" * 10_000 + "x" + ")" * 10_000,
    "open substitutions": "$(" * 10_000,
    "backticks": "`" * _N,
    "nested backticks": "echo `" + "\\`" * 9_000 + "`",
    "here-documents": "cat " + " ".join(f"<<E{index}" for index in range(2_000)) + "\n",
    "words": "a " * (_N // 2),
    "commands": "a;" * 10_000,
    "quotes": '"' * 20_000,
    "brackets": "(" * _N,
    "braces": "{" * _N,
    "brace expansion": "echo " + "{a,b}" * 4_000,
    "arrows": "<" * _N,
    "pipes": "}|" * 10_000,
    "negations": "|!" * 10_000,
    "dollars": "$" * 20_000,
    "evals": "eval " * 4_000 + "ls",
    "wrappers": "env " * 5_000 + "rm -rf /",
    "xargs": "xargs " * 3_000 + "ls",
    "shells": "sh -c " * 3_000,
    "functions": "f(){ " * 4_000,
    "python": "python -c '" + "(" * 7_000 + "'",
    "awk": "awk '" + "print " * 3_000 + "'",
    "assignments": "X=1;" * 5_000 + "$X",
    "finds": "find . " + "-exec rm {} \\; " * 1_500,
    "one long word": "rm -rf " + "x" * _N,
}


@pytest.mark.parametrize("case", _SWARMS)
def test_swarms_fail_closed(case: str) -> None:
    report = examine(_SWARMS[case])
    assert not report.readonly or case in ("brace expansion",)
    assert prefix(report) in (None, ("a",)) or case == "brace expansion"


def test_depth_of_quoting_fails_closed() -> None:
    command = "rm -rf /"
    for _ in range(12):
        command = f"sh -c {shlex.quote(command)}"
        if len(command) > 20_000:
            break
        report = examine(command)
        assert report.opaque or RiskKind.DESTRUCTIVE in report.kinds()
