"""Validation before a skill is trusted: it parses, its parts are sound, nothing in it is hostile, and its test inputs
come out as it says, in the sandbox."""

from __future__ import annotations

import ast
import asyncio
import json
import re
import shlex
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

from ..safety.scan import Kind, Verdict, scan
from ..types.base import Value
from ..types.text import one_line
from .format import check_path, parse_skill
from .problem import SkillProblem
from .screening import is_executable, screen
from .skill import MAIN, Files, Skill
from .slots import SLOT, SNIPPET
from .trials import (
    MAX_TRIALS,
    TRIAL_SECONDS,
    Runner,
    SandboxRunner,
    TrialResult,
    exit_code,
    sandboxed,
    try_one,
    try_out,
)

__all__ = [
    "Runner",
    "SandboxRunner",
    "TrialResult",
    "Validated",
    "sandboxed",
    "try_one",
    "try_out",
    "validate",
]

NO_TEST = "has executable parts and no test input"
_SHELL = frozenset((".sh", ".bash"))
_FENCE = re.compile(r"^(`{3,}|~{3,})[ \t]*(\w*)[^\n]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CHECK_SECONDS = 20.0
_SAID = 5


class Validated(Value, frozen=True, kw_only=True):
    """What validation says. `ran` are the test inputs that were run and passed; `notes` is what the scanner found odd
    and let pass."""

    ok: bool
    problems: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


async def validate(files: Files, runner: Runner, *, limit: float = TRIAL_SECONDS) -> Validated:
    """Check a whole skill. Nothing of it runs before all of it was read, parsed and scanned without objection."""
    problems = list(_bad_paths(files))
    try:
        skill = parse_skill(files.get(MAIN, b""))
    except SkillProblem as error:
        return Validated(ok=False, problems=(*error.problems, *problems))
    problems += await asyncio.to_thread(lambda: list(_bad_syntax(skill, files)))
    against, notes = await asyncio.to_thread(_scanned, skill, files)
    problems += against
    if not skill.trials and is_executable(skill, files):
        problems.append(NO_TEST)
    if len(skill.trials) > MAX_TRIALS:
        problems.append(f"has {len(skill.trials)} test inputs; {MAX_TRIALS} are the most")
    if problems:
        return Validated(ok=False, problems=tuple(problems), notes=tuple(notes))
    problems += await _bad_shell(skill, files, runner)
    results = await try_out(skill, files, runner, limit=limit) if not problems else []
    problems += [f"test '{result.name}': {result.why}" for result in results if not result.ok]
    ran = tuple(result.name for result in results if result.ok)
    return Validated(ok=not problems, problems=tuple(problems), ran=ran, notes=tuple(notes))


def _bad_paths(files: Files) -> Iterator[str]:
    for path in files:
        if path != MAIN:
            try:
                check_path(path)
            except SkillProblem as error:
                yield from error.problems


def _bad_syntax(skill: Skill, files: Files) -> Iterator[str]:
    """What can be told without running anything: Python, JSON, and the blocks of them in the text."""
    for path, content in files.items():
        suffix = Path(path).suffix.lower()
        if suffix == ".py" or _speaks(content, b"python"):
            yield from _bad_python(content, path)
        elif suffix == ".json":
            yield from _bad_json(content, path)
    for language, text, line in _blocks(skill.body):
        where = f"the {language} block on line {line} of its text"
        if language in ("python", "py") and not text.lstrip().startswith(">>>"):
            yield from _bad_python(SLOT.sub("slot", text).encode(errors="replace"), where)
        elif language == "json":
            yield from _bad_json(SLOT.sub("0", text).encode(errors="replace"), where)


def _bad_python(source: bytes, where: str) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except SyntaxError as error:
        yield f"{where}: line {error.lineno or 1}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        yield f"{where}: cannot be read as Python: {one_line(str(error), 100)}"


def _bad_json(source: bytes, where: str) -> Iterator[str]:
    try:
        json.loads(source)
    except json.JSONDecodeError as error:
        yield f"{where}: line {error.lineno}: {error.msg}"
    except (ValueError, RecursionError) as error:
        yield f"{where}: cannot be read as JSON: {one_line(str(error), 100)}"


def _blocks(body: str) -> Iterator[tuple[str, str, int]]:
    """Fenced blocks of a text: language, content, and the line on which they begin."""
    for found in _FENCE.finditer(body):
        yield found[2].lower(), found[3], body.count("\n", 0, found.start()) + 1


def _speaks(content: bytes, language: bytes) -> bool:
    first = content[:100].partition(b"\n")[0]
    return first.startswith(b"#!") and language in first


def _shell_parts(skill: Skill, files: Files) -> Iterator[tuple[str, str, bytes]]:
    """Everything a shell reads: what it is called, which shell, and its text."""
    for path, content in files.items():
        suffix = Path(path).suffix.lower()
        if suffix in _SHELL or (not suffix and _speaks(content, b"sh")):
            yield path, "bash" if suffix == ".bash" or _speaks(content, b"bash") else "sh", content
    for number, found in enumerate(SNIPPET.finditer(skill.body), 1):
        yield f"snippet {number}", "bash", SLOT.sub("slot", found[1]).encode(errors="replace")
    for language, text, line in _blocks(skill.body):
        if language in ("sh", "bash", "shell"):
            yield f"block on line {line}", "bash", SLOT.sub("slot", text).encode(errors="replace")


async def _bad_shell(skill: Skill, files: Files, runner: Runner) -> list[str]:
    """What the shell says against scripts and snippets when it only reads them, in the sandbox all the same."""
    parts = list(_shell_parts(skill, files))
    if not parts:
        return []
    with tempfile.TemporaryDirectory(prefix="hermes-syntax-", ignore_cleanup_errors=True) as place:
        folder, commands = Path(place), ["bad=0"]
        for number, (name, shell, text) in enumerate(parts):
            (folder / str(number)).write_bytes(text)
            say = f"echo {shlex.quote(one_line(name, 80) + ': ')}"
            commands.append(f"{shell} -n {number} 2>said || {{ bad=1; {say} $(head -n 1 said); }}")
        result = await runner("\n".join([*commands, "exit $bad"]), directory=folder, timeout=_CHECK_SECONDS)
    if result.ok:
        return []
    if exit_code(result) != 1:
        return [f"cannot be tried here: {one_line(result.text, 200)}"]
    return [one_line(line, 200) for line in result.text.splitlines() if not line.startswith("[")][:_SAID]


def _scanned(skill: Skill, files: Files) -> tuple[list[str], list[str]]:
    """What the scanner holds against the skill, and what it only finds odd: every file as what it is, and once more as
    commands what a shell will run."""
    told: dict[Verdict, list[str]] = {Verdict.BLOCK: [], Verdict.FLAG: []}
    for concern in screen(files).concerns:
        told[concern.verdict].append(f"{concern.file}: line {concern.line}: {concern.why}")
    commands = [(name, text) for name, _, text in _shell_parts(skill, files)]
    for name, text in (*commands, *((f"test '{trial.name}'", trial.run.encode()) for trial in skill.trials)):
        report = scan(text, Kind.COMMAND)
        if report.verdict is not Verdict.ALLOW:
            told[report.verdict] += [f"{name}: {finding.why}" for finding in report.findings[:3]]
    return list(dict.fromkeys(told[Verdict.BLOCK])), list(dict.fromkeys(told[Verdict.FLAG]))
