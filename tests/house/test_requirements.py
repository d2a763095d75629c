import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from scripts.marks import MarkedTest, UnreadableMark, marked_tests
from scripts.requirements import Coverage, Row, coverage

ROOT = Path(__file__).resolve().parents[2]
REGISTER = "# Register\n| id | title |\n|---|---|\n| R1 | It starts |\n| R2 | It goes on |\n| H1 | It learns |\n"
TESTS = """
import pytest
from pytest import mark

pytestmark = [pytest.mark.trunk]

@pytest.mark.req("R1")
@pytest.mark.req("R2", "R1")
def test_first(): ...

@mark.req("R2")
class TestGroup:
    pytestmark = mark.slow

    async def test_inside(self): ...

    def help_inside(self): ...

@pytest.mark.parametrize("case", [pytest.param(1, marks=pytest.mark.req("R2")), 2])
def test_cases(case): ...

def prepare(): ...
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "requirements.md").write_text(REGISTER, encoding="utf-8")
    (tmp_path / "tests" / "deep").mkdir(parents=True)
    (tmp_path / "tests" / "deep" / "test_a.py").write_text(TESTS, encoding="utf-8")
    return tmp_path


def requirements(root: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "scripts.requirements", "--root", str(root), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_marks_are_found_wherever_pytest_finds_them(tree: Path) -> None:
    found = [(marked.test.partition("::")[2], marked.mark, marked.arguments) for marked in marked_tests(tree)]
    assert found == [
        ("test_first", "trunk", ()),
        ("test_first", "req", ("R1",)),
        ("test_first", "req", ("R2", "R1")),
        ("TestGroup::test_inside", "trunk", ()),
        ("TestGroup::test_inside", "req", ("R2",)),
        ("TestGroup::test_inside", "slow", ()),
        ("test_cases", "trunk", ()),
        ("test_cases", "parametrize", ()),
        ("test_cases", "req", ("R2",)),
    ]
    first = MarkedTest(test="tests/deep/test_a.py::test_first", line=9, mark="trunk", arguments=())
    assert marked_tests(tree)[0] == first


def test_rows_know_their_tests(tree: Path) -> None:
    file = "tests/deep/test_a.py"
    every = (f"{file}::test_first", f"{file}::TestGroup::test_inside", f"{file}::test_cases")
    rows = (
        Row(id="R1", title="It starts", tests=every[:1]),
        Row(id="R2", title="It goes on", tests=every),
        Row(id="H1", title="It learns", tests=()),
    )
    assert coverage(tree) == Coverage(rows=rows, unknown=())

    as_json = requirements(tree, "--json")
    assert (as_json.returncode, msgspec.json.decode(as_json.stdout, type=tuple[Row, ...])) == (0, rows)
    missing = requirements(tree, "--missing")
    assert (missing.returncode, missing.stdout) == (0, "H1  | It learns | -\n2 of 3 rows have tests\n")


def test_an_unknown_row_is_an_error(tree: Path) -> None:
    (tree / "tests" / "test_b.py").write_text(
        "import pytest\npytestmark = pytest.mark.req('R9')\ndef test_b(): ...\n", encoding="utf-8"
    )
    done = requirements(tree)
    assert (done.returncode, done.stderr) == (1, "no such row: tests/test_b.py::test_b: R9\n")


@pytest.mark.parametrize("mark", ["req(ROW)", "req()", "req('R1', note='x')"])
def test_a_mark_that_cannot_be_read_is_an_error(tree: Path, mark: str) -> None:
    (tree / "tests" / "test_b.py").write_text(
        f"import pytest\n@pytest.mark.{mark}\ndef test_b(): ...\n", encoding="utf-8"
    )
    with pytest.raises(UnreadableMark, match=r"tests/test_b\.py::test_b"):
        coverage(tree)
    assert requirements(tree).returncode == 1


def test_the_register_is_whole_and_its_titles_are_short() -> None:
    found = coverage(ROOT)
    counts = {"H": 16, "A": 15, "S": 12, "R": 14, "L": 12, "B": 8}
    expected = [f"{letter}{number}" for letter, count in counts.items() for number in range(1, count + 1)]
    assert [row.id for row in found.rows] == expected
    assert [row.title for row in found.rows if len(re.split(r"\s+", row.title)) > 12] == []
    assert found.unknown == ()
