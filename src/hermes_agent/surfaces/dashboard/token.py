"""The page's token, kept in the home so that a scraper's configuration goes on working after a restart."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from ...types.errors import StoreUnwritable

_SHORTEST = 32


def token_path(home: Path) -> Path:
    """Where it lies."""
    return home / "dashboard.token"


def kept_token(home: Path) -> str:
    """The token of this home, made when there is none, or when the one there is was open to others."""
    path = token_path(home)
    with contextlib.suppress(OSError, ValueError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(descriptor, "rb") as file:
            private = not stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077
            token = file.read(256).decode("ascii").strip()
        if private and len(token) >= _SHORTEST:
            return token
    return _made(path)


def _made(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(token + "\n")
        fresh.replace(path)
    except OSError as error:
        raise StoreUnwritable(f"the page's token cannot be written to {path}: {error.strerror or error}") from error
    return token
