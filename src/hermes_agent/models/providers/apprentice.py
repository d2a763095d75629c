"""A seeded, noisy policy instead of a language model: for tests, demonstrations and benchmarks.

It reads only the request it is given. A task is a list of steps in the user's message:

    1. read_file {"path": "a.csv"} or terminal {"command": "cat a.csv"}
    2. terminal {"command": "send report"} verify read_file {"path": "sent.log"}

It does them in order, takes the first way and, after a failure, sometimes stubbornly the same one again and sometimes
the next; it follows hints and steers most of the time, also those that skip a step or move it; a skill that it is told
of it mostly reads first, and then follows like a hint; it slips now and then; asked to write a task down, it names the
tools that worked and those that failed. Its faults are fixed in
`apprentice.json`, so that figures measured with it can be compared. It is not a model and does not pretend to be one.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from ...types.base import Value
from ...types.errors import UsageError
from ...types.events import CallFinished, Fragment, Message, Usage, UserMessage
from ...types.text import one_line
from ...types.tools import ToolCall
from ...types.trace import CallStatus
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..request import ModelRequest

_STEP = re.compile(r"^\s*\d+[.)]\s+(?=[A-Za-z_][\w-]*\s*\{)", re.MULTILINE)
_CALL = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?=\{)")
_AVOID = re.compile(r"\bavoid (?:the tool )?`?([A-Za-z_][\w-]*)`?", re.IGNORECASE)
_PREFER = re.compile(r"\b(?:[Uu]se|prefer) `?([A-Za-z_][\w-]*)`?")
_SKIP = re.compile(r"\b[Ss]kip `?([A-Za-z_][\w-]*)`?")
_AFTER = re.compile(r"\bdo `?([A-Za-z_][\w-]*)`? after `?([A-Za-z_][\w-]*)`?", re.IGNORECASE)
_BEFORE = re.compile(r"\bdo `?([A-Za-z_][\w-]*)`? before `?([A-Za-z_][\w-]*)`?", re.IGNORECASE)
_SKILL = re.compile(r"\bthe skill `([a-z0-9-]+)` fits")
_READING = "skill_view"
WRITE_DOWN = "Answer with one JSON object"
"""What a request says that wants the task before it written down."""
_NAMING = re.compile(r"[a-z]{3,}")
_UNNAMED = frozenset(["and", "are", "for", "from", "how", "into", "its", "the", "this", "use", "with", "write"])
_SEED = re.compile(r"[0-9]{1,18}")
_decoder = json.JSONDecoder()


class Faults(Value, frozen=True, kw_only=True):
    """How the Apprentice errs."""

    version: int
    slip: float
    stubborn: float
    attention: float
    patience: int


class Way(Value, frozen=True, kw_only=True):
    """One way to do a step."""

    tool: str
    arguments: dict[str, Any]


class Step(Value, frozen=True, kw_only=True):
    """A step, its ways in order of preference, and how to find out whether it happened."""

    ways: tuple[Way, ...]
    verify: Way | None = None


class Progress(Value, frozen=True, kw_only=True):
    """Where the transcript says we are: the step in hand, the tools that failed at it, and whether it is in doubt."""

    step: int
    failed: tuple[str, ...] = ()
    doubtful: bool = False
    last: str = ""


@lru_cache(maxsize=1)
def default_faults() -> Faults:
    """The faults that published figures are measured with."""
    return msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=Faults)


def parse_steps(text: str) -> tuple[Step, ...]:
    """The steps written in a message."""
    starts = [match.end() for match in _STEP.finditer(text)]
    return tuple(step for start in starts if (step := _parse_step(text, start)) is not None)


def _parse_step(text: str, place: int) -> Step | None:
    ways: list[Way] = []
    verify: Way | None = None
    joint = "or"
    while match := _CALL.match(text, place):
        try:
            arguments, place = _decoder.raw_decode(text, match.end())
        except (ValueError, RecursionError):
            break
        way = Way(tool=match.group(1), arguments=arguments)
        if joint == "verify":
            verify = way
        else:
            ways.append(way)
        following = re.compile(r"\s+(or|verify)\b").match(text, place)
        if following is None:
            break
        joint, place = following.group(1), following.end()
    return Step(ways=tuple(ways), verify=verify) if ways else None


def progress_of(steps: Sequence[Step], messages: Sequence[Message]) -> Progress:
    """What the results in the transcript say about the steps."""
    at = Progress(step=0)
    for message in messages:
        if not isinstance(message, CallFinished) or message.tool == _READING or at.step >= len(steps):
            continue
        step = steps[at.step]
        verifying = at.doubtful and step.verify is not None and message.tool == step.verify.tool
        if message.status is CallStatus.OK and (verifying or message.tool in {way.tool for way in step.ways}):
            at = Progress(step=at.step + 1, last=message.text)
        elif message.status is CallStatus.IN_DOUBT:
            at = Progress(step=at.step, failed=at.failed, doubtful=True, last=message.text)
        else:
            at = Progress(step=at.step, failed=(*at.failed, message.tool), last=message.text)
    return at


def written_down(messages: Sequence[Message]) -> str:
    """The last task of a conversation as a skill: which tools did its steps, and which failed at them. An object with
    nothing in it where there was no task."""
    asked = [at for at, message in enumerate(messages) if isinstance(message, UserMessage)]
    task = next((at for at in reversed(asked) if parse_steps(messages[at].text)), None)
    if task is None:
        return "{}"
    request = messages[task].text
    steps, done = parse_steps(request), messages[task + 1 :]
    worked = {m.tool for m in done if isinstance(m, CallFinished) and m.status is CallStatus.OK}
    failed = {
        m.tool: m.error or m.status.value
        for m in done
        if isinstance(m, CallFinished) and m.status in (CallStatus.ERROR, CallStatus.TIMEOUT)
    }
    told = []
    for step in steps:
        good = [way.tool for way in step.ways if way.tool in worked]
        bad = [way.tool for way in step.ways if way.tool in failed and way.tool not in worked]
        told += [f"Use `{good[0]}`" + "".join(f"; avoid `{tool}`" for tool in bad) + "."] if good else []
    first = one_line(_STEP.split(request)[0].partition("\n")[0] or "a task of listed steps", 200)
    words = [word for word in _NAMING.findall(first.lower()) if word not in _UNNAMED]
    draft = {
        "name": "-".join(dict.fromkeys(words[:4])) or "listed-steps",
        "description": f"How to do tasks such as: {first}",
        "triggers": [first],
        "steps": told or ["Do the listed steps in order."],
        "pitfalls": [f"`{tool}` failed with {one_line(error, 80)}" for tool, error in sorted(failed.items())][:10],
        "success_criteria": ["Every listed step ended without an error."],
    }
    return json.dumps(draft)


class Apprentice:
    """The policy. The same request always gets the same answer."""

    provider = "apprentice"

    def __init__(self, seed: int = 0, faults: Faults | None = None) -> None:
        self.seed = seed
        self.model = str(seed)
        self._faults = faults or default_faults()

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """The next call, or the final answer."""
        messages = request.transcript.since_last_request()
        asked = messages[0].text if messages and isinstance(messages[0], UserMessage) else ""
        steps = parse_steps(asked)
        if random.Random(f"{self.seed}:plan:{asked}").random() < self._faults.attention:
            steps = _as_planned(steps, messages)
        at = progress_of(steps, messages)
        number = request.transcript.assistant_messages
        rng = random.Random(f"{self.seed}:{number}:{asked}")
        usage = Usage(input=len(asked) // 4, output=8)
        if not steps and WRITE_DOWN in asked:
            text = written_down(list(request.transcript))
        elif not steps:
            text = 'I am the Apprentice, a simulated policy: I only do listed steps such as 1. read_file {"path": "a"}'
        elif at.step >= len(steps):
            text = f"Done, {len(steps)} steps. The last one said: {one_line(at.last, 200)}"
        elif len(at.failed) >= self._faults.patience or not request.may_call_tools:
            text = f"I gave up at step {at.step + 1}: {one_line(at.last, 200)}"
        elif skill := self._unread(request, messages, asked):
            call = ToolCall(id=f"call_{number}", name=_READING, arguments={"name": skill})
            return ModelAnswer(text="", calls=(call,), stop="tool_calls", usage=usage)
        else:
            way = self._choose(steps[at.step], at, messages, rng)
            known = {tool.name for tool in request.prefix.tools}
            arguments = self._slipped(way.arguments, rng) if way.tool in known else way.arguments
            call = ToolCall(id=f"call_{number}", name=way.tool, arguments=arguments)
            return ModelAnswer(text="", calls=(call,), stop="tool_calls", usage=usage)
        on_text(text)
        return ModelAnswer(text=text, stop="stop", usage=usage)

    def _unread(self, request: ModelRequest, messages: Sequence[Message], asked: str) -> str:
        """A skill that was recommended and not read yet; empty when there is none, or it is not heeded."""
        told = [name for message in messages if isinstance(message, Fragment) for name in _SKILL.findall(message.text)]
        read = sum(isinstance(message, CallFinished) and message.tool == _READING for message in messages)
        heeded = [
            name for name in told if random.Random(f"{self.seed}:{name}:{asked}").random() < self._faults.attention
        ]
        can = any(tool.name == _READING for tool in request.prefix.tools)
        return heeded[read] if can and read < len(heeded) else ""

    def _choose(self, step: Step, at: Progress, messages: Sequence[Message], rng: random.Random) -> Way:
        """The way to try now: verify what is in doubt, heed advice, else the first that has not failed."""
        if at.doubtful and step.verify is not None:
            return step.verify
        ways = list(step.ways)
        if rng.random() < self._faults.attention:
            ways = _advised(ways, messages)
        if at.failed and rng.random() < self._faults.stubborn:
            again = [way for way in ways if way.tool == at.failed[-1]]
            ways = again or ways
            return ways[0]
        fresh = [way for way in ways if way.tool not in at.failed]
        return (fresh or ways)[0]

    def _slipped(self, arguments: dict[str, Any], rng: random.Random) -> dict[str, Any]:
        """Sometimes an argument is left out."""
        if not arguments or rng.random() >= self._faults.slip:
            return arguments
        lost = rng.choice(sorted(arguments))
        return {name: value for name, value in arguments.items() if name != lost}

    async def close(self) -> None:
        """There is nothing to close."""


def _as_planned(steps: tuple[Step, ...], messages: Sequence[Message]) -> tuple[Step, ...]:
    """The steps that hints leave, in the order that hints ask for."""
    told = _told(messages)
    skipped = set(_SKIP.findall(told))
    kept = [step for step in steps if not all(way.tool in skipped for way in step.ways)]
    asked = [(*pair, 1) for pair in _AFTER.findall(told)] + [(*pair, 0) for pair in _BEFORE.findall(told)]
    for tool, other, behind in asked:
        moved = [step for step in kept if tool in {way.tool for way in step.ways}]
        rest = [step for step in kept if step not in moved]
        place = next((at for at, step in enumerate(rest) if other in {way.tool for way in step.ways}), None)
        if place is not None:
            kept = [*rest[: place + behind], *moved, *rest[place + behind :]]
    return tuple(kept)


def _advised(ways: list[Way], messages: Sequence[Message]) -> list[Way]:
    """The ways in the order that hints and steers ask for."""
    told = _told(messages, CallStatus.STEERED)
    avoided, preferred = set(_AVOID.findall(told)), set(_PREFER.findall(told))
    return sorted(ways, key=lambda way: (way.tool in avoided) - (way.tool in preferred))


def _told(messages: Sequence[Message], *more: CallStatus) -> str:
    """What hints and skills say, and results with these statuses."""
    return "\n".join(
        message.text
        for message in messages
        if isinstance(message, Fragment)
        or (isinstance(message, CallFinished) and (message.tool == _READING or message.status in more))
    )


def connect(options: ProviderOptions) -> Apprentice:
    """A client for `apprentice` or `apprentice:SEED`."""
    if options.model and not _SEED.fullmatch(options.model):
        raise UsageError(f"{options.model!r} is no seed", remedy="write apprentice or apprentice:NUMBER")
    return Apprentice(int(options.model or 0))
