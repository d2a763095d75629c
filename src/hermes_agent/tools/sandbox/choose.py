"""Which sandbox commands run in. Nothing is imported, started or tried before the first command needs it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Protocol

from ...config.settings import SandboxKind, SandboxSettings
from ...types.errors import ConfigError
from .base import Boundary, Sandbox
from .direct import Direct


class Proving(Sandbox, Protocol):
    """A sandbox that can try itself."""

    def prove(self, workspace: Path) -> None: ...


_proven: dict[tuple[SandboxKind, SandboxSettings], ConfigError | None] = {}


class Chosen:
    """The sandbox of the configuration, found when something is first asked of it.

    Raises ConfigError then if a sandbox was named and does not work: a named one is never replaced by another.
    """

    def __init__(self, settings: SandboxSettings, environment: Mapping[str, str], hidden: Sequence[Path] = ()) -> None:
        self._settings = settings
        self._given = dict(environment)
        self._hidden = tuple(hidden)

    @cached_property
    def sandbox(self) -> Sandbox:
        """The one that is in force."""
        kind = self._settings.kind
        if kind is SandboxKind.NONE:
            return self._direct("none: sandbox.kind is none, commands run with your own rights")
        if kind is not SandboxKind.AUTO:
            return self._working(kind)
        refused = []
        for kind in (SandboxKind.BUBBLEWRAP, SandboxKind.LANDLOCK):
            try:
                found = self._working(kind)
            except ConfigError as error:
                refused.append(str(error))
                continue
            if found.confines:
                return found
            refused.append(found.reason)
        return self._direct(f"none: {'; '.join(refused)}; commands run with your own rights")

    def _direct(self, reason: str) -> Direct:
        settings = self._settings
        return Direct(self._given, cpu_seconds=settings.cpu_seconds, file_bytes=settings.file_mb << 20, reason=reason)

    def _working(self, kind: SandboxKind) -> Sandbox:
        made = _made(kind, self._settings, self._given, self._hidden)
        _prove_once(made, kind, self._settings)
        return made

    @property
    def name(self) -> str:
        """Its name."""
        return self.sandbox.name

    @property
    def confines(self) -> bool:
        """Whether it keeps commands from anything."""
        return self.sandbox.confines

    @property
    def reason(self) -> str:
        """One sentence: which one is active and why."""
        return self.sandbox.reason

    def wrap(self, command: str, boundary: Boundary) -> list[str]:
        """The argv that runs a command."""
        return self.sandbox.wrap(command, boundary)

    def environment(self) -> dict[str, str]:
        """What that argv is started with."""
        return self.sandbox.environment()


def choose(settings: SandboxSettings, environment: Mapping[str, str], hidden: Sequence[Path] = ()) -> Sandbox:
    """The sandbox that `settings` ask for. `hidden` are folders no command may see, such as the agent's own home."""
    return Chosen(settings, environment, hidden)


def _made(
    kind: SandboxKind, settings: SandboxSettings, environment: Mapping[str, str], hidden: Sequence[Path]
) -> Proving:
    match kind:
        case SandboxKind.BUBBLEWRAP:
            from .bubblewrap import Bubblewrap

            return Bubblewrap(settings, environment, hidden)
        case SandboxKind.LANDLOCK:
            from .landlock import Landlock

            return Landlock(settings, environment, hidden)
        case SandboxKind.CONTAINER:
            from .container import Container

            return Container(settings, environment, hidden)
        case SandboxKind.SSH:
            from .ssh import Ssh

            return Ssh(settings, environment)
        case _:
            raise ConfigError(f"there is no sandbox {kind!r}")


def _prove_once(sandbox: Proving, kind: SandboxKind, settings: SandboxSettings) -> None:
    """Trying costs a process, so each kind is tried once in the life of this one."""
    import tempfile

    key = (kind, settings)
    if key not in _proven:
        _proven[key] = None
        with tempfile.TemporaryDirectory(prefix="hermes-probe-", ignore_cleanup_errors=True) as folder:
            try:
                sandbox.prove(Path(folder))
            except ConfigError as error:
                _proven[key] = error
    if (failed := _proven[key]) is not None:
        raise ConfigError(str(failed), remedy=failed.advice)
