"""Time-sortable ids: nine characters of milliseconds, seven of randomness, in Crockford's base 32."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
LENGTH = 16
_TIME_CHARS = 9


def _base32(value: int, width: int) -> str:
    digits = []
    for _ in range(width):
        value, rest = divmod(value, 32)
        digits.append(ALPHABET[rest])
    return "".join(reversed(digits))


def new_id(clock: Callable[[], float] = time.time, randbits: Callable[[int], int] = secrets.randbits) -> str:
    """A fresh id. Ids made in different milliseconds sort by time, also as text in any database collation."""
    milliseconds = int(clock() * 1000)
    return _base32(milliseconds, _TIME_CHARS) + _base32(randbits(35), LENGTH - _TIME_CHARS)
