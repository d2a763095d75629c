"""The house check, on a miniature project that has the same seams as the real one."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = """
import importlib, json, os, pathlib, sys
import hermes_agent
root = pathlib.Path(hermes_agent.__file__).parent
home = pathlib.Path(os.environ["HERMES_HOME"])
memory = home / "memory"
if sys.argv[1:] == ["tools", "list", "--json"]:
    print(json.dumps([{"name": file.read_text().strip()} for file in (root / "tools" / "builtin").glob("*.py")]))
elif sys.argv[1:4] == ["config", "set", "memory.provider"]:
    home.mkdir(exist_ok=True)
    memory.write_text(sys.argv[4])
else:
    *_, model, question = sys.argv
    provider = importlib.import_module("hermes_agent.models.providers." + model.partition(":")[0])
    told = question
    if memory.exists():
        told += importlib.import_module("hermes_agent.memory.providers." + memory.read_text()).recall(question)
    print(json.dumps({"answer": provider.answer(told)}))
"""
FILES = {
    "pyproject.toml": "[tool.pytest.ini_options]\nmarkers = ['trunk']\n",
    "src/hermes_agent/__init__.py": "",
    "src/hermes_agent/harness/__init__.py": "def execute():\n    return 'done'\n",
    "src/hermes_agent/learning/__init__.py": "",
    "src/hermes_agent/skills/__init__.py": "",
    "src/hermes_agent/surfaces/cli/main.py": COMMAND,
    "src/hermes_agent/tools/builtin/__init__.py": "",
    "src/hermes_agent/models/providers/__init__.py": "",
    "src/hermes_agent/memory/providers/__init__.py": "",
    "tests/learning/test_learning.py": "import pytest, hermes_agent.learning\n@pytest.mark.trunk\ndef test_it(): ...\n",
    "tests/test_whole.py": "import hermes_agent.learning\ndef test_whole(): ...\n",
    "tests/test_harness.py": (
        "import pytest\nfrom hermes_agent.harness import execute\n"
        "@pytest.mark.trunk\ndef test_execute():\n    assert execute() == 'done'\n"
    ),
    "examples/tool.py.txt": "example_count_words",
    "examples/provider.py.txt": "def answer(question):\n    return 'you asked: ' + question\n",
    "examples/memory.py.txt": (
        "import pathlib\nKEPT = pathlib.Path(__file__).with_name('kept')\ndef recall(question):\n"
        "    before = KEPT.read_text() if KEPT.exists() else ''\n    KEPT.write_text(question)\n    return before\n"
    ),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return tmp_path


def prove(project: Path) -> tuple[int, list[str]]:
    """Exit code, and each line up to its first colon where it speaks of a step."""
    done = subprocess.run(
        [sys.executable, "-m", "scripts.check_house", project, project / "examples"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, [line for line in done.stdout.splitlines() if line.startswith(("ok ", "BROKEN "))]


def test_a_sound_house_is_proved_and_left_as_it_was(project: Path) -> None:
    before = sorted(project.rglob("*"))
    code, (trunk, examples, memory) = prove(project)
    assert (code, trunk.partition(" in ")[0]) == (0, "ok without learning, skills, memory: 1 passed")
    assert examples.startswith("ok one file each: example_count_words is listed, example:echo answers")
    assert memory.startswith("ok one file more: the memory example recalls")
    assert sorted(project.rglob("*")) == before


def test_a_trunk_that_needs_a_branch_is_broken(project: Path) -> None:
    (project / "src/hermes_agent/harness/__init__.py").write_text(
        "def execute():\n    import hermes_agent.learning\n    return 'done'\n", encoding="utf-8"
    )
    code, (trunk, *_) = prove(project)
    assert code == 1
    assert trunk.startswith("BROKEN without learning, skills, memory: `python -m pytest")


def test_a_house_without_trunk_tests_is_broken(project: Path) -> None:
    (project / "tests/test_harness.py").unlink()
    assert prove(project)[1][0] == "BROKEN without learning, skills, memory: no test carries the mark `trunk`"


def test_a_memory_that_one_file_does_not_add_is_broken(project: Path) -> None:
    (project / "examples/memory.py.txt").write_text("def recall(question):\n    return ''\n", encoding="utf-8")
    code, (*_, memory) = prove(project)
    assert code == 1
    assert memory.startswith("BROKEN one file more: the memory example did not recall the question")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("examples/provider.py.txt", "def answer(question):\n    return ''\n", "did not repeat the question"),
        ("src/hermes_agent/surfaces/cli/main.py", "print('[]')\n", "example_count_words is not among the tools"),
        ("src/hermes_agent/surfaces/cli/main.py", "print('tools: none')\n", "not the expected JSON"),
    ],
)
def test_an_example_that_one_file_does_not_add_is_broken(project: Path, file: str, text: str, said: str) -> None:
    (project / file).write_text(text, encoding="utf-8")
    code, (_, examples, *_) = prove(project)
    assert code == 1
    assert examples.startswith("BROKEN one file each: ")
    assert said in examples
