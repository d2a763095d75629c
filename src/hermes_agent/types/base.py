"""How our values look: frozen, keyword-only structs."""

from __future__ import annotations

import msgspec


class Value(msgspec.Struct, frozen=True, kw_only=True):
    """Base of every value: immutable, compared by content, typed JSON both ways."""
