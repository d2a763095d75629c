"""The command with an editor of our own, and skills written by hand."""

from __future__ import annotations

import sys
from pathlib import Path

from hermes_agent.skills.format import render_skill
from hermes_agent.skills.skill import MAIN, Skill, Trial
from tests.cli.command import Hermes
from tests.cli.forked import ForkedHermes

GREET = Skill(
    name="greet",
    description="Greet people politely. Use when somebody says hello.",
    body="# Greet\n\nSay **hello** first.",
    trials=(
        Trial(name="hello", run="sh skill/scripts/greet.sh", contains=("hello",)),
        Trial(name="nobody", run="sh skill/scripts/greet.sh nobody", exit=3),
    ),
)
SCRIPT = 'test "$1" = nobody && exit 3\necho hello\n'


class Editing(Hermes):
    """What the editor does is a Python program over the variable `text`, given before the command runs."""

    program = "pass"

    def environment(self, **more: str) -> dict[str, str]:
        file = self.folder / "editor.py"
        file.write_text(
            "import sys, pathlib\nfile = pathlib.Path(sys.argv[-1])\ntext = file.read_text()\n"
            f"{self.program}\nfile.write_text(text)\n"
        )
        return super().environment(EDITOR=f"{sys.executable} {file}", **more)


def editing(folder: Path) -> tuple[Editing, ForkedHermes]:
    """A home with an editor."""
    hermes = Editing(folder)
    return hermes, ForkedHermes(hermes)


def lay(root: Path, skill: Skill = GREET, script: str = SCRIPT) -> Path:
    """A skill in a folder, as a person would put it there."""
    folder = root / skill.name
    (folder / "scripts").mkdir(parents=True)
    (folder / MAIN).write_text(render_skill(skill))
    (folder / "scripts" / "greet.sh").write_text(script)
    return folder
