"""Honcho (https://honcho.dev), interface version 3: peers speak in sessions of a workspace, and it draws conclusions.

Options: `workspace`; `user` and `agent`, the names of the two peers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...types.text import head_and_tail
from ..external import ExternalMemory, ProviderOptions, Recalled, Said
from ..service import LONGEST_MESSAGE, Service, bearer, found, key_of, segment, trouble

HOSTED = "https://api.honcho.dev"
_MESSAGES = 100
_NAME = re.compile(r"[^A-Za-z0-9_-]")


class Honcho:
    """Adds messages to a session and asks for the conclusions about the user that fit a query."""

    def __init__(self, service: Service, workspace: str, user: str, agent: str) -> None:
        self.name = service.name
        self._service = service
        self._workspace = workspace
        self._root = f"/v3/workspaces/{segment(workspace)}"
        self._peers = {"user": user, "assistant": agent}
        self._known = False
        self._session = ""

    async def remember(self, session_id: str, messages: Sequence[Said], *, tainted: bool = False) -> None:
        session = _NAME.sub("-", session_id)[:512]
        await self._ensure_workspace()
        if session != self._session:
            peers: dict[str, dict[str, bool]] = {peer: {} for peer in self._peers.values()}
            await self._service.ask("POST", f"{self._root}/sessions", {"id": session, "peers": peers})
            self._session = session
        said = [
            {"content": head_and_tail(text, LONGEST_MESSAGE), "peer_id": self._peers.get(role, self._peers["user"])}
            for role, text in messages
        ]
        for begin in range(0, len(said), _MESSAGES):
            path = f"{self._root}/sessions/{segment(session)}/messages"
            await self._service.ask("POST", path, {"messages": said[begin : begin + _MESSAGES]})

    async def recall(self, query: str, session_id: str, limit: int) -> Sequence[Recalled]:
        await self._ensure_workspace()
        user = self._peers["user"]
        body = {"query": query, "top_k": limit, "filters": {"observer_id": user, "observed_id": user}}
        answer = await self._service.ask("POST", f"{self._root}/conclusions/query", body)
        return found(answer, self.name, text="content")

    async def check(self) -> str:
        return await trouble(self._service.ask("POST", "/v3/workspaces/list"))

    async def close(self) -> None:
        """Connections are shared and closed with the application."""

    async def _ensure_workspace(self) -> None:
        """Get or make the workspace, once: the service answers the same either way."""
        if not self._known:
            await self._service.ask("POST", "/v3/workspaces", {"id": self._workspace})
            self._known = True


def connect(options: ProviderOptions) -> ExternalMemory:
    chosen = options.filled({"workspace": "hermes", "user": "user", "agent": "hermes"})
    service = Service(options, bearer(key_of(options, HOSTED)), HOSTED)
    return Honcho(service, chosen["workspace"], chosen["user"], chosen["agent"])
