"""The files of self-written tools: `NAME/tool.py`, `NAME/history/0001.py` …, `NAME/state.json`.

`state.json` is the truth: it is written last and in one step, and names the version in use with its digest. A file
that does not have that digest is not run.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from ...safety.paths import Scope, digest_of
from ...types.base import Value
from ...types.errors import HermesError, PermissionRefused, UsageError
from ...types.text import one_line
from ...types.tools import ToolSpec
from .declaration import LARGEST_SOURCE

CRASHES_IN_A_ROW = 3
MOST_TOOLS = 200
_MOST_VERSIONS = 50
_LARGEST_STATE = 4 << 20
_LOCK_SECONDS = 20.0
_KEPT_ERROR = 500

Status = Literal["good", "failed", "refused"]


class Version(Value, frozen=True, kw_only=True):
    """One text of a tool. `failed` since its last run crashed, `refused` since it crashed too often in a row."""

    number: int
    digest: str
    spec: ToolSpec
    by: Literal["create", "edit"]
    at: float
    status: Status = "good"
    runs: int = 0
    failures: int = 0
    in_a_row: int = 0
    last_error: str = ""


class State(Value, frozen=True, kw_only=True):
    """A tool with all its versions, oldest first."""

    name: str
    current: int
    versions: tuple[Version, ...]

    def version(self, number: int) -> Version | None:
        """A version by its number."""
        return next((version for version in self.versions if version.number == number), None)

    def last_good(self) -> Version | None:
        """The newest version that works, other than the one in use."""
        good = [one for one in self.versions if one.status == "good" and one.number != self.current]
        return good[-1] if good else None


class BrokenState(HermesError):
    """A state.json that cannot be used."""

    remedy = "remove the tool's folder, or write it anew with tool_manage create"


class Drawer:
    """The folder of all self-written tools. Reading needs no lock: every file is replaced in one step."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Alone with the files, also among processes."""
        from filelock import FileLock, Timeout

        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with FileLock(self.folder / ".lock", timeout=_LOCK_SECONDS):
                yield
        except Timeout as error:
            raise UsageError("another process is changing the tools", remedy="try again in a moment") from error

    def names(self) -> list[str]:
        """The tools there are, whole or broken."""
        try:
            with os.scandir(self.folder) as found:
                names = [one.name for one in found if one.is_dir(follow_symlinks=False) and one.name[:1] != "."]
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(names)[:MOST_TOOLS]

    def state(self, name: str) -> State | None:
        """What is known about a tool; None when there is none. Raises BrokenState."""
        shown = f"{one_line(name)}/state.json"
        try:
            state = msgspec.json.decode(self._read(f"{name}/state.json", _LARGEST_STATE), type=State)
        except FileNotFoundError:
            if name in self.names():
                raise BrokenState(f"{shown} is missing") from None
            return None
        except (OSError, PermissionRefused, msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
            raise BrokenState(f"{shown} cannot be read: {one_line(str(error))}") from error
        current = state.version(state.current)
        if state.name != name or current is None or any(one.spec.name != name for one in state.versions):
            raise BrokenState(f"{shown} does not describe {one_line(name)}")
        return state

    def source(self, state: State) -> str:
        """The text in use, if it is the one that was checked."""
        version = state.version(state.current)
        try:
            data = self._read(f"{state.name}/tool.py", LARGEST_SOURCE)
        except (OSError, PermissionRefused) as error:
            raise UsageError(
                f"the file of {state.name} cannot be read: {error}", remedy="tool_manage rollback restores it"
            ) from error
        if version is not None and digest_of(data) == version.digest:
            return data.decode()
        if digest_of(data) in {one.digest for one in state.versions}:
            return self.kept(state, state.current)
        raise UsageError(
            f"{state.name} was edited outside and is not run unchecked",
            remedy="tool_manage edit without a source checks the file as it is",
        )

    def kept(self, state: State, number: int) -> str:
        """The text of a version in the history, if nobody changed it."""
        version = state.version(number)
        if version is None:
            known = ", ".join(str(one.number) for one in state.versions)
            raise UsageError(f"{state.name} has no version {number}", remedy=f"there are: {known}")
        try:
            data = self._read(_history(state.name, number), LARGEST_SOURCE)
        except (OSError, PermissionRefused) as error:
            raise UsageError(f"version {number} of {state.name} is lost: {error}") from error
        if digest_of(data) != version.digest:
            raise UsageError(f"version {number} of {state.name} was edited outside", remedy="take another version")
        return data.decode()

    def on_disk(self, name: str) -> str:
        """tool.py as it is now, whoever wrote it."""
        try:
            return self._read(f"{name}/tool.py", LARGEST_SOURCE).decode()
        except (OSError, PermissionRefused, UnicodeDecodeError) as error:
            raise UsageError(f"the file of {name} cannot be read: {error}", remedy="give the source") from error

    def add(self, name: str, source: str, spec: ToolSpec, by: Literal["create", "edit"]) -> Version:
        """Keep a checked text as the newest version and use it. The caller holds the lock."""
        state = self.state(name) if by == "edit" else None
        versions = state.versions if state else ()
        number = max((one.number for one in versions), default=0) + 1
        version = Version(number=number, digest=digest_of(source.encode()), spec=spec, by=by, at=time.time())
        self._write(_history(name, number), source.encode())
        dropped = versions[: max(0, len(versions) + 1 - _MOST_VERSIONS)]
        kept = (*versions[len(dropped) :], version)
        self._use(State(name=name, current=number, versions=kept), source)
        for old in dropped:
            (self.folder / _history(name, old.number)).unlink(missing_ok=True)
        return version

    def go_back(self, state: State, number: int) -> State:
        """Use an earlier version, which gets a fresh start. The caller holds the lock."""
        source = self.kept(state, number)
        versions = tuple(
            msgspec.structs.replace(one, status="good", in_a_row=0) if one.number == number else one
            for one in state.versions
        )
        back = State(name=state.name, current=number, versions=versions)
        self._use(back, source)
        return back

    def count(self, state: State, number: int, error: str) -> State:
        """Remember how a run of a version ended; an empty `error` is success. The caller holds the lock."""
        counted = tuple(_counted(one, error) if one.number == number else one for one in state.versions)
        changed = msgspec.structs.replace(state, versions=counted)
        self._write_state(changed)
        return changed

    def _use(self, state: State, source: str) -> None:
        self._write_state(state)
        self._write(f"{state.name}/tool.py", source.encode())

    def _write_state(self, state: State) -> None:
        encoded = msgspec.json.format(msgspec.json.encode(state, order="sorted"), indent=1)
        self._write(f"{state.name}/state.json", encoded + b"\n")

    def _write(self, path: str, data: bytes) -> None:
        with Scope(self.folder).open_write(path) as file:
            file.write(data)

    def _read(self, path: str, largest: int) -> bytes:
        with Scope(self.folder).open_read(path) as file:
            data = file.read(largest + 1)
        if len(data) > largest:
            raise OSError(f"it has more than {largest} bytes")
        return data


def _history(name: str, number: int) -> str:
    return f"{name}/history/{number:04d}.py"


def _counted(version: Version, error: str) -> Version:
    if not error:
        return msgspec.structs.replace(version, runs=version.runs + 1, in_a_row=0, status="good")
    in_a_row = version.in_a_row + 1
    return msgspec.structs.replace(
        version,
        runs=version.runs + 1,
        failures=version.failures + 1,
        in_a_row=in_a_row,
        status="refused" if in_a_row >= CRASHES_IN_A_ROW else "failed",
        last_error=one_line(error, _KEPT_ERROR),
    )
