"""A folder that one run in the sandbox may use, and that is gone afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

_LONGEST_PATH = 90


@contextlib.asynccontextmanager
async def private_folder() -> AsyncIterator[Path]:
    """A new folder of mode 0700, removed at the end with whatever was put there, also after an error."""
    folder = _made()
    try:
        yield folder
    finally:
        await asyncio.shield(asyncio.to_thread(_remove, folder))


def _made() -> Path:
    """A path short enough for a socket below it."""
    folder = tempfile.mkdtemp(prefix="hermes-run-")
    if len(os.fsencode(folder)) <= _LONGEST_PATH:
        return Path(folder)
    os.rmdir(folder)
    return Path(tempfile.mkdtemp(prefix="hermes-run-", dir="/tmp"))


def _remove(folder: Path) -> None:
    """Links are removed, not followed; a tree too deep for Python is left to `rm`."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        subprocess.run(["rm", "-rf", "--", folder], check=False, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
