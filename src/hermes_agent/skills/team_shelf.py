"""The team's skills as they lie on this machine: a copy of what the team has, that never overwrites an edit made here.

For each skill the version that was last put here is remembered, and its files are kept in `.base`: what differs from
them was edited here, and stays until it is proposed or taken back.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from ..types.base import Value
from ..types.errors import HermesError
from .format import SkillProblem, read_folder, version_of
from .lockfile import read_json, write_json
from .placing import archive, place, write
from .skill import Files
from .team import Synced, checked

_STATE = ".synced.json"
_BASE = ".base"


class Placed(Value, frozen=True, kw_only=True):
    """What was last put on the shelf: from which address and commit, and each skill's version."""

    url: str = ""
    commit: str = ""
    skills: dict[str, str] = {}


def placed(shelf: Path) -> Placed:
    """What was last put on a shelf."""
    return read_json(shelf / _STATE, Placed, Placed())


def base_of(shelf: Path, name: str) -> Files:
    """A skill as the team had it when it was last put here; none where it never was."""
    folder = shelf / _BASE / name
    return read_folder(folder) if folder.is_dir() else {}


def settle(shelf: Path, url: str, commit: str, theirs: Mapping[str, Files | HermesError]) -> Synced:
    """Bring a shelf to what the team has. Call it alone. A skill that was edited here is kept, one that is broken or
    blocked is not taken; both are said."""
    known = dict(placed(shelf).skills) if placed(shelf).url in ("", url) else {}
    did: dict[str, list[str]] = {"added": [], "updated": [], "removed": [], "kept": []}
    refused: dict[str, str] = {}
    for name in sorted({*known, *theirs}):
        files = theirs.get(name, {})
        try:
            if isinstance(files, HermesError):
                raise files
            version = checked(name, files) if files else ""
        except HermesError as error:
            refused[name] = str(error)
            continue
        what = _settled(shelf, name, files, version, known)
        if what:
            did[what].append(name)
    write_json(shelf / _STATE, Placed(url=url, commit=commit, skills=known))
    lists = {word: tuple(names) for word, names in did.items()}
    return Synced(commit=commit, refused=refused, **lists)


def _settled(shelf: Path, name: str, files: Files, version: str, known: dict[str, str]) -> str:
    """Bring one skill up to date, and `known` with it; what was done, empty when nothing had to be."""
    here = _version_here(shelf / name)
    before = known.get(name, "")
    if here == version:
        what = ""
    elif here not in ("", before):
        return "kept"
    elif not version:
        archive(shelf, name, here)
        what = "removed"
    else:
        place(shelf, name, files, here)
        what = "updated" if here else "added"
    _remember(shelf, name, files)
    known.pop(name, None)
    if version:
        known[name] = version
    return what


def _remember(shelf: Path, name: str, files: Files) -> None:
    folder = shelf / _BASE / name
    shutil.rmtree(folder, ignore_errors=True)
    if files:
        write(shelf, folder, files)


def _version_here(folder: Path) -> str:
    """The version of a folder; what cannot be read counts as an edit, which nobody overwrites."""
    if not os.path.lexists(folder):
        return ""
    try:
        return version_of(read_folder(folder))
    except SkillProblem:
        return "unreadable"
