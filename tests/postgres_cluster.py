"""A private, temporary PostgreSQL server for tests.

It listens on a unix socket inside its own folder only, so clusters started side by side cannot meet. A guard process
holds a pipe from the test process: when the pipe closes, for whatever reason, the server is stopped and the folder
removed, so that a killed test run leaves nothing behind.
"""

import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

SUPERUSER = "postgres"
SOCKET_PATH_LIMIT = 80
START_SECONDS = "60"
GUARD = 'read -r _; "$1" -D "$2/data" -m immediate -w -s stop; cd /; rm -rf "$2"'
SETTINGS = {
    "listen_addresses": "''",
    "max_connections": "200",
    "shared_buffers": "'32MB'",
    "max_wal_size": "'256MB'",
    "log_min_messages": "warning",
}
FAST_SETTINGS = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


def find_initdb() -> Path | None:
    """`initdb` from PATH, else from the newest version in the place where Debian puts the server; None if absent."""
    if found := shutil.which("initdb"):
        return Path(found).resolve()
    versions = [path for path in Path("/usr/lib/postgresql").glob("*/bin/initdb") if path.parts[4].isdigit()]
    return max(versions, key=lambda path: int(path.parts[4]), default=None)


class PostgresCluster:
    """Context manager around one server. `fast` gives up durability, for tests that do not kill the server."""

    def __init__(self, *, fast: bool = False) -> None:
        self._fast = fast
        self._folder: Path | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def folder(self) -> Path:
        """Holds the data, the socket and `server.log`; exists while the server runs."""
        if self._folder is None:
            raise RuntimeError("the cluster is not running; use it as a context manager")
        return self._folder

    @property
    def pid(self) -> int:
        """Process id of the server."""
        return int((self.folder / "data" / "postmaster.pid").read_text(encoding="ascii").split()[0])

    def dsn(self, database: str) -> str:
        """Connection URL of `database`."""
        return f"postgresql://{SUPERUSER}@/{quote(database, safe='')}?host={quote(str(self.folder), safe='')}"

    def create_database(self, name: str) -> str:
        """Create an empty database and return its connection URL."""
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        return self.dsn(name)

    def drop_database(self, name: str) -> None:
        """Drop a database with whatever is still connected to it."""
        with psycopg.connect(self.dsn("postgres"), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def __enter__(self) -> "PostgresCluster":
        initdb = find_initdb()
        if initdb is None:
            raise FileNotFoundError("PostgreSQL's server is not installed: initdb was not found")
        control = initdb.parent / "pg_ctl"
        self._folder = folder = _make_folder()
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "postgres-guard", str(control), str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd=folder,
            **_unprivileged(),
        )
        try:
            self._initialise(initdb)
            self._run(control, "-D", folder / "data", "-l", folder / "server.log", "-t", START_SECONDS, "-w", "start")
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def _initialise(self, initdb: Path) -> None:
        data = self.folder / "data"
        locale = ("--encoding=UTF8", "--locale=C", "--lc-ctype=C.UTF-8")
        self._run(initdb, "-D", data, "-U", SUPERUSER, "-A", "trust", "--no-sync", "--no-instructions", *locale)
        settings = SETTINGS | (FAST_SETTINGS if self._fast else {}) | {"unix_socket_directories": f"'{self.folder}'"}
        with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.writelines(f"{name} = {value}\n" for name, value in settings.items())

    def _run(self, *command: str | Path) -> None:
        """Run one of PostgreSQL's programs; its own words are the error."""
        output = self.folder / "setup.log"
        with output.open("wb") as file:
            code = subprocess.call(
                command,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                **_unprivileged(),
            )
        if code:
            logs = (output, self.folder / "server.log")
            said = "\n".join(log.read_text(encoding="utf-8", errors="replace") for log in logs if log.exists())
            raise RuntimeError(f"{Path(command[0]).name} failed with exit code {code}:\n{said}")

    def _stop(self) -> None:
        """One line, not end of file: a forked child may still hold the other end of the pipe open."""
        if self._guard is not None:
            self._guard.communicate(b"stop\n")
        self._guard = None
        self._folder = None


def _make_folder() -> Path:
    """A new folder whose socket path fits into `sun_path`, owned by the user the server runs as."""
    base = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir=base if len(base) < SOCKET_PATH_LIMIT else "/tmp"))
    user = _unprivileged()
    if user:
        os.chown(folder, user["user"], user["group"])
    return folder


def _unprivileged() -> dict[str, Any]:
    """Arguments for `subprocess`: PostgreSQL refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = names.get("postgres") or names["nobody"]
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
