"""OpenViking (https://openviking.ai), a server of one's own: sessions are committed, and the server extracts memories.

Options: `account` and `user`, which a server without keys wants to be told; `commit` (turn, never): whether memories
are extracted after each turn, or when the server's own policy says so; `target`, the tree below which is searched.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...types.errors import ConfigError
from ..external import ExternalMemory, ProviderOptions, Recalled, Said
from ..service import Service, as_messages, at, found, key_of, segment, trouble

LOCAL = "http://localhost:1933"
COMMITS = ("turn", "never")
_MESSAGES = 100


class OpenViking:
    """Adds messages to a session, commits it, and finds memories by their abstracts."""

    def __init__(self, service: Service, target: str, *, commits: bool) -> None:
        self.name = service.name
        self._service = service
        self._target = target
        self._commits = commits

    async def remember(self, session_id: str, messages: Sequence[Said], *, tainted: bool = False) -> None:
        root = f"/api/v1/sessions/{segment(session_id)}"
        said = as_messages(messages)
        for begin in range(0, len(said), _MESSAGES):
            await self._service.ask("POST", f"{root}/messages/batch", {"messages": said[begin : begin + _MESSAGES]})
        if self._commits:
            await self._service.ask("POST", f"{root}/commit", {"keep_recent_count": 0})

    async def recall(self, query: str, session_id: str, limit: int) -> Sequence[Recalled]:
        body = {"query": query, "target_uri": self._target, "limit": limit, "context_type": "memory"}
        answer = await self._service.ask("POST", "/api/v1/search/find", body)
        return found(at(answer, "result.memories"), self.name, text="abstract", score="score", origin="uri")

    async def check(self) -> str:
        return await trouble(self.recall("hermes", "", 1))

    async def close(self) -> None:
        """Connections are shared and closed with the application."""


def connect(options: ProviderOptions) -> ExternalMemory:
    chosen = options.filled({"account": "", "user": "", "commit": "turn", "target": ""})
    if chosen["commit"] not in COMMITS:
        raise ConfigError(
            f"memory.options: commit is {chosen['commit']!r}", remedy=f"choose one of {', '.join(COMMITS)}"
        )
    key = key_of(options, "")
    headers = {
        name: value
        for name, value in (
            ("X-API-Key", key),
            ("X-OpenViking-Account", chosen["account"]),
            ("X-OpenViking-User", chosen["user"]),
        )
        if value
    }
    return OpenViking(Service(options, headers, LOCAL), chosen["target"], commits=chosen["commit"] == "turn")
