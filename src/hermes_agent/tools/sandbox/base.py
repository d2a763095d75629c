"""What a place to run commands in must offer."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ...types.base import Value


class Boundary(Value, frozen=True, kw_only=True):
    """What one command may reach: it begins in `directory`, may change the workspace and the `shared` folders, and has
    no network unless that was granted."""

    workspace: Path
    directory: Path
    network: bool = False
    shared: tuple[Path, ...] = ()


class Sandbox(Protocol):
    """Turns a command into the argv that runs it. `confines` says whether it keeps the command from anything, `reason`
    in one sentence what it does and why it is this one. `environment` is what the argv must be started with."""

    @property
    def name(self) -> str: ...

    @property
    def confines(self) -> bool: ...

    @property
    def reason(self) -> str: ...

    def wrap(self, command: str, boundary: Boundary) -> list[str]: ...

    def environment(self) -> dict[str, str]: ...
