"""A folder for one browser: its home and what it writes for a while. Gone with it, or swept up by the next one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from pathlib import Path

_PREFIX = "hermes-browser-"
_LOCK = "lock"
_LONGEST = 60
"""Chromium makes a socket in its folder for temporary files, and the path of a socket is short."""


class BrowserFolder:
    """Made for one launch and locked as long as this process lives: an agent that was killed cannot tidy up, but a
    folder that nobody locks is known to be nobody's."""

    def __init__(self, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        sweep(parent)
        self.path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=parent))
        self.home = self.path / "home"
        self.home.mkdir()
        fresh = self.path / "fresh"
        self._lock = os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        fresh.rename(self.path / _LOCK)

    def environment(self) -> dict[str, str]:
        """All that the browser sees of the environment: no keys of the agent, and a home that is empty."""
        found = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8"}
        return {**found, "TMPDIR": str(self.path)} if len(str(self.path)) <= _LONGEST else found

    def remove(self) -> None:
        shutil.rmtree(self.path, ignore_errors=True)
        with contextlib.suppress(OSError):
            os.close(self._lock)


def sweep(parent: Path) -> None:
    """Remove what browsers of dead agents of this user left in `parent`."""
    for folder in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            _sweep_one(folder)


def _sweep_one(folder: Path) -> None:
    if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
        return
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(lock)
