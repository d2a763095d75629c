"""Two people changed one skill: both changes, where they do not meet; where they do, nobody's is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..types.base import Value
from .git import Git
from .skill import Files

_MOST_CONFLICTS = 127


class Merge(Value, frozen=True, kw_only=True):
    """Both changes together, or the files in which they meet."""

    files: Files
    conflicts: tuple[str, ...] = ()


async def merged(base: Files, ours: Files, theirs: Files, git: Git) -> Merge:
    """The changes from `base` to `ours` and to `theirs`, file by file; text is merged line by line by git."""
    files: Files = {}
    conflicts: list[str] = []
    for path in sorted({*base, *ours, *theirs}):
        was, one, other = base.get(path), ours.get(path), theirs.get(path)
        if one == other or other == was:
            result = one
        elif one == was:
            result = other
        else:
            result = await _merged_file(was, one, other, git)
            if result is None:
                conflicts.append(path)
        if result is not None:
            files[path] = result
    return Merge(files=files, conflicts=tuple(conflicts))


async def _merged_file(was: bytes | None, one: bytes | None, other: bytes | None, git: Git) -> bytes | None:
    """A file that both changed; None where the changes meet, or one side removed what the other changed."""
    if was is None or one is None or other is None or any(b"\0" in text for text in (was, one, other)):
        return None
    with tempfile.TemporaryDirectory(prefix="hermes-merge-") as folder:
        paths = _written(Path(folder), ours=one, base=was, theirs=other)
        clean, most = 0, _MOST_CONFLICTS
        done = await git.run("merge-file", "-p", "-q", *paths, ok=range(clean, most + 1))
    return done.out if done.code == clean else None


def _written(folder: Path, **files: bytes) -> list[str]:
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [str(folder / name) for name in files]
