"""Prove the house on a copy: the trunk stands without its branches, and one new file adds one thing.

1. `learning/`, `skills/` and `memory/` are removed and the tests marked `trunk` still pass.
2. One new file in `tools/builtin/` is a tool that the command line lists.
3. One new file in `models/providers/` is a model that answers.
4. The branches are put back, and one new file in `memory/providers/` is a memory that recalls what was said.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from scripts.marks import marked_tests

PACKAGE = Path("src", "hermes_agent")
BRANCHES = ("learning", "skills", "memory")
EXAMPLES = Path(__file__).parent / "house_examples"
ADDED = {
    "tool.py.txt": PACKAGE / "tools" / "builtin" / "example_tool.py",
    "provider.py.txt": PACKAGE / "models" / "providers" / "example.py",
}
MEMORY = PACKAGE / "memory" / "providers" / "example.py"
TOOL = "example_count_words"
MODEL = "example:echo"
QUESTION = "is the house standing"
NEXT_QUESTION = "what did I ask before"
COMMAND = ("-m", "hermes_agent.surfaces.cli.main")
STEP_SECONDS = 180
SHOWN_LINES = 40
JUNK = shutil.ignore_patterns("__pycache__", ".*")


T = TypeVar("T")


class Broken(Exception):
    """What did not hold, with the output that shows it."""


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """The part of `hermes run --json` that the check reads."""

    answer: str


class ListedTool(msgspec.Struct, frozen=True, kw_only=True):
    """The part of `hermes tools list --json` that the check reads."""

    name: str


class House:
    """A copy of the project in `folder`, and the ways to ask it something."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workspace = folder / "workspace"

    @property
    def folder(self) -> Path:
        return self._folder

    def build(self, root: Path) -> None:
        """Copy what the tests and the command need, without the branches and their tests."""
        for name in ("src", "tests"):
            shutil.copytree(root / name, self._folder / name, ignore=JUNK, symlinks=True)
        shutil.copy(root / "pyproject.toml", self._folder)
        self._workspace.mkdir()
        for branch in BRANCHES:
            for part in (PACKAGE / branch, Path("tests") / branch):
                shutil.rmtree(self._folder / part, ignore_errors=True)
        self._check_import()

    def restore(self, root: Path) -> None:
        """Put the branches back."""
        for branch in BRANCHES:
            if (root / PACKAGE / branch).is_dir():
                shutil.copytree(root / PACKAGE / branch, self._folder / PACKAGE / branch, ignore=JUNK, symlinks=True)

    def add(self, template: Path, place: Path) -> None:
        """Add one file where its kind is looked for."""
        if not (self._folder / place).parent.is_dir():
            raise Broken(f"{place.parent} does not exist")
        shutil.copy(template, self._folder / place)

    def _check_import(self) -> None:
        where = self.ask("-c", "import hermes_agent; print(hermes_agent.__file__)").strip()
        if not Path(where).is_relative_to(self._folder):
            raise Broken(f"the copy is not what is imported, but {where}")

    def ask(self, *arguments: str, directory: Path | None = None) -> str:
        """Run the copy's Python and return what it printed. Raises Broken when it fails."""
        command = [sys.executable, *arguments]
        try:
            done = subprocess.run(
                command,
                cwd=directory or self._workspace,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=STEP_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise Broken(f"`python {' '.join(arguments)}` did not end within {STEP_SECONDS} s") from error
        if done.returncode:
            lines = (done.stdout + done.stderr).splitlines()[-SHOWN_LINES:]
            raise Broken("\n".join([f"`python {' '.join(arguments)}` ended with {done.returncode}", *lines]))
        return done.stdout

    def _environment(self) -> dict[str, str]:
        """The caller's environment without what could lead back to the original or to a real model."""
        foreign = re.compile(r"HERMES_|OPENAI_|PYTEST_|PYTHON|COV_")
        kept = {name: value for name, value in os.environ.items() if not foreign.match(name)}
        return kept | {"PYTHONPATH": str(self._folder / "src"), "HERMES_HOME": str(self._folder / "home")}


def trunk_stands(house: House) -> str:
    """Run the tests marked `trunk`; only their files are collected, since others may need what was removed."""
    files = dict.fromkeys(
        marked.test.partition("::")[0] for marked in marked_tests(house.folder) if marked.mark == "trunk"
    )
    if not files:
        raise Broken("no test carries the mark `trunk`")
    options = ("-q", "-m", "trunk", "-p", "no:cacheprovider", "-p", "no:xdist")
    return house.ask("-m", "pytest", *options, *files, directory=house.folder).strip().splitlines()[-1]


def examples_are_one_file(house: House, examples: Path) -> str:
    """Add one file for each example and use it through the command line."""
    for template, place in ADDED.items():
        house.add(examples / template, place)
    if (house.folder / PACKAGE / "tools" / "discovery.py").exists():
        house.ask("-m", "hermes_agent.tools.discovery")
    listed = house.ask(*COMMAND, "tools", "list", "--json")
    if TOOL not in {tool.name for tool in _decode(listed, list[ListedTool])}:
        raise Broken(f"{TOOL} is not among the tools:\n{listed}")
    said = _said(house, QUESTION)
    if QUESTION not in said:
        raise Broken(f"{MODEL} did not repeat the question:\n{said}")
    return f"{TOOL} is listed, {MODEL} answers"


def memory_is_one_file(house: House, root: Path, examples: Path) -> str:
    """Put the branches back, add one file, and ask the model, which repeats what it is told, twice."""
    house.restore(root)
    house.add(examples / "memory.py.txt", MEMORY)
    house.ask(*COMMAND, "config", "set", "memory.provider", MEMORY.stem)
    before, after = _said(house, QUESTION), _said(house, NEXT_QUESTION)
    if QUESTION not in before or QUESTION not in after:
        raise Broken(f"the memory {MEMORY.stem} did not recall the question:\n{after}")
    return f"the memory {MEMORY.stem} recalls"


def _said(house: House, question: str) -> str:
    return _decode(house.ask(*COMMAND, "run", "--json", "--model", MODEL, question), Answer).answer


def _decode(text: str, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Broken(f"not the expected JSON ({error}):\n{text}") from error


def prove(root: Path, examples: Path) -> int:
    """Go through the steps, say how each ended; 1 if one did not hold."""
    failed = 0
    with tempfile.TemporaryDirectory(prefix="house-") as folder:
        house = House(Path(folder).resolve())
        try:
            house.build(root)
        except Broken as broken:
            print(f"BROKEN copy: {broken}")
            return 1
        steps: dict[str, Callable[[], str]] = {
            f"without {', '.join(BRANCHES)}": lambda: trunk_stands(house),
            "one file each": lambda: examples_are_one_file(house, examples),
            "one file more": lambda: memory_is_one_file(house, root, examples),
        }
        for name, step in steps.items():
            began = time.monotonic()
            try:
                print(f"ok {name}: {step()} ({time.monotonic() - began:.1f} s)")
            except Broken as broken:
                print(f"BROKEN {name}: {broken}")
                failed = 1
    return failed


def main(arguments: list[str]) -> int:
    """Arguments: the project's folder (default: here), the folder of the example templates."""
    root, examples = (*map(Path, arguments), *(Path.cwd(), EXAMPLES)[len(arguments) :])
    return prove(root, examples)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
