"""An agent with the product's own tools and a model that is told apart by what it is asked: work, review, extraction.

What the model answers depends on the request alone, so that a run that is taken up again goes on as it would have.
"""

import asyncio
import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from hermes_agent.agent import Agent, RunResult
from hermes_agent.learning.extract import INSTRUCTION
from hermes_agent.models.client import ModelAnswer, TextListener
from hermes_agent.models.providers.scripted import Turn
from hermes_agent.models.request import ModelRequest
from hermes_agent.runtime.growth import Growth
from hermes_agent.runtime.knowledge import Knowledge
from hermes_agent.safety.approvals import Answer, Approver, Question
from hermes_agent.skills.format import read_folder
from hermes_agent.skills.skill import Files
from hermes_agent.store.background import Work
from hermes_agent.tools.tool import Tool
from hermes_agent.types.base import Value
from hermes_agent.types.errors import ModelError
from hermes_agent.types.events import AnyEvent, CallFinished, Fragment, Message, Usage, UserMessage
from hermes_agent.types.sinks import EventSink
from hermes_agent.types.tools import ToolCall
from tests.harness.rig import Rig, call, calling, saying

WORK, REVIEW, EXTRACTION = "work", "review", "extraction"
_REVIEWED = "This time look after: "

Turns = Sequence[Turn] | Mapping[str, Sequence[Turn]]
"""What is answered to every request, or to each by its words."""


class Asked(Value, frozen=True, kw_only=True):
    """One request as the model saw it."""

    kind: str
    request: str
    system: str
    tools: tuple[str, ...]
    messages: tuple[Message, ...]

    def results(self) -> list[tuple[str, str, str]]:
        """What the calls since the request came to: tool, status, text."""
        return [(one.tool, one.status.value, one.text) for one in self.since_request() if isinstance(one, CallFinished)]

    def since_request(self) -> list[Message]:
        place = max(place for place, one in enumerate(self.messages) if isinstance(one, UserMessage))
        return list(self.messages[place:])


class Thinking:
    """A model with one script for work, one for reviews and one for extractions. `held` makes reviews and extractions
    wait until it is set."""

    provider = "scripted"

    def __init__(
        self,
        work: Turns = (),
        review: Turns = (),
        extraction: Turns = (),
        *,
        model: str = "thinking",
        usage: Usage | None = None,
        held: threading.Event | None = None,
    ) -> None:
        self.model = model
        self._scripts: dict[str, Turns] = {WORK: work, REVIEW: review, EXTRACTION: extraction}
        self._usage = usage or Usage(input=100, output=10)
        self._held = held
        self.asked: list[Asked] = []
        self.waiting = threading.Event()

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """The next turn of the script that the last request of the user calls for."""
        asked = as_asked(request)
        self.asked.append(asked)
        if self._held is not None and asked.kind != WORK:
            self.waiting.set()
            await asyncio.to_thread(self._held.wait, 60)
        script = self._scripts[asked.kind]
        turns = script.get(asked.request, ()) if isinstance(script, Mapping) else script
        number = sum(not isinstance(one, UserMessage | CallFinished | Fragment) for one in asked.since_request())
        turn = turns[number] if number < len(turns) else Turn(text="nothing" if asked.kind == REVIEW else "done")
        await asyncio.sleep(turn.seconds)
        if turn.failure is not None:
            raise ModelError(turn.failure, "the script says so")
        if turn.text:
            on_text(turn.text)
        calls = tuple(
            ToolCall(id=f"call_{len(asked.messages)}_{place}", name=one.name, arguments=one.arguments)
            for place, one in enumerate(turn.calls if request.may_call_tools else ())
        )
        stop = "tool_calls" if calls else "stop"
        return ModelAnswer(text=turn.text, calls=calls, stop=stop, usage=self._usage)

    async def close(self) -> None:
        """There is nothing to close."""

    def change(self, **scripts: Turns) -> None:
        """Answer otherwise from now on."""
        self._scripts |= scripts

    def of(self, kind: str) -> list[Asked]:
        """The requests of one kind, in order."""
        return [one for one in self.asked if one.kind == kind]


