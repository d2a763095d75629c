"""Trying a skill on its own test inputs, in a folder that is thrown away, in the sandbox, without network."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ..types.base import Value
from ..types.text import head_and_tail, one_line
from ..types.tools import Spawned, ToolResult
from .folder import safe_path
from .problem import SkillProblem
from .skill import Files, Skill, Trial
from .slots import SLOT, filled_command

if TYPE_CHECKING:
    from ..config.settings import SandboxSettings
    from ..tools.sandbox.base import Sandbox

TRIAL_SECONDS = 60.0
MAX_TRIALS = 20
MAX_SPACE = 256 << 20
MAX_ENTRIES = 20_000
_SHOWN = 64_000
_HEAD = 2_000
_WATCH_SECONDS = 0.25
_NO_COMMAND = re.compile(
    r"(?:^|: )([^\s:]+): command not found"
    r"|(?:^|/)env: ['‘]?([^'’\n:]+)['’]?: No such file"
    r"|_execute_child[\s\S]*FileNotFoundError: [^\n]*: '([\w.+-]+)'",
    re.MULTILINE,
)
_NO_PROGRAM = re.compile(r": ([^\s:]+): not found$", re.MULTILINE)
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_REFUSED = re.compile(
    r"PermissionError: .*|.*(?:Operation not permitted|Permission denied|Read-only file system|"
    r"Network is unreachable|Temporary failure in name resolution|Could not resolve host).*"
)
_NOT_RUN = frozenset(("sandbox", "not_started", "no_space", "not_found"))


class Runner(Protocol):
    """Runs a command in the sandbox, without network, in a folder it may write to."""

    async def __call__(self, command: str, *, directory: Path, timeout: float) -> ToolResult: ...


class TrialResult(Value, frozen=True, kw_only=True):
    """What came of one test input. `tried` is False where this machine could not try it, such as a program that is not
    installed: that says nothing about the skill."""

    name: str
    ok: bool
    why: str = ""
    tried: bool = True
    seconds: float = 0.0
    output: str = ""


class SandboxRunner:
    """Runs commands outside of any session. Refuses where no sandbox confines them: what is tried here is not trusted
    yet. A command that fills the disk is ended like one that takes too long."""

    def __init__(self, sandbox: Sandbox, *, space: int = MAX_SPACE) -> None:
        self._sandbox = sandbox
        self._space = space

    async def __call__(self, command: str, *, directory: Path, timeout: float) -> ToolResult:
        from ..tools.processes import ProcessLimits, ProcessTable
        from ..tools.sandbox.output import OutputLimits
        from ..types.errors import ConfigError

        try:
            if not self._sandbox.confines:
                return ToolResult(ok=False, error="sandbox", text=f"there is no sandbox here: {self._sandbox.reason}")
        except ConfigError as error:
            return ToolResult(ok=False, error="sandbox", text=error.explain())
        with tempfile.TemporaryDirectory(prefix="hermes-trial-", ignore_cleanup_errors=True) as aside:
            limits = ProcessLimits(output=OutputLimits(shown=_SHOWN, kept=0), grace=0.5)
            table = ProcessTable(self._sandbox, Path(aside), _NothingKept(), directory, limits)
            running = asyncio.ensure_future(table.for_call(_unheard).run(command, directory=directory, timeout=timeout))
            try:
                return await self._watched(running, directory)
            finally:
                await table.close()

    async def _watched(self, running: asyncio.Future[ToolResult], directory: Path) -> ToolResult:
        try:
            while True:
                done, _ = await asyncio.wait([running], timeout=_WATCH_SECONDS)
                if done:
                    return running.result()
                if await asyncio.to_thread(_too_much, directory, self._space):
                    return ToolResult(
                        ok=False, error="too_large", text=f"[ended: it wrote more than {self._space} bytes]"
                    )
        finally:
            if not running.done():
                running.cancel()
                await asyncio.wait([running])


def sandboxed(settings: SandboxSettings, environment: Mapping[str, str], hidden: Sequence[Path] = ()) -> SandboxRunner:
    """A runner on the configured sandbox, with limits that are enough for test inputs and for nothing else."""
    import msgspec

    from ..tools.sandbox.choose import choose

    small = msgspec.structs.replace(
        settings,
        memory_mb=min(settings.memory_mb, 1024),
        processes=min(settings.processes, 64),
        cpu_seconds=min(settings.cpu_seconds, int(TRIAL_SECONDS)),
        file_mb=min(settings.file_mb, 64),
    )
    return SandboxRunner(choose(small, environment, hidden))


async def try_out(skill: Skill, files: Files, runner: Runner, *, limit: float = TRIAL_SECONDS) -> list[TrialResult]:
    """Run each test input of a skill, one after the other, each in a fresh folder."""
    return [await try_one(skill, files, trial, runner, limit=limit) for trial in skill.trials[:MAX_TRIALS]]


async def try_one(
    skill: Skill, files: Files, trial: Trial, runner: Runner, *, limit: float = TRIAL_SECONDS
) -> TrialResult:
    """Run one test input. The folder holds its files, and the skill in `skill/`."""
    began = time.monotonic()
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="hermes-trial-"))
    try:
        command = command_of(skill, trial)
        await asyncio.to_thread(_lay_out, folder, files, trial)
        result = await runner(command, directory=folder, timeout=limit)
    except SkillProblem as error:
        return TrialResult(name=trial.name, ok=False, why="; ".join(error.problems))
    except OSError as error:
        return TrialResult(
            name=trial.name, ok=False, tried=False, why=f"its folder could not be made: {error.strerror}"
        )
    finally:
        await asyncio.to_thread(_remove, folder)
    why, tried = judged(trial, result, files)
    return TrialResult(
        name=trial.name,
        ok=not why,
        why=why,
        tried=tried,
        seconds=round(time.monotonic() - began, 3),
        output=head_and_tail(result.text, _HEAD),
    )


def command_of(skill: Skill, trial: Trial) -> str:
    """A test's command with its slots filled, each value as one quoted word. Raises `SkillProblem`."""
    values = {slot.name: slot.default for slot in skill.slots if slot.default is not None} | trial.parameters
    open_slots = {slot.name for slot in skill.slots} - values.keys()
    if left := [found[0] for found in SLOT.finditer(trial.run) if found[1] in open_slots]:
        raise SkillProblem(f"test '{trial.name}' leaves {left[0]} open; give it under parameters")
    return filled_command(trial.run, values)


