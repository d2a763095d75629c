"""What a place to run commands in must offer."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Sandbox(Protocol):
    """Turns a command into the argv that runs it. `confines` says whether it keeps the command from anything."""

    @property
    def name(self) -> str: ...

    @property
    def confines(self) -> bool: ...

    def wrap(self, command: str, directory: Path) -> list[str]: ...

    def environment(self) -> dict[str, str]: ...
