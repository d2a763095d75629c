"""Earlier conversations, as a tool searches them."""

from __future__ import annotations

from collections.abc import Sequence

from ..types.tools import Hit
from .sessions import Session, Sessions


class Recall:
    """Places in all sessions where words were said (the Conversations protocol of tools)."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def search(self, query: str, limit: int) -> Sequence[Hit]:
        """The places that match, with the session each belongs to."""
        known: dict[str, Session] = {}
        hits = []
        for found in await self._sessions.search(query, limit):
            if found.session_id not in known:
                known[found.session_id] = await self._sessions.get(found.session_id)
            session = known[found.session_id]
            hits.append(
                Hit(
                    session_id=session.id,
                    title=session.title,
                    at=session.updated_at,
                    text=found.snippet,
                    role=found.role,
                )
            )
        return hits
