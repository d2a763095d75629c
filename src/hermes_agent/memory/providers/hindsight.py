"""Hindsight (https://hindsight.vectorize.io), a server of one's own: memories belong to a bank.

Options: `bank`, where memories are kept; `budget` (low, mid, high), how thoroughly the server looks; `context`, what
the server is told about where the text comes from.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...types.errors import ConfigError
from ..external import ExternalMemory, ProviderOptions, Recalled, Said
from ..service import Service, as_text, at, bearer, found, key_of, segment, trouble

LOCAL = "http://localhost:8888"
BUDGETS = ("low", "mid", "high")
_TOKENS = 1024


class Hindsight:
    """Retains each turn, which the server works on afterwards, and recalls facts and observations."""

    def __init__(self, service: Service, bank: str, budget: str, context: str) -> None:
        self.name = service.name
        self._service = service
        self._root = f"/v1/default/banks/{segment(bank)}/memories"
        self._budget = budget
        self._context = context

    async def remember(self, session_id: str, messages: Sequence[Said], *, tainted: bool = False) -> None:
        item = {"content": as_text(messages), "context": self._context, "metadata": {"session": session_id}}
        await self._service.ask("POST", self._root, {"items": [item], "async": True})

    async def recall(self, query: str, session_id: str, limit: int) -> Sequence[Recalled]:
        body = {"query": query, "budget": self._budget, "max_tokens": _TOKENS}
        answer = await self._service.ask("POST", f"{self._root}/recall", body)
        return found(at(answer, "results"), self.name, text="text", score="scores.final")[:limit]

    async def check(self) -> str:
        return await trouble(self.recall("hermes", "", 1))

    async def close(self) -> None:
        """Connections are shared and closed with the application."""


def connect(options: ProviderOptions) -> ExternalMemory:
    chosen = options.filled({"bank": "hermes", "budget": "low", "context": "conversation with an assistant"})
    if chosen["budget"] not in BUDGETS:
        raise ConfigError(
            f"memory.options: {chosen['budget']!r} is no budget", remedy=f"choose one of {', '.join(BUDGETS)}"
        )
    service = Service(options, bearer(key_of(options, "")), LOCAL)
    return Hindsight(service, chosen["bank"], chosen["budget"], chosen["context"])