def as_asked(request: ModelRequest) -> Asked:
    """A request, and what it is for."""
    messages = tuple(request.transcript)
    said = [one.text for one in messages if isinstance(one, UserMessage)][-1]
    kind = EXTRACTION if said.startswith(INSTRUCTION) else REVIEW if _REVIEWED in said else WORK
    return Asked(
        kind=kind,
        request=said,
        system=request.prefix.system,
        tools=tuple(tool.name for tool in request.prefix.tools),
        messages=messages,
    )


class Learner:
    """An agent that looks back, and what tests want to know of it."""

    def __init__(
        self, rig: Rig, model: Thinking, *, approver: Approver | None = None, sinks: Sequence[EventSink] = ()
    ) -> None:
        self.rig = rig
        self.model = model
        self.agent = Agent(
            name="learner", model=model, workspace=rig.workspace, home=rig.home, approver=approver, sinks=sinks
        )
        for tool in tools():
            self.agent.register_tool(tool)
        self.store = self.agent.app.store

    @property
    def growth(self) -> Growth:
        found = self.agent.app.growth
        assert found is not None
        return found

    @property
    def knowledge(self) -> Knowledge:
        found = self.agent.app.knowledge
        assert found is not None
        return found

    def run(self, request: str, **options: Any) -> RunResult:
        """Do a request, and wait until nothing goes on behind it."""
        result = self.agent.run(request, **options)
        self.settle()
        return result

    def settle(self) -> None:
        """Wait for everything in the background."""
        self.agent.wait(self.agent.app.background.join())

    def works(self) -> list[Work]:
        """The background work, oldest first."""
        return self.agent.wait(self.store.background.listed(100))[::-1]

    def work(self) -> Work:
        """The only background work there is."""
        (only,) = self.works()
        return only

    def skills(self) -> dict[str, Files]:
        """The skills of the user's shelf, byte by byte."""
        folder = self.rig.home / "skills"
        found = sorted(path.parent for path in folder.glob("*/SKILL.md")) if folder.is_dir() else []
        return {path.name: read_folder(path) for path in found}

    def memory(self) -> dict[str, str]:
        """The files of the memory."""
        folder = self.rig.home / "memories"
        return {path.name: path.read_text() for path in sorted(folder.glob("*.md"))} if folder.is_dir() else {}

    def notes_in_log(self, kind: str) -> list[dict[str, Any]]:
        """What the log says of one kind of thing."""
        path = self.rig.home / "logs" / "hermes.log"
        lines = path.read_text().splitlines() if path.exists() else []
        read = [json.loads(line) for line in lines]
        return [line for line in read if line["kind"] == kind]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.agent.close()


class Witness:
    """Hears everything; is asked for everything."""

    def __init__(self) -> None:
        self.runs: set[str] = set()
        self.said: list[str] = []
        self.asked: list[str] = []

    def event(self, run_id: str, event: AnyEvent) -> None:
        self.runs.add(run_id)

    def text(self, run_id: str, delta: str) -> None:
        self.said.append(delta)

    async def approve(self, questions: Sequence[Question]) -> Sequence[Answer]:
        self.asked += [question.tool for question in questions]
        return [Answer.YES for _ in questions]

    async def choose(self, question: str, choices: Sequence[str]) -> str | None:
        self.asked.append(question)
        return None


