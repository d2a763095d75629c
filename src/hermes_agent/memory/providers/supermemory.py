"""Supermemory (https://supermemory.ai), interface version 5: everything belongs to a namespace.

Options: `namespace`, where memories are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..external import ExternalMemory, ProviderOptions, Recalled, Said
from ..service import Service, as_text, at, bearer, found, key_of, segment, trouble

HOSTED = "https://api.supermemory.ai"


class Supermemory:
    """Adds each turn as a document and searches the memories made of them."""

    def __init__(self, service: Service, namespace: str) -> None:
        self.name = service.name
        self._service = service
        self._root = f"/ns/{segment(namespace)}"

    async def remember(self, session_id: str, messages: Sequence[Said], *, tainted: bool = False) -> None:
        body = {"content": as_text(messages), "metadata": {"session": session_id}, "taskType": "memory"}
        await self._service.ask("POST", f"{self._root}/document", body)

    async def recall(self, query: str, session_id: str, limit: int) -> Sequence[Recalled]:
        body = {"query": query, "searchMode": "memories", "limit": limit}
        answer = await self._service.ask("POST", f"{self._root}/search", body)
        return found(at(answer, "results"), self.name, text="memory", score="similarity")

    async def check(self) -> str:
        return await trouble(self._service.ask("GET", "/organization"))

    async def close(self) -> None:
        """Connections are shared and closed with the application."""


def connect(options: ProviderOptions) -> ExternalMemory:
    chosen = options.filled({"namespace": "hermes"})
    return Supermemory(Service(options, bearer(key_of(options, HOSTED)), HOSTED), chosen["namespace"])
