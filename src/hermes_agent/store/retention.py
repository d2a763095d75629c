"""How old sessions leave: by the user's word or by a configured age, payloads, blobs and logs included."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from .open import Store
from .sessions import Session


async def delete_sessions(store: Store, session_ids: Sequence[str]) -> list[str]:
    """Erase sessions with everything they left on disk.

    Returns the older states of the database that may still hold them (backups before an upgrade, damaged files that
    were set aside): erasing does not reach into those, so the user should be told.
    """
    await store.sessions.erase(session_ids)
    for session_id in session_ids:
        for folder in (store.blobs(session_id).folder, store.process_logs(session_id)):
            if folder.exists():
                shutil.rmtree(folder)
    return store.database.backend.copies()


async def prune(store: Store, older_than_days: float, now: float, *, dry_run: bool) -> list[Session]:
    """Erase the sessions not used for that many days; returns them."""
    old = await store.sessions.idle_since(now - older_than_days * 86_400)
    if old and not dry_run:
        await delete_sessions(store, [session.id for session in old])
    return old
