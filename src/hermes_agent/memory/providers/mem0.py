"""Mem0 (https://mem0.ai), interface version 3: memories belong to a user.

Options: `user`, under whom memories are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..external import ExternalMemory, ProviderOptions, Recalled, Said
from ..service import Service, as_messages, at, found, key_of, trouble

HOSTED = "https://api.mem0.ai"


class Mem0:
    """Adds conversations and searches what Mem0 made of them."""

    def __init__(self, service: Service, user: str) -> None:
        self.name = service.name
        self._service = service
        self._user = user

    async def remember(self, session_id: str, messages: Sequence[Said], *, tainted: bool = False) -> None:
        body = {"messages": as_messages(messages), "user_id": self._user, "metadata": {"session": session_id}}
        await self._service.ask("POST", "/v3/memories/add/", body)

    async def recall(self, query: str, session_id: str, limit: int) -> Sequence[Recalled]:
        body = {"query": query, "filters": {"user_id": self._user}, "top_k": limit}
        answer = await self._service.ask("POST", "/v3/memories/search/", body)
        return found(at(answer, "results"), self.name, text="memory", score="score")

    async def check(self) -> str:
        return await trouble(self._service.ask("GET", "/v1/ping/"))

    async def close(self) -> None:
        """Connections are shared and closed with the application."""


def connect(options: ProviderOptions) -> ExternalMemory:
    chosen = options.filled({"user": "hermes"})
    key = key_of(options, HOSTED)
    return Mem0(Service(options, {"Authorization": f"Token {key}"} if key else {}, HOSTED), chosen["user"])
