"""Commands kept by Landlock: no namespaces needed, so it works where they are forbidden, but it hides less."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...config.settings import SandboxSettings
from ...types.errors import ConfigError
from .base import Boundary
from .probe import refusal
from .view import View, shell

if TYPE_CHECKING:
    from .plan import Plan

_REMEDY = "use Linux 5.13 or newer with landlock in its list of security modules (lsm=landlock,…)"
_ALL_SIGNALS = 6
_TCP = 4


class Landlock:
    """Runs commands that may read the system, write their own folders, and open no sockets unless granted.

    What it does not do: the names and sizes of other files stay visible, and so are the user's other processes. Secrets
    inside the workspace are not covered. A command that is given `shared` folders may open local sockets, and then also
    those of other programs where the rights of the file allow it.
    """

    name = "landlock"

    def __init__(self, settings: SandboxSettings, environment: Mapping[str, str], hidden: Sequence[Path] = ()) -> None:
        self._abi, self._filtered = _offered()
        if not self._abi:
            raise ConfigError("this kernel has no Landlock, or it is switched off", remedy=_REMEDY)
        self._view = View(settings, environment, hidden)
        self._shell = shell()

    @property
    def confines(self) -> bool:
        """Files always; but a sandbox that leaves the network open is none."""
        return self._filtered or self._abi >= _TCP

    @property
    def reason(self) -> str:
        """Which one it is, what it does and what it cannot do here."""
        net = "no network unless granted" if self._filtered else "no TCP unless granted, but other protocols"
        if not self._filtered and self._abi < _TCP:
            net = "the network cannot be denied here"
        gaps = "" if self._abi >= _ALL_SIGNALS else "; your other processes can be sent signals"
        if os.geteuid() == 0:
            gaps += "; as root the number of processes is limited only by a control group"
        return f"Landlock ABI {self._abi}: commands read only the system and write only the workspace, {net}{gaps}"

    def wrap(self, command: str, boundary: Boundary) -> list[str]:
        """The launcher restricts itself and then becomes the shell."""
        plan: Plan = {"kind": self.name, "local": bool(boundary.shared)}
        return self._view.launch(plan, boundary, [self._shell, "-c", command])

    def environment(self) -> dict[str, str]:
        """The environment of every command; the launcher adds a HOME and a TMPDIR of its own."""
        return self._view.environment()

    def prove(self, workspace: Path) -> None:
        """Run it once. Raises ConfigError when it does not work here."""
        command = "echo x > probe && ! ls / >/dev/null 2>&1"
        boundary = Boundary(workspace=workspace, directory=workspace)
        why = refusal(self.wrap(command, boundary), self.environment(), workspace)
        if why:
            raise ConfigError(f"Landlock does not work here: {why}", remedy=_REMEDY)


def _offered() -> tuple[int, bool]:
    """The version of Landlock here, and whether there is a filter of system calls for this machine."""
    if os.name != "posix" or os.uname().sysname != "Linux":
        return 0, False
    from .kernel import landlock_abi
    from .seccomp import filter_program

    return landlock_abi(), bool(filter_program())
