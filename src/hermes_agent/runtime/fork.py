"""Time travel: a new session that shares a run's past up to one of its steps, and goes its own way from there.

A step is one answer of the model with the results of the calls it asked for. Forking itself has no effect outside the
store: what was journaled is copied, not done again. The fork is an open run that nobody drives; resuming it is what
makes it go on.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..store.database import Connection
from ..store.forks import FORK_OPTION, Draft, ForkedFrom, Forks, RunCopy, erased
from ..store.heuristics import read_set
from ..store.open import Store
from ..store.runs import Run
from ..store.sessions import Session
from ..tools.sandbox.identity import Life, life_of, own_identity
from ..types.base import Value
from ..types.errors import NotFound, UsageError
from ..types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    DeliveryFinished,
    DeliveryIntended,
    Fragment,
    InboxMode,
    Judged,
    ModelCalled,
    PrefixFrozen,
    ProcessSpawned,
    Recorded,
    Recovered,
    RunFinished,
    RunStarted,
    UserMessage,
)
from ..types.ids import new_id
from ..types.tools import ProcessIdentity
from ..types.trace import RunStatus

_NOT_COPIED = (ModelCalled, PrefixFrozen, ProcessSpawned, Recovered, DeliveryIntended, DeliveryFinished)
"""What belongs to the original alone: its costs, its prefixes, its processes, who drove it and who saw the answer."""
_NOT_CARRIED = (*_NOT_COPIED, Judged)
_DIGESTS = re.compile(r"\b[0-9a-f]{12,64}\b")
_FORK_TITLE = re.compile(r"^fork of \w+ at step \d+: ")


class Change(Value, frozen=True, kw_only=True):
    """What a fork does differently. What is left out stays as it was in the original.

    `step` is the last step that is kept, 0 for the request alone. `say` replaces the request at step 0, and at a later
    one whatever the user said there. `pin` is a version of the heuristic set; `consent` says yes to every question.
    """

    step: int | None = None
    model: str = ""
    base_url: str = ""
    pin: int | None = None
    seed: int | None = None
    say: str | None = None
    workspace: str = ""
    consent: bool = False


class ForkPoint(Value, frozen=True, kw_only=True):
    """A step of a run as one may fork behind it. The last answer of a run that ended well is `final`: behind it there
    is nothing to go on with."""

    step: int
    answer: AssistantMessage
    results: tuple[CallFinished, ...]
    final: bool


class Forked(Value, frozen=True, kw_only=True):
    """A fork as it was stored: open, and driven by nobody yet."""

    session: Session
    run: Run
    origin: ForkedFrom


class Forker:
    """Makes forks for one agent on one surface."""

    def __init__(self, store: Store, agent: str, surface: str) -> None:
        self._store = store
        self._agent = agent
        self._surface = surface
        self._forks = Forks(store.database, store.owner)
        self._folder = store.blobs("x").folder.parent

    async def fork(self, run: Run, change: Change) -> Forked:
        """Store a fork of `run`. Raises before anything is written when it cannot be made."""
        session, events = await self._past(run)
        step = chosen_step(run, points_of(events), change.step)
        if change.say is not None and not change.say.strip():
            raise UsageError("there is nothing in the message", remedy="say something, or leave --say out")
        if (pin := change.pin) is not None:
            await self._store.database.read(lambda connection: read_set(connection, pin))
        workspace = change.workspace or session.workspace
        _check_folder(workspace)
        kept = kept_events(events, step, change.say)
        origin = ForkedFrom(run=run.id, session=session.id, step=step, events=len(kept))
        begun = _begun(run, kept, change, origin)
        draft = Draft(
            session_id=new_id(),
            source=session,
            agent=self._agent,
            surface=self._surface,
            workspace=workspace,
            title=f"fork of {run.id} at step {step}: {_FORK_TITLE.sub('', session.title)}",
            origin=origin,
            earlier=tuple([await self._whole(one) for one in await self._before(run)]),
            begun=begun,
            epoch=0 if step == 0 or change.pin is not None else 1,
        )
        return await self._stored(draft)

    async def points(self, run: Run) -> list[ForkPoint]:
        """The steps of a finished run."""
        return points_of((await self._past(run))[1])

    async def _past(self, run: Run) -> tuple[Session, list[Recorded]]:
        try:
            session = await self._store.sessions.get(run.session_id)
        except NotFound as error:
            raise erased(run) from error
        if run.status is RunStatus.OPEN:
            raise UsageError(
                f"run {run.id} is not finished",
                remedy=f"wait for it, or finish it with `hermes resume {run.id}`, then fork",
            )
        return session, await self._store.journal.run_events(run.id)

    async def _before(self, run: Run) -> list[Run]:
        return [one for one in await self._store.runs.of_session(run.session_id) if one.ordinal < run.ordinal]

    async def _whole(self, run: Run) -> RunCopy:
        """A finished run as the fork holds it: what was said and done, without what it cost."""
        events = [
            entry for entry in await self._store.journal.run_events(run.id) if not isinstance(entry.event, _NOT_COPIED)
        ]
        origin = ForkedFrom(run=run.id, session=run.session_id, step=len(points_of(events)), events=len(events))
        copied = tuple((entry.at, _marked(_unsent(entry.event), origin)) for entry in events)
        return RunCopy(source=run, model=run.model, events=copied)

    async def _stored(self, draft: Draft) -> Forked:
        """The blobs first, then the journal: a fork that is there is whole. What a killed process left of one that is
        not is removed by the next fork."""
        await self._sweep()
        events = [event for copy in (*draft.earlier, draft.begun) for _, event in copy.events]
        digests = self._referenced(draft.source.id, events)
        mark = self._folder / f"{draft.session_id}.forking"
        if digests:
            _write_mark(mark)
        try:
            source, target = self._store.blobs(draft.source.id), self._store.blobs(draft.session_id)
            for digest in digests:
                target.put(source.get(digest))
            session, run = await self._forks.insert(draft)
        except BaseException:
            self._remove(draft.session_id)
            raise
        finally:
            mark.unlink(missing_ok=True)
        return Forked(session=session, run=run, origin=draft.origin)

    def _referenced(self, session_id: str, events: Iterable[AnyEvent]) -> list[str]:
        """The session's blobs that these events name, whole or by the beginning of their digest."""
        folder = self._store.blobs(session_id).folder
        there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        if not there:
            return []
        named = {word for event in events for word in _DIGESTS.findall(msgspec.json.encode(event).decode())}
        return [digest for digest in there if any(digest.startswith(word) for word in named)]

    async def _sweep(self) -> None:
        for mark in self._folder.glob("*.forking"):
            try:
                maker = msgspec.json.decode(mark.read_bytes(), type=ProcessIdentity)
            except (OSError, msgspec.MsgspecError):
                continue
            if life_of(maker) is Life.DEAD:
                if not await self._store.database.read(_exists(mark.stem)):
                    self._remove(mark.stem)
                mark.unlink(missing_ok=True)

    def _remove(self, session_id: str) -> None:
        folder = self._store.blobs(session_id).folder
        if folder.exists():
            shutil.rmtree(folder)


