"""The shell as it is: limits and a bare environment, but no isolation."""

from __future__ import annotations

import os
from collections.abc import Mapping

from .base import Boundary

_KEPT = frozenset(("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR"))
_FIXED = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_PATH = "/usr/local/bin:/usr/bin:/bin"
_BASH = "/bin/bash"


class Direct:
    """Runs commands with the user's own rights.

    Of the environment only what a command needs to find its way is handed on, so that no key of the agent is in it.
    The limits hold for each process: seconds of CPU, bytes of one file, no core dumps.
    """

    name = "direct"
    confines = False

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        cpu_seconds: int = 3600,
        file_bytes: int = 8 << 30,
        reason: str = "none: commands run with your own rights",
    ) -> None:
        self.reason = reason
        kept = {name: value for name, value in environment.items() if name in _KEPT or name.startswith("LC_")}
        self._environment = {"PATH": _PATH, **kept, **_FIXED}
        self._shell = _BASH if os.access(_BASH, os.X_OK) else "/bin/sh"
        block = 1024 if self._shell == _BASH else 512
        self._prelude = f"ulimit -c 0; ulimit -t {cpu_seconds}; ulimit -f {file_bytes // block}; "

    def wrap(self, command: str, boundary: Boundary) -> list[str]:
        """The limits stand on the command's own first line, so that the line numbers in its messages stay right."""
        return [self._shell, "-c", self._prelude + command]

    def environment(self) -> dict[str, str]:
        """The environment of every command."""
        return dict(self._environment)
