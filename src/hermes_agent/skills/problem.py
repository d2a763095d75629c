"""What is wrong with a skill, said once and completely."""

from __future__ import annotations

from ..types.errors import UsageError


class SkillProblem(UsageError):
    """A skill, a path or an invocation does not fit; `problems` names everything that is wrong, one line each."""

    def __init__(self, *problems: str, remedy: str = "") -> None:
        super().__init__("; ".join(problems), remedy=remedy)
        self.problems = problems
