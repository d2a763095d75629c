"""What is tidied between runs: sessions older than the user wants to keep."""

from __future__ import annotations

from pathlib import Path

from ..store.open import Store
from ..store.retention import prune
from ..store.sessions import Session

_DAY = 86_400.0


async def tidy(store: Store, days: float, now: float) -> list[Session]:
    """Erase sessions unused for `days` days, at most once a day; returns them. Zero days keeps everything."""
    mark = store.home / ".tidied"
    if days <= 0 or now - _last(mark) < _DAY:
        return []
    mark.touch()
    return await prune(store, days, now, dry_run=False)


def _last(mark: Path) -> float:
    return mark.stat().st_mtime if mark.exists() else 0.0
