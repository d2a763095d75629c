"""Adapters in front of fakes, and one loop for each question."""

import asyncio
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

from hermes_agent.config.settings import MemorySettings
from hermes_agent.memory.external import ExternalMemory, Recalled, Said, connect
from hermes_agent.models.http import close_clients
from hermes_agent.types.advice import SessionView
from tests.memory.external import fakes
from tests.memory.external.server import KEY, Speaks

T = TypeVar("T")
FACT = "Deployments go to the Lisbon cluster on Fridays"
QUESTION = "lisbon cluster deployments"
TURN: list[Said] = [("user", FACT), ("assistant", "Noted.")]
PLAIN = {
    "headers": "X-Secret: {key}\nX-Other: yes",
    "project": "my space/..",
    "recall_url": "/spaces/{project}/look?who={user}",
    "recall_body": '{"find": {"text": "{query}", "top": "{limit}"}, "in": ["{session}", 1, null]}',
    "recall_path": "data.hits",
    "recall_text": "doc.body",
    "recall_score": "rank",
    "remember_method": "PUT",
    "remember_url": "/spaces/{project}/note",
    "remember_body": '{"words": "{text}", "session": "{session}"}',
}
SERVICES: dict[str, tuple[Speaks, dict[str, str]]] = {
    "honcho": (fakes.honcho, {}),
    "mem0": (fakes.mem0, {}),
    "hindsight": (fakes.hindsight, {}),
    "supermemory": (fakes.supermemory, {}),
    "openviking": (fakes.openviking, {}),
    "retaindb": (fakes.retaindb, {}),
    "byterover": (fakes.byterover, {}),
    "http": (fakes.plain, PLAIN),
}


def variables(name: str, key: str = KEY) -> dict[str, str]:
    return {f"{name.upper()}_API_KEY": key} if key else {}


def memory_at(name: str, url: str, home: Path, *, key: str = KEY, **options: str) -> ExternalMemory:
    settings = MemorySettings(provider=name, address=url, options={**SERVICES[name][1], **options})
    memory = connect(settings, variables(name, key), home)
    assert memory is not None
    return memory


def ask(question: Coroutine[Any, Any, T]) -> T:
    """The answer, in a loop whose connections are closed behind it."""

    async def work() -> T:
        try:
            return await question
        finally:
            await close_clients()

    return asyncio.run(work())


async def told_and_asked(
    memory: ExternalMemory, turn: Sequence[Said] = TURN, question: str = QUESTION, limit: int = 5
) -> list[Recalled]:
    """Remember one turn and ask about it from another session."""
    await memory.remember("first/session", turn)
    return list(await memory.recall(question, "second", limit))


def view(request: str, session_id: str = "s-1") -> SessionView:
    return SessionView(session_id=session_id, workspace="/w", surface="cli", model="scripted:x", request=request)
