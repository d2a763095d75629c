"""A person's text in an editor: on a copy, checked when it is saved, and never lost."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import click

from ....skills.folder import MAX_FILE
from ....skills.problem import SkillProblem
from ....types.errors import HermesError, UsageError
from ....types.text import visible
from ..console import Console


class Draft:
    """A copy of a file for the editor. It is there until it is dropped, so that what was written outlives a refusal."""

    def __init__(self, file_name: str, content: bytes) -> None:
        try:
            folder = Path(tempfile.mkdtemp(prefix="hermes-skill-"))
            self.path = folder / file_name
            self.path.write_bytes(content)
            os.chmod(self.path, 0o600)
        except OSError as error:
            raise HermesError(
                f"a copy for the editor cannot be written: {error.strerror or error}", remedy="free some space"
            ) from error

    def edited(self, console: Console, check: Callable[[bytes], None]) -> bytes:
        """What the person made of it. Where `check` raises, the person may go on editing; else the text is kept."""
        while True:
            try:
                click.edit(filename=str(self.path))
            except click.ClickException:
                self.drop()
                raise
            content = self._content()
            try:
                check(content)
                return content
            except SkillProblem as error:
                if not self._again(console, error):
                    raise UsageError(str(error), remedy=self.kept(error.advice)) from error

    def kept(self, advice: str = "") -> str:
        """Where the text is, as a remedy."""
        return f"your text is kept in {self.path}" + (f"; {advice}" if advice else "")

    def drop(self) -> None:
        """The copy is not needed any more."""
        shutil.rmtree(self.path.parent, ignore_errors=True)

    def _content(self) -> bytes:
        try:
            with self.path.open("rb") as file:
                return file.read(MAX_FILE + 1)
        except OSError as error:
            raise UsageError(f"what you saved cannot be read: {error.strerror}", remedy="try again") from error

    def _again(self, console: Console, error: SkillProblem) -> bool:
        if not sys.stdin.isatty():
            return False
        for problem in error.problems:
            console.note(visible(problem), "red")
        return click.confirm("Edit it again?", default=True, err=True)
