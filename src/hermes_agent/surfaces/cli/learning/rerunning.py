"""Re-execution for `hermes learning replay --rerun`: finds tasks that can begin again, asks, and does them twice."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from ....app import App
from ....learning.lessons import REPLAYED
from ....learning.past import Logged
from ....learning.reexecution import Attempt, Refusal, Task, resettable
from ....runtime.engine import Finished
from ....safety.approvals import Nobody
from ....types.errors import NotFound, UsageError
from ....types.text import one_line
from ....types.tools import Spawned
from ....types.trace import Judge, RunStatus
from ..console import Console

_SHOWN = 5


async def find_tasks(app: App, runs: Iterable[Logged], wanted: int) -> tuple[list[Task], list[Refusal]]:
    """The first `wanted` of these runs that can be done again, and why the others before them cannot."""
    tasks: list[Task] = []
    refused: list[Refusal] = []
    for run in runs:
        found = await _task(app, run.run_id)
        if isinstance(found, Refusal):
            refused.append(found)
        else:
            tasks.append(found)
        if len(tasks) == wanted:
            break
    return tasks, refused


async def _task(app: App, run_id: str) -> Task | Refusal:
    try:
        run = await app.store.runs.get(run_id)
        session = await app.store.sessions.get(run.session_id)
    except NotFound:
        return Refusal(run_id=run_id, reason="its session was erased")
    found = resettable(run_id, await app.store.journal.run_events(run_id), session.workspace, run.ordinal)
    return found if _is_there(session.workspace) else Refusal(run_id=run_id, reason="its workspace is gone")


def _is_there(workspace: str) -> bool:
    return Path(workspace).is_dir()


def reasons(refused: Sequence[Refusal]) -> dict[str, int]:
    """How many runs were refused for each reason."""
    counts: dict[str, int] = {}
    for refusal in refused:
        counts[refusal.reason] = counts.get(refusal.reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def ask(console: Console, tasks: Sequence[Task], *, yes: bool) -> None:
    """Nothing is executed that the user did not agree to: the resets overwrite what is in the workspaces."""
    console.note(
        f"this does {len(tasks)} tasks twice, with the model and at its cost, and resets their workspaces", "yellow"
    )
    places = dict.fromkeys((task.workspace, task.reset) for task in tasks)
    for workspace, reset in list(places)[:_SHOWN]:
        console.note(f"  in {one_line(workspace, 80)}: {one_line(reset, 200)}", "bold")
    if len(places) > _SHOWN:
        console.note(f"  and {len(places) - _SHOWN} more")
    if yes:
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("doing tasks again needs your consent", remedy="add --yes, or ask at a terminal")
    if not click.confirm("Do it?", default=False, err=True):
        raise click.Abort


class Again:
    """Does a task once more through the engine, in a session of its own (see `learning.reexecution.Execute`)."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, task: Task, version: int) -> Attempt:
        """Reset, run under the set, and take the verdict of the check."""
        app, workspace = self._app, Path(task.workspace)
        session = await app.session("", title=f"replay of {task.run_id}", surface=REPLAYED, workspace=workspace)
        harness = app.harness_for(str(task.options["model"]), task.options)
        reset = await (
            harness.processes(session)
            .for_call(_announced)
            .run(task.reset, directory=workspace, timeout=app.settings.limits.check_seconds)
        )
        if not reset.ok:
            return Attempt(run_id="", success=None, reason=f"the reset failed: {one_line(reset.text, 160)}")
        options = {**task.options, "pin": version, "seed": task.seed, "replay_of": task.run_id}
        message = await app.engine.submit(session, task.request, options=options)
        finished = await app.engine.answer(session, message, Nobody(), _undelivered)
        trace = await app.store.traces.of_run(finished.run_id)
        outcome = trace.outcome
        if trace.outage:
            return Attempt(run_id=finished.run_id, success=None, reason="no model could be reached")
        if outcome.judged_by is not Judge.VERIFIER:
            return Attempt(run_id=finished.run_id, success=None, reason=one_line(outcome.reason, 160) or "no verdict")
        return Attempt(run_id=finished.run_id, success=outcome.status is RunStatus.DONE)


async def _announced(spawned: Spawned) -> None:
    """A reset belongs to no run: there is no journal to announce it in."""


async def _undelivered(finished: Finished) -> None:
    """The verdict is what counts; nobody reads the answer."""
