"""Runs a program once to see whether it works here."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_SECONDS = 20


def attempt(
    argv: Sequence[str], environment: Mapping[str, str] | None = None, directory: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """What it printed and how it ended. A program that cannot be started or hangs has failed."""
    try:
        return subprocess.run(
            argv,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
            cwd=directory,
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.SubprocessError) as error:
        return subprocess.CompletedProcess(list(argv), 1, "", str(error))


def refusal(argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> str:
    """Why it does not work, in one line; empty when it does."""
    done = attempt(argv, environment, directory)
    if not done.returncode:
        return ""
    lines = (done.stdout + done.stderr).strip().splitlines()
    return lines[-1] if lines else f"exit code {done.returncode}"
