"""Frozen prefixes: stored once by content, byte-identical within an epoch, also across a crash."""

from __future__ import annotations

import hashlib

from ..types.base import Value
from .database import Connection, Database


class PrefixEpoch(Value, frozen=True, kw_only=True):
    """The prefix a session uses now: which epoch, for which model and product version, and its stored text."""

    epoch: int
    fingerprint: str
    model: str
    product: str
    at: float
    payload: str


class Prefixes:
    """Keeps the prefix of each session's current epoch."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def current(self, session_id: str) -> PrefixEpoch | None:
        """The newest epoch of a session."""

        def unit(connection: Connection) -> PrefixEpoch | None:
            rows = connection.run(
                "SELECT e.epoch, e.fingerprint, e.model, e.product, e.at, p.payload FROM prefix_epochs e "
                "JOIN prefixes p ON p.fingerprint = e.fingerprint WHERE e.session_id = ? ORDER BY e.epoch DESC LIMIT 1",
                (session_id,),
            )
            if not rows:
                return None
            epoch, fingerprint, model, product, at, payload = rows[0]
            return PrefixEpoch(
                epoch=epoch, fingerprint=fingerprint, model=model, product=product, at=at, payload=payload
            )

        return await self._database.read(unit)

    async def freeze(
        self, session_id: str, epoch: int, payload: str, model: str, product: str, reason: str
    ) -> PrefixEpoch:
        """Begin an epoch with this prefix. `payload` is ASCII text."""
        fingerprint = hashlib.blake2b(payload.encode(), digest_size=16).hexdigest()

        def unit(connection: Connection) -> PrefixEpoch:
            now = connection.now()
            connection.run(
                "INSERT INTO prefixes (fingerprint, payload) VALUES (?, ?) ON CONFLICT DO NOTHING",
                (fingerprint, payload),
            )
            connection.run(
                "INSERT INTO prefix_epochs (session_id, epoch, fingerprint, model, product, reason, at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (session_id, epoch, fingerprint, model, product, reason, now),
            )
            return PrefixEpoch(
                epoch=epoch, fingerprint=fingerprint, model=model, product=product, at=now, payload=payload
            )

        return await self._database.write(unit)