def _check_folder(workspace: str) -> None:
    if not Path(workspace).is_dir():
        raise UsageError(f"the workspace {workspace} is not there any more", remedy="name another with --directory")


def _exists(session_id: str) -> Any:
    def unit(connection: Connection) -> bool:
        return bool(connection.run("SELECT id FROM sessions WHERE id = ?", (session_id,)))

    return unit


def _write_mark(mark: Path) -> None:
    """Written whole: half a mark would name nobody."""
    mark.parent.mkdir(parents=True, exist_ok=True)
    temporary = mark.with_suffix(".tmp")
    temporary.write_bytes(msgspec.json.encode(own_identity()))
    temporary.replace(mark)


def points_of(events: Sequence[Recorded]) -> list[ForkPoint]:
    """The steps of a run."""
    answers: list[AssistantMessage] = []
    results: dict[str, CallFinished] = {}
    for entry in events:
        if isinstance(entry.event, AssistantMessage):
            answers.append(entry.event)
        elif isinstance(entry.event, CallFinished):
            results[entry.event.call_id] = entry.event
    return [
        ForkPoint(
            step=step,
            answer=answer,
            results=tuple(results[call.id] for call in answer.calls if call.id in results),
            final=step == len(answers) and not answer.calls,
        )
        for step, answer in enumerate(answers, 1)
    ]