def judged(trial: Trial, result: ToolResult, files: Files) -> tuple[str, bool]:
    """Why a test failed, empty when it did not, and whether it could be tried here at all."""
    if result.error in _NOT_RUN:
        return f"cannot be tried here: {one_line(result.text, 200)}", False
    code = exit_code(result)
    lacking = [said for said in trial.contains if said not in result.text]
    if code == trial.exit and not lacking:
        return "", True
    if missing := _missing_here(result.text, code, files):
        return f"cannot be tried here: {missing}", False
    if code is None:
        return one_line(result.text.splitlines()[-1] if result.text else result.error, 200).strip("[]"), True
    last = one_line(_last_said(result.text), 160)
    if code != trial.exit:
        return f"ended with {code} instead of {trial.exit}" + (f": {last}" if last else ""), True
    return f"its output lacks {lacking[0]!r}" + (f"; it ends with: {last}" if last else ""), True


def exit_code(result: ToolResult) -> int | None:
    """The exit code; None when the command did not end by itself."""
    if result.ok:
        return 0
    kind, _, number = result.error.rpartition("_")
    if kind in ("exit", "signal") and number.isdigit():
        return int(number) if kind == "exit" else 128 + int(number)
    return None


def _missing_here(output: str, code: int | None, files: Files) -> str:
    """What this machine lacks or its sandbox forbids; empty when the fault lies with the skill."""
    own = {part for path in files for part in (path, path.rpartition("/")[2].removesuffix(".py"))}
    absent = [next(filter(None, found)) for found in _NO_COMMAND.findall(output)]
    absent += _NO_PROGRAM.findall(output) if code == 127 else []
    for name in absent:
        if not name.startswith(("skill/", "./", "scripts/")) and name not in own:
            return f"{one_line(name, 60)} is not installed"
    for module in _NO_MODULE.findall(output):
        top = module.partition(".")[0]
        if top not in sys.stdlib_module_names and top not in own:
            return f"the Python module {one_line(module, 60)} is not installed"
    refused = _REFUSED.search(output) if code else None
    if refused and "skill/" not in refused[0]:
        return f"the sandbox refused it: {one_line(refused[0], 120)}"
    return ""


def _last_said(output: str) -> str:
    lines = [line for line in output.splitlines() if line.strip() and not line.startswith("[exit code ")]
    return lines[-1] if lines else ""


def _lay_out(folder: Path, files: Files, trial: Trial) -> None:
    """Write what a test works on; its own files cannot replace the skill's."""
    for path, text in trial.files.items():
        cleaned = safe_path(path)
        if cleaned.split("/")[0] == "skill":
            raise SkillProblem(f"test '{trial.name}' writes {cleaned}; skill/ is where the skill itself lies")
        _write(folder / cleaned, text.encode(errors="replace"))
    for path, content in files.items():
        _write(folder / "skill" / safe_path(path), content)
        if content.startswith(b"#!"):
            (folder / "skill" / safe_path(path)).chmod(0o755)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _remove(folder: Path) -> None:
    """Take a folder away, also where a command took rights away inside it, or nested it deeper than Python walks."""
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(folder)
        return
    for argv in (("chmod", "-R", "u+rwx", "--", str(folder)), ("rm", "-rf", "--", str(folder))):
        with contextlib.suppress(OSError):
            subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False)


def _too_much(folder: Path, space: int) -> bool:
    """Whether a folder holds more than it may, in bytes or entries, or is nested too deep to be looked at."""
    total = entries = 0
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as found:
                for entry in found:
                    entries += 1
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if total > space or entries > MAX_ENTRIES:
                        return True
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                return True
    return False


async def _unheard(spawned: Spawned) -> None:
    """Nobody journals what is tried: a test that a crash cuts off ends with the process that waits for it."""


class _NothingKept:
    """Outputs of trials are not kept beyond what is shown."""

    def put(self, data: bytes) -> str:
        return ""

    def put_file(self, source: Path) -> str:
        return ""

    def get(self, digest: str) -> bytes:
        raise FileNotFoundError(digest)

    def path(self, digest: str) -> Path:
        raise FileNotFoundError(digest)
