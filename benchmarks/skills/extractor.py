"""A scripted extractor behind the Apprentice: it does the tasks like the Apprentice, and answers the product's request
for a skill with drafts such as models write.

It writes down what the run before it did, in one of several wordings, under one of several names; some drafts are
malformed, some are named for the single case, and some recommend another way than the one that worked.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from benchmarks.skills.office import AFTER, BEFORE, WAYS, Office, Task
from hermes_agent.models.client import ModelAnswer, TextListener
from hermes_agent.models.providers.apprentice import Apprentice
from hermes_agent.models.request import ModelRequest
from hermes_agent.types.events import CallFinished, Message, Usage, UserMessage
from hermes_agent.types.trace import CallStatus

MALFORMED, NARROW, MISTAKEN = 0.10, 0.15, 0.08
_ASKED = "Write down how this kind of task is done"
_VOICES = (
    (
        "Get hold of the material with `{0}` and look it over with `{1}`.",
        "For the work itself, use `{way}`.",
        "Look at the outcome with `{2}`, then hand it in with `{3}`.",
    ),
    (
        "Begin with `{0}`, then `{1}`: know what there is before anything is done.",
        "Then use `{way}` on {subject}.",
        "`{2}` tells whether it holds; `{3}` closes the task.",
    ),
    (
        "`{0}` and `{1}` come first.",
        "prefer `{way}`: it gave the right result here.",
        "Finish with `{2}` and `{3}`, in this order.",
    ),
)


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """How an extractor may name and describe a kind of work."""

    names: tuple[str, ...]
    descriptions: tuple[str, ...]
    triggers: tuple[str, ...]
    notes: tuple[str, str]


def vocabulary() -> dict[str, Words]:
    """The wordings, by family."""
    path = Path(__file__).with_name("wordings.json")
    return msgspec.json.decode(path.read_bytes(), type=dict[str, Words])


class Extractor:
    """A model client. `counted` says what kinds of drafts it wrote; `written` for which family each name was used."""

    provider = "apprentice"

    def __init__(self, seed: int, office: Office) -> None:
        self.model = f"{seed}"
        self.counted: Counter[str] = Counter()
        self.written: dict[str, str] = {}
        self._apprentice = Apprentice(seed)
        self._office = office
        self._words = vocabulary()
        self._rng = random.Random(f"extractor:{seed}")

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """A draft where one is asked for, else what the Apprentice does."""
        messages = request.transcript.since_last_request()
        asked = messages[0].text if messages and isinstance(messages[0], UserMessage) else ""
        if _ASKED not in asked:
            return await self._apprentice.answer(request, on_text)
        text = self._draft(list(request.transcript))
        on_text(text)
        return ModelAnswer(text=text, stop="stop", usage=Usage(input=len(asked) // 4, output=len(text) // 4))

    async def close(self) -> None:
        """There is nothing to close."""

    def _draft(self, messages: Sequence[Message]) -> str:
        requests = [message.text for message in messages if isinstance(message, UserMessage)]
        task = next((found for text in reversed(requests) if (found := self._office.task_of(text))), None)
        ends = [message for message in messages if isinstance(message, CallFinished)]
        worked = next((end.tool for end in reversed(ends) if end.tool in WAYS and end.status is CallStatus.OK), "")
        failed = [end.tool for end in ends if end.tool in WAYS and end.status is not CallStatus.OK]
        self.counted["asked"] += 1
        if task is None or not worked:
            return "There is nothing to write down."
        draft = self._written(task, worked, failed)
        if self._rng.random() < MALFORMED:
            self.counted["malformed"] += 1
            return self._spoiled(draft)
        self.written.setdefault(str(draft["name"]), task.family)
        return json.dumps(draft)

    def _written(self, task: Task, worked: str, failed: Sequence[str]) -> dict[str, object]:
        rng, words = self._rng, self._words[task.family]
        name = rng.choice(words.names)
        if rng.random() < NARROW:
            self.counted["narrow"] += 1
            case = "".join(letter if letter.isalnum() else "-" for letter in task.subject.lower())
            name = "-".join(part for part in f"{name}-{case}".split("-") if part and part.isascii())[:60].strip("-")
        if rng.random() < MISTAKEN:
            self.counted["mistaken"] += 1
            worked = rng.choice([way for way in WAYS if way != worked])
        voice = rng.choice(_VOICES)
        return {
            "name": name,
            "description": rng.choice(words.descriptions),
            "triggers": rng.sample(words.triggers, 2),
            "steps": self._steps(words, voice, worked),
            "parameters": [{"name": "subject", "description": "what the task is about"}],
            "success_criteria": ["check_result says that it is done"],
            "pitfalls": [f"{way} was out of order" for way in dict.fromkeys(failed)],
        }

    def _steps(self, words: Words, voice: Sequence[str], way: str) -> list[str]:
        """The steps around the tools, with one or both of what there is to know about the work itself."""
        begin, work, end = (_filled(line, way) for line in voice)
        before, after = words.notes
        kept = self._rng.choice(((True, True), (True, False), (False, True)))
        return [begin, *([before] if kept[0] else []), work, *([after] if kept[1] else []), end]

    def _spoiled(self, draft: dict[str, object]) -> str:
        whole = json.dumps(draft)
        return self._rng.choice(
            (
                whole[: len(whole) // 2],
                f"Here is the skill you asked for:\n{whole}",
                json.dumps({**draft, "name": str(draft["name"]).replace("-", " ").title()}),
                json.dumps({**draft, "confidence": 0.9}),
                json.dumps({**draft, "steps": []}),
            )
        )


def _filled(line: str, way: str) -> str:
    """A line of a draft with the tools in their places."""
    for place, tool in enumerate((*BEFORE, *AFTER)):
        line = line.replace(f"{{{place}}}", tool)
    return line.replace("{way}", way).replace("{subject}", "{{subject}}")
