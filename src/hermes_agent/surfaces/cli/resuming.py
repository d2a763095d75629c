"""Taking up runs of other sessions on the side, when a command starts."""

from __future__ import annotations

from ...app import App
from ...config.settings import Resume
from ...runtime.engine import Finished
from ...safety.approvals import Approver
from ...types.errors import HermesError
from .console import Console
from .progress import Progress


async def resume_others(app: App, session_id: str, approver: Approver, console: Console, progress: Progress) -> None:
    """Finish what a crash interrupted in other sessions; this session's own is taken up by its driver.

    Answers that a crash may have kept from being seen are pointed out.
    """
    if app.settings.runtime.resume is not Resume.AUTO:
        return

    async def point_out(finished: Finished) -> None:
        console.note(
            f"run {finished.run_id} is {finished.result.status.value}, but its answer may not have been seen:"
            f" `hermes sessions show {finished.session_id}`",
            "yellow",
        )

    for run in await app.engine.abandoned():
        if run.session_id == session_id:
            continue
        progress.muted.add(run.id)
        console.note(f"resuming run {run.id}, which was interrupted", "yellow")
        try:
            finished = await app.engine.resume_run(run, approver, _quietly)
        except HermesError as error:
            console.note(f"run {run.id} cannot go on: {error.explain()}", "yellow")
            continue
        if finished is not None:
            console.note(
                f"run {run.id} was resumed and is {finished.result.status.value};"
                f" `hermes sessions show {run.session_id}` has its answer",
                "yellow",
            )
    await app.engine.redeliver(point_out)


async def _quietly(finished: Finished) -> None:
    """The answer of a run of another session waits there: `hermes sessions show`."""
