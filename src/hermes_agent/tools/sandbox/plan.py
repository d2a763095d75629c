"""What the agent tells the launcher about one command. Imported for its types alone: `typing` is slow to load."""

from __future__ import annotations

from typing import TypedDict


class Plan(TypedDict, total=False):
    """`mounts` are pairs of what (`write`, `read`, `empty`, `void`) and where, outer folders first; `system` the files
    of /etc that may be read; sizes are in bytes. `held` is added by the launcher: the control groups that hold it."""

    kind: str
    mounts: list[tuple[str, str]]
    system: list[str]
    directory: str
    network: bool
    memory: int
    scratch: int
    scratch_place: str
    processes: int
    cpu: int
    file: int
    program: str
    extra: list[str]
    gentle: bool
    local: bool
    held: frozenset[str]
