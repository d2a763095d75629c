"""Patterns of paths, and the `.gitignore` rules that are made of them. Standard library only: see grep.py."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

Parts = tuple[str, ...]
_RULES = 1_000


class Rule(NamedTuple):
    """One line of a `.gitignore`: what it is about, and whether it takes in again what an earlier one left out."""

    base: int
    fits: Callable[[Parts], bool]
    folders_only: bool
    again: bool


class Rules:
    """The rules that hold in a folder: those of the folders above, then its own. The last one that fits decides."""

    def __init__(self, rules: tuple[Rule, ...] = ()) -> None:
        self._rules = rules

    def extended(self, text: str, base: int) -> Rules:
        """These rules and those of a `.gitignore` that lies `base` folders below the root."""
        own = [rule for line in text.splitlines()[:_RULES] if (rule := _rule(line, base))]
        return Rules((*self._rules, *own)) if own else self

    def ignore(self, parts: Parts, *, folder: bool) -> bool:
        """Whether a path, given in parts from the root, is left out."""
        for rule in reversed(self._rules):
            if (folder or not rule.folders_only) and rule.fits(parts[rule.base :]):
                return not rule.again
        return False


def fits_steps(steps: Sequence[re.Pattern[str] | None]) -> Callable[[Parts], bool]:
    """A test of paths in parts: one pattern for each part, None for any number of folders."""

    def fits(parts: Parts) -> bool:
        reached = {0}
        for part in (*parts, None):
            while more := {at + 1 for at in reached if at < len(steps) and steps[at] is None} - reached:
                reached |= more
            if part is None:
                break
            reached = {
                at if steps[at] is None else at + 1
                for at in reached
                if at < len(steps) and ((step := steps[at]) is None or step.match(part))
            }
        return len(steps) in reached

    return fits


def _rule(line: str, base: int) -> Rule | None:
    line = line.rstrip("\r\n")
    if not line.endswith("\\ "):
        line = line.rstrip(" ")
    if not line or line.startswith("#"):
        return None
    again = line.startswith("!")
    pattern = line[1:] if again else line
    folders_only = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    anchored = "/" in pattern
    names = [name for name in pattern.strip("/").split("/") if name]
    if not names:
        return None
    steps = [None if name == "**" else _step(name) for name in names]
    if steps[-1] is None:
        steps.append(re.compile(".+"))
    return Rule(base, fits_steps(steps if anchored else [None, *steps]), folders_only, again)


def _step(name: str) -> re.Pattern[str]:
    """One part of a pattern. A backslash takes the meaning from the character behind it."""
    plain = re.sub(r"\\(.)", lambda found: f"[{found[1]}]" if found[1] in "*?[" else found[1], name)
    return re.compile(fnmatch.translate(plain.replace("[^", "[!")))