def chosen_step(run: Run, points: Sequence[ForkPoint], wanted: int | None) -> int:
    """The last step to keep. Without a wish: the last one that asked for calls, so that the model answers their results
    anew; where there is none, only the request is kept."""
    last = max((point.step for point in points if not point.final), default=0)
    if wanted is None:
        return last
    if points and wanted == points[-1].step and points[-1].final:
        raise UsageError(
            f"step {wanted} is the final answer of run {run.id}: there is nothing to go on with",
            remedy=f"fork at 0 to {last}, or go on talking with `hermes run --session {run.session_id}`",
        )
    if not 0 <= wanted <= last:
        raise UsageError(
            f"run {run.id} has no step {wanted} to fork at",
            remedy=f"choose 0 to {last}; `hermes fork {run.id} --steps` lists them",
        )
    return wanted


def kept_events(events: Sequence[Recorded], step: int, say: str | None = None) -> list[AnyEvent]:
    """The events of a run up to and with a step: the answer, the results of its calls, and what came with them.

    At step 0 that is the request. `say` takes the place of the request there; at a later step, of what the user said
    between it and the next one.
    """
    kept = [_unsent(event) for event in _until(events, step)]
    if step == 0:
        kept = [event for event in kept if isinstance(event, RunStarted | UserMessage)]
    kept = _without_open_calls(kept)
    if say is None:
        return kept
    place = max((n for n, event in enumerate(kept) if isinstance(event, AssistantMessage)), default=-1)
    said = [n for n, event in enumerate(kept) if isinstance(event, UserMessage) and n > place]
    if step == 0:
        first, others = said[0], said[1:]
        request = kept[first]
        assert isinstance(request, UserMessage)
        kept[first] = msgspec.structs.replace(request, text=say)
        return [event for n, event in enumerate(kept) if n not in others]
    return [event for n, event in enumerate(kept) if n not in said] + [UserMessage(text=say, mode=InboxMode.STEER)]


def _until(events: Sequence[Recorded], step: int) -> list[AnyEvent]:
    kept: list[AnyEvent] = []
    answers = 0
    for entry in events:
        event = entry.event
        answers += isinstance(event, AssistantMessage)
        if answers > step or isinstance(event, RunFinished):
            break
        if not isinstance(event, _NOT_CARRIED) and not _says_limit(event):
            kept.append(event)
    return kept


def _says_limit(event: AnyEvent) -> bool:
    """The notice that the limit of steps is reached is the driver's: it says so again if that is still true."""
    return isinstance(event, Fragment) and event.source == "limits"


def _without_open_calls(events: Sequence[AnyEvent]) -> list[AnyEvent]:
    """Calls without a result are taken out of their answer: they were not made, and the fork must not make them."""
    done = {event.call_id for event in events if isinstance(event, CallFinished)}
    kept: list[AnyEvent] = []
    for event in events:
        if isinstance(event, CallIntended) and event.call_id not in done:
            continue
        if isinstance(event, AssistantMessage) and any(call.id not in done for call in event.calls):
            calls = tuple(call for call in event.calls if call.id in done)
            if calls or event.text:
                kept.append(msgspec.structs.replace(event, calls=calls, replay={}))
            continue
        kept.append(event)
    return kept


def _unsent(event: AnyEvent) -> AnyEvent:
    """A message that nobody put into the fork's own inbox."""
    if isinstance(event, RunStarted | UserMessage):
        return msgspec.structs.replace(event, inbox_id="")
    return event


def _marked(event: AnyEvent, origin: ForkedFrom) -> AnyEvent:
    if not isinstance(event, RunStarted):
        return event
    options = {key: value for key, value in event.options.items() if key != "consent"}
    return msgspec.structs.replace(event, options={**options, FORK_OPTION: msgspec.to_builtins(origin)})


def _begun(run: Run, kept: Sequence[AnyEvent], change: Change, origin: ForkedFrom) -> RunCopy:
    """The run that goes on, with its options changed. The original's consent was given for the original."""
    model = change.model or run.model
    changes: dict[str, Any] = {"model": model}
    if change.model or change.base_url:
        changes["base_url"] = change.base_url
    if change.pin is not None:
        changes["pin"] = change.pin
    if change.seed is not None:
        changes["seed"] = change.seed
    if change.consent:
        changes["consent"] = "all"
    events: list[tuple[float, AnyEvent]] = []
    for event in kept:
        marked = _marked(event, origin)
        if isinstance(marked, RunStarted):
            marked = msgspec.structs.replace(marked, model=model, options={**marked.options, **changes})
        events.append((0.0, marked))
    return RunCopy(source=run, model=model, events=tuple(events))
