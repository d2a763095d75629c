"""Opens the store a configuration asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..types.errors import ConfigError
from .background import BackgroundWork
from .blobs import BlobFolder
from .budgets import Budgets
from .database import Backend, Database
from .inbox import Inbox
from .journal import Journal
from .learned import Heuristics
from .outbox import Outbox
from .prefixes import Prefixes
from .runs import Runs
from .sessions import Sessions, SessionValueStore
from .skills import SkillStore
from .traces import Traces


class Store:
    """All aggregates over one database."""

    def __init__(self, database: Database, home: Path, owner: str, lease_seconds: float) -> None:
        self.database = database
        self.home = home
        self.journal = Journal(database)
        self.inbox = Inbox(database, owner)
        self.outbox = Outbox(database, owner)
        self.runs = Runs(database, owner, lease_seconds)
        self.sessions = Sessions(database, owner)
        self.prefixes = Prefixes(database)
        self.traces = Traces(database)
        self.budgets = Budgets(database)
        self.heuristics = Heuristics(database)
        self.skills = SkillStore(database, owner)
        self.background = BackgroundWork(database, owner)
        self.owner = owner
        self.notices: Sequence[str] = ()

    def blobs(self, session_id: str) -> BlobFolder:
        """Where a session's large outputs lie."""
        return BlobFolder(self.home / "blobs" / session_id)

    def process_logs(self, session_id: str) -> Path:
        """Where a session's background processes write."""
        return self.home / "processes" / session_id

    def values(self, session_id: str) -> SessionValueStore:
        """A session's small values."""
        return SessionValueStore(self.database, session_id)

    def close(self) -> None:
        """Commit what is under way and let go of the database."""
        self.database.close()


def backend_for(url: str, home: Path) -> Backend:
    """The engine behind a store URL: empty or `sqlite:PATH` for a file, `postgresql://…` for a server."""
    if url.startswith(("postgresql://", "postgres://")):
        from .backends.postgres import Postgres

        return Postgres(url)
    if url in ("", "sqlite") or url.startswith("sqlite:"):
        from .backends.sqlite import Sqlite

        name = url.removeprefix("sqlite:").removeprefix("//") if ":" in url else ""
        return Sqlite(home / name if name else home / "hermes.db")
    raise ConfigError(
        f"store.url {url!r} names no database we know", remedy="leave it empty for SQLite, or use postgresql://…"
    )


def open_store(url: str, home: Path, *, owner: str = "local", lease_seconds: float = 15.0) -> Store:
    """Connect, migrate, and hand out the aggregates. `store.notices` tells what the user should know."""
    store = Store(Database(backend_for(url, home)), home, owner, lease_seconds)
    store.notices = store.database.open()
    return store
