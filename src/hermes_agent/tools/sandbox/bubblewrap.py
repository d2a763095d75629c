"""Commands in namespaces of their own: they see the system read-only, their folders, and nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ...config.settings import SandboxSettings
from ...types.errors import ConfigError
from .base import Boundary
from .probe import attempt, refusal
from .view import View, shell

if TYPE_CHECKING:
    from .plan import Plan

_PLACES = "/usr/local/bin:/usr/bin:/bin"
_REMEDY = (
    "install bubblewrap (`apt install bubblewrap`), or let it make namespaces: sysctl user.max_user_namespaces "
    "above 0, and on Ubuntu kernel.apparmor_restrict_unprivileged_userns=0"
)
_GENTLE = ("/usr/bin/env", "--default-signal=TERM,INT,HUP")


class Bubblewrap:
    """Runs commands under bubblewrap.

    A command has no network unless granted, no capabilities, no processes but its own, an empty home and /tmp; when it
    ends, or whoever waits for it dies, everything it started ends too.
    """

    name = "bubblewrap"
    confines = True

    def __init__(self, settings: SandboxSettings, environment: Mapping[str, str], hidden: Sequence[Path] = ()) -> None:
        found = shutil.which("bwrap", path=_PLACES)
        if found is None:
            raise ConfigError("bubblewrap is not installed", remedy=_REMEDY)
        self._program = found
        self._view = View(settings, environment, hidden)
        self._shell = shell()

    @property
    def reason(self) -> str:
        """Which one it is and what it does."""
        return f"{self._version}: commands see only the workspace and a read-only system, no network unless granted"

    @cached_property
    def _version(self) -> str:
        return attempt([self._program, "--version"]).stdout.strip() or "bubblewrap"

    @cached_property
    def _extra(self) -> list[str]:
        """What newer versions can do as well."""
        return ["--disable-userns"] if "--disable-userns" in attempt([self._program, "--help"]).stdout else []

    @cached_property
    def _gentle(self) -> bool:
        """Whether a command can be asked to end without its sandbox ending first."""
        return attempt([*_GENTLE, "true"]).returncode == 0

    def wrap(self, command: str, boundary: Boundary) -> list[str]:
        """The number of processes is limited from inside, because there only those of the command count."""
        option = "-u" if self._shell.endswith("bash") else "-p"
        limit = f"ulimit {option} {self._view.settings.processes} 2>/dev/null; "
        inner = [*(_GENTLE if self._gentle else ()), self._shell, "-c", limit + command]
        plan: Plan = {"kind": self.name, "program": self._program, "extra": self._extra, "gentle": self._gentle}
        return self._view.launch(plan, boundary, inner)

    def environment(self) -> dict[str, str]:
        """The environment of every command."""
        return self._view.environment(HOME="/home/agent", TMPDIR="/tmp")

    def prove(self, workspace: Path) -> None:
        """Run it once. Raises ConfigError when it does not work here."""
        boundary = Boundary(workspace=workspace, directory=workspace)
        argv = self.wrap("test -w . && test ! -e /etc/shadow", boundary)
        why = refusal(argv, self.environment(), workspace)
        if why:
            raise ConfigError(f"bubblewrap does not work here: {why}", remedy=_REMEDY)