def tools() -> list[Tool]:
    """Three that work and one that breaks when it is told to, none with any reach."""

    def look(place: str) -> str:
        """Look at a place."""
        return f"{place} looks well"

    def weigh(thing: str) -> str:
        """Weigh a thing."""
        return f"{thing} weighs 3"

    def count(thing: str) -> str:
        """Count things."""
        return f"7 of {thing}"

    def press(lever: str) -> str:
        """Press a lever; it may be stuck."""
        if lever == "stuck":
            raise ValueError("the lever is stuck")
        if lever == "unarmed":
            raise RuntimeError("lever: command not found")
        return f"{lever} is pressed"

    return [Tool(one.__name__, one, capabilities=(), effect="none") for one in (look, weigh, count, press)]


def steps(count: int, answer: str = "all is done") -> list[Turn]:
    """So many steps with one call each, then the answer."""
    return [*(calling(call("look", place=f"shelf {number}")) for number in range(count)), saying(answer)]


def markdown(name: str, description: str = "Sort the pantry. Use when jars are to be sorted.", body: str = "") -> str:
    """A skill as a person would write it."""
    return f"---\nname: {name}\ndescription: {description}\n---\n{body or '1. Look at the shelf.'}\n"


def creating(name: str, **more: Any) -> Turn:
    """A step that writes a skill."""
    return calling(call("skill_manage", action="create", name=name, content=markdown(name, **more)))


def hard_work(shelf: str = "north") -> list[Turn]:
    """A run that is worth a skill: four tools, one of which failed first, and more than ten messages."""
    return [
        calling(call("look", place=shelf)),
        calling(call("press", lever="stuck")),
        calling(call("press", lever="red")),
        calling(call("weigh", thing="jars")),
        calling(call("count", thing="jars")),
        saying("the jars are sorted"),
    ]


def draft(**changed: Any) -> str:
    """What an extraction answers when it answers well."""
    whole = {
        "name": "sorting-jars",
        "description": "Sort jars on a pantry shelf. Use when jars are to be sorted.",
        "triggers": ["sort the jars", "put the jars on the shelf in order"],
        "steps": ["Look at shelf {{shelf}} with `look`.", "Weigh the jars with `weigh`, then `count` them."],
        "parameters": [{"name": "shelf", "default": "north", "description": "which shelf"}],
        "success_criteria": ["Every jar was counted."],
        "pitfalls": ["The lever jams."],
    }
    return json.dumps(whole | changed)


def learner(
    rig: Rig, model: Thinking, *, approver: Approver | None = None, sinks: Sequence[EventSink] = (), **groups: Any
) -> Learner:
    """An agent in the rig's home. A review follows every run with a call, and nothing else is learned, unless the
    groups of settings say otherwise."""
    skills = {"curate": False, **groups.pop("skills", {"creation_nudge_interval": 1})}
    rig.configure(**{"skills": skills, "memory": {"nudge_interval": 0}, **groups})
    return Learner(rig, model, approver=approver, sinks=sinks)


HANGING = "sorting-jars"


class Hanging:
    """A process whose agent did some work and whose review wrote a skill and hangs."""

    def __init__(self, rig: Rig) -> None:
        arguments = [str(rig.workspace.parent), str(rig.home), rig.url]
        command = [sys.executable, "-m", "tests.runtime.reviewing", *arguments]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.session = self._process.stdout.readline().strip()

    def kill(self) -> None:
        """End it at once, and wait until it is gone."""
        if self._process.poll() is None:
            self._process.kill()
            self._process.communicate()


@contextlib.contextmanager
def hanging(rig: Rig) -> Iterator[Hanging]:
    """Such a process, which does not outlive the test."""
    process = Hanging(rig)
    try:
        yield process
    finally:
        process.kill()


def main() -> None:
    folder, home, url = sys.argv[1:]
    model = Thinking(steps(3), [creating(HANGING), Turn(text="never said", seconds=60)])
    it = learner(Rig(Path(folder), Path(home), url), model, skills={"creation_nudge_interval": 3})
    sys.stdout.write(it.agent.run("sort the jars").session_id + "\n")
    sys.stdout.flush()
    it.settle()


if __name__ == "__main__":
    main()
