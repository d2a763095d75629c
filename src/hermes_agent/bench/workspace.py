"""The folder that tasks happen in, as it is at the start of each."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

from ..types.errors import UsageError


def lay_out(workspace: Path, world: str, files: Mapping[str, bytes], modes: Mapping[str, int] | None = None) -> None:
    """Leave exactly these files in the workspace, some with permissions of their own. Only a folder that is empty, or
    was laid out for the same world before, is emptied: what somebody else keeps there is not touched."""
    mark = workspace / f".{world}-world"
    workspace.mkdir(parents=True, exist_ok=True)
    held = list(workspace.iterdir())
    if held and not mark.is_file():
        raise UsageError(f"{workspace} is not empty", remedy="give a new or empty folder as the workspace")
    for path in held:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    mark.write_bytes(b"")
    for name, data in files.items():
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_bytes(data)
    for name, mode in (modes or {}).items():
        (workspace / name).chmod(mode)
