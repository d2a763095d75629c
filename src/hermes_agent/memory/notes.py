"""The built-in memory: two small files that a person can open, and agents change one entry at a time.

Writers of ours take a lock; a person's editor takes none and never loses: a change is put in place only where the file
still holds what was read. Nothing is cut to fit: what does not fit is refused, with what could be merged.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from ..safety.exchange import Overtaken, leftovers, replace_if
from ..safety.paths import open_regular
from ..safety.redact import Redactor
from ..tools.tool import in_thread
from ..types.errors import HermesError, PermissionRefused, StoreUnwritable, UsageError
from ..types.text import one_line
from .answers import SHOWN, Listed, NoteChange, NoteFile, Refused, Wish, done, refusal
from .entries import (
    Noted,
    alike,
    carried,
    matching,
    parse,
    said_already,
    tidied,
    with_entry,
    with_replaced,
    without,
)
from .history import Author, History, Kind, Late, Step, Who, version_of
from .screening import LeftOut, objection, screened, unreadable

__all__ = ["Author", "Kind", "Listed", "NoteChange", "NoteFile", "Notes", "Step", "Who"]

FOLDER = "memories"
_LARGEST = 100_000
_LOCK_SECONDS = 60.0
_POLL_SECONDS = 0.005
_TRIES = 50
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
Result = TypeVar("Result")


class Notes:
    """The memory under a home. `notify` is told what concerns the person; `redactor` knows what is a secret."""

    def __init__(self, home: Path, notify: Callable[[str], None], redactor: Redactor | None = None) -> None:
        self.folder = home / FOLDER
        self.notify = notify
        self.redactor = redactor or Redactor()
        self._history = History(self.folder / ".history")

    async def read(self, kind: Kind) -> NoteFile:
        """The file as it is now, with what of it is kept out of the prompt."""
        return await _in_thread(lambda: self._read_whole(kind))

    async def add(self, kind: Kind, text: str, author: Author, expect: str = "") -> NoteChange:
        """Note something. What is noted already is not noted twice."""
        return await _in_thread(lambda: self._change(kind, "add", author, expect, lambda file: self._added(file, text)))

    async def replace(self, kind: Kind, old: str, text: str, author: Author, expect: str = "") -> NoteChange:
        """Put another entry in the place of the one that `old` names: its number, or words that only it has."""
        return await _in_thread(
            lambda: self._change(kind, "replace", author, expect, lambda file: self._replaced(file, old, text))
        )

    async def remove(self, kind: Kind, old: str, author: Author, expect: str = "") -> NoteChange:
        """Take out the entry that `old` names: its number, or words that only it has."""
        return await _in_thread(lambda: self._change(kind, "remove", author, expect, lambda file: _removed(file, old)))

    async def write(self, kind: Kind, base: str, text: str) -> NoteChange:
        """A person's own text for the whole file, made from `base`. Kept whatever the scanner says; what was noted
        since `base` was read is kept as well."""
        author = Author(who=Who.USER)

        def edited(file: NoteFile) -> Wish:
            merged = carried(base, file.text, text)
            note = "" if merged == text else "with what was noted meanwhile"
            return Wish(text=merged, message=f"{kind.file} is saved{f', {note}' if note else ''}", note=note)

        return await _in_thread(lambda: self._change(kind, "edit", author, "", edited))

    async def undo(self, author: Author, kind: Kind | None = None, run_id: str = "") -> list[NoteChange]:
        """Take back the last change that was not taken back yet, or all changes of a run. Later changes stay."""
        return await _in_thread(lambda: self._undo(author, kind, run_id))

    async def history(self, kind: Kind | None = None) -> list[Step]:
        """The changes that are kept, oldest first; changes made with an editor among them."""

        def look() -> list[Step]:
            with self._locked():
                for each in [kind] if kind else Kind:
                    self._caught_up(each)
                return [step for step in self._history.steps() if kind in (None, step.kind)]

        return await _in_thread(look)

    def path(self, kind: Kind) -> Path:
        """Where the file is."""
        return self.folder / kind.file

    def _read_whole(self, kind: Kind) -> NoteFile:
        if self._history.late(kind) is not None:
            with self._locked():
                self._caught_up(kind)
        _, file = self._held(kind)
        left_out = (LeftOut(number=0, line=0, reason=file.problem),) if file.problem else screened(file.entries)
        return msgspec.structs.replace(file, left_out=left_out)

    def _held(self, kind: Kind) -> tuple[bytes | None, NoteFile]:
        """The bytes of the file, None where there is none, and what they say."""
        try:
            folder = os.open(self.folder, _FOLDER_FLAGS)
        except FileNotFoundError:
            return None, NoteFile(kind=kind, version=version_of(b""))
        try:
            with open_regular(kind.file, folder) as opened:
                raw = opened.read(_LARGEST + 1)
        except FileNotFoundError:
            return None, NoteFile(kind=kind, version=version_of(b""))
        except (OSError, PermissionRefused) as error:
            return None, NoteFile(kind=kind, problem=_why_not(self.path(kind), error))
        finally:
            os.close(folder)
        problem = unreadable(raw[:_LARGEST])
        if len(raw) > _LARGEST:
            problem = f"it is larger than {_LARGEST:,} bytes"
        if problem:
            return raw, NoteFile(kind=kind, problem=problem)
        text = raw.decode()
        return raw, NoteFile(kind=kind, text=text, version=version_of(raw), entries=parse(text))

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among our writers, in whichever process."""
        from filelock import FileLock, Timeout

        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            with FileLock(self.folder / ".lock", timeout=_LOCK_SECONDS, mode=0o600, poll_interval=_POLL_SECONDS):
                for kind in Kind:
                    for dead in leftovers(self.path(kind)):
                        dead.unlink(missing_ok=True)
                yield
        except Timeout as error:
            raise UsageError("another process is changing the memory", remedy="try again in a moment") from error
        except OSError as error:
            raise StoreUnwritable(f"cannot write to {self.folder}: {error.strerror or error}") from error

    def _change(
        self, kind: Kind, action: str, author: Author, expect: str, wish: Callable[[NoteFile], Wish]
    ) -> NoteChange:
        with self._locked():
            for _ in range(_TRIES):
                raw, file = self._caught_up(kind)
                try:
                    if file.problem:
                        raise Refused("unusable", f"{self.path(kind)} cannot be used: {file.problem}")
                    if expect and expect != file.version:
                        raise Refused("stale", f"{kind.file} was changed since it was read", shown=file.entries)
                    wanted = wish(file)
                    if wanted.text != file.text or wanted.undoes:
                        self._check(action, file, wanted)
                        self._put(kind, action, author, raw, wanted)
                    return done(action, file, wanted)
                except Refused as refused:
                    return refusal(action, file, refused)
                except Overtaken:
                    continue
            busy = Refused("busy", f"{kind.file} is being changed all the time; try again in a moment")
            return refusal(action, self._held(kind)[1], busy)

    def _check(self, action: str, file: NoteFile, wanted: Wish) -> None:
        """Refuse a text that is too long or that the scanner holds back. A person's own text and an undo are kept."""
        if action in ("edit", "undo"):
            return
        size, limit = len(wanted.text), file.kind.limit
        if size > limit and size >= file.used:
            raise Refused(
                "full",
                f"{file.kind.file} holds {file.used:,} of {limit:,} characters and would hold {size:,}: merge entries "
                "that belong together into one shorter entry, or remove what is no longer true, then try again",
                similar=alike(file.entries),
                shown=file.entries,
            )
        known = {(one.number, one.reason) for one in screened(file.entries)} if action != "remove" else set()
        fresh = screened(parse(wanted.text)) if action != "remove" else ()
        held_back = next((one for one in fresh if (one.number, one.reason) not in known), None)
        if held_back is not None:
            raise Refused("blocked", f"the scanner holds it back: {held_back.reason}")

    def _put(self, kind: Kind, action: str, author: Author, raw: bytes | None, wanted: Wish) -> None:
        """The text in place of `raw`, with a note of it. Raises Overtaken, and then nothing has changed."""
        data = wanted.text.encode()
        before = self._history.keep(kind, raw or b"")
        version = self._history.keep(kind, data)
        step = self._history.add(
            Step(
                seq=0,
                at=time.time(),
                kind=kind,
                action=action,
                before=before,
                version=version,
                who=author.who,
                run_id=author.run_id,
                note=wanted.note,
                undoes=wanted.undoes,
            )
        )
        try:
            displaced = self._history.displaced(kind, before)
            replace_if(self.path(kind), data, raw, displaced=displaced)
        except BaseException:
            self._history.drop(step)
            raise
        self._history.forget_displaced(kind, displaced)

    def _caught_up(self, kind: Kind) -> tuple[bytes | None, NoteFile]:
        """The file, after what was written to it outside was noted."""
        raw, file = self._held(kind)
        late = self._history.late(kind)
        if late is not None and not file.problem:
            self._take_in(kind, raw, file, late)
            raw, file = self._held(kind)
        last = self._history.last(kind)
        known = last.version if last else version_of(b"")
        if not file.problem and file.version != known:
            undone = last is not None and last.before == file.version
            self._history.keep(kind, raw or b"")
            self._history.add(
                Step(
                    seq=0,
                    at=time.time(),
                    kind=kind,
                    action="edit",
                    before=known,
                    version=file.version,
                    who=Who.USER,
                    note="did not take place, or was reverted by hand" if undone else "changed by hand",
                )
            )
        return raw, file

    def _take_in(self, kind: Kind, raw: bytes | None, file: NoteFile, late: Late) -> None:
        """What an editor wrote to a file that had just been replaced, together with what replaced it."""
        base = self._history.content(kind, late.version)
        if base is None or unreadable(late.data):
            late.file.unlink(missing_ok=True)
            return
        merged = carried(base.decode(), file.text, late.data.decode())
        wanted = Wish(text=merged, message="", note="saved by an editor while the file was being changed")
        with contextlib.suppress(Overtaken):
            self._put(kind, "edit", Author(who=Who.USER), raw, wanted)

    def _added(self, file: NoteFile, text: str) -> Wish:
        entry = self._usable(text)
        held = said_already(file.entries, entry)
        if held is not None:
            return Wish(text=file.text, message="this is noted already; nothing was changed", entry=held.number)
        fresh = with_entry(file.text, entry)
        entries = parse(fresh)
        close = tuple(pair for pair in alike(entries) if pair.second == len(entries))
        advice = f"; entry {close[0].first} says nearly the same: replace both by one" if close else ""
        return Wish(text=fresh, message=f"noted{advice}", entry=len(entries), similar=close)

    def _replaced(self, file: NoteFile, old: str, text: str) -> Wish:
        entry = self._usable(text)
        held = said_already(file.entries, entry)
        if held is not None and not matching(file.entries, old):
            return Wish(text=file.text, message="this is noted already; nothing was changed", entry=held.number)
        meant = _meant(file, old)
        fresh = file.text if meant.text == entry else with_replaced(file.text, meant, entry)
        return Wish(text=fresh, message=f"entry {meant.number} is replaced", entry=meant.number)

    def _usable(self, text: str) -> str:
        entry = tidied(text)
        if not entry:
            raise Refused("invalid", "there is nothing to note: give a text")
        error, reason = objection(text, self.redactor)
        if error:
            raise Refused(error, f"this is not noted: {reason}")
        return entry

    def _undo(self, author: Author, kind: Kind | None, run_id: str) -> list[NoteChange]:
        with self._locked():
            for each in Kind:
                self._caught_up(each)
            steps = self._history.steps()
            gone = {step.undoes for step in steps if step.undoes}
            standing = [
                step
                for step in reversed(steps)
                if step.seq not in gone
                and not step.undoes
                and kind in (None, step.kind)
                and run_id in ("", step.run_id)
            ]
        chosen = standing if run_id else standing[:1]
        return [self._change(step.kind, "undo", author, "", partial(self._before, step)) for step in chosen]

    def _before(self, step: Step, file: NoteFile) -> Wish:
        old, new = self._history.content(step.kind, step.before), self._history.content(step.kind, step.version)
        if old is None or new is None:
            raise Refused("not_found", f"the version before change {step.seq} is not kept any more")
        text = carried(new.decode(), old.decode(), file.text)
        what = f"{step.action} by {step.who}{f' in run {step.run_id}' if step.run_id else ''}"
        return Wish(text=text, message=f"change {step.seq} is taken back: {what}", undoes=step.seq)


def _removed(file: NoteFile, old: str) -> Wish:
    meant = _meant(file, old)
    said = one_line(meant.text, SHOWN)
    return Wish(text=without(file.text, meant), message=f"entry {meant.number} is removed: {said}", entry=meant.number)


def _meant(file: NoteFile, old: str) -> Noted:
    found = matching(file.entries, old)
    if len(found) == 1:
        return found[0]
    if not found:
        raise Refused("not_found", f"no entry has {one_line(old, SHOWN)!r}", shown=file.entries)
    raise Refused("ambiguous", f"{len(found)} entries have {one_line(old, SHOWN)!r}: give a number", shown=tuple(found))


def _why_not(path: Path, error: OSError | PermissionRefused) -> str:
    if path.is_symlink():
        return "it is a link; put the file itself there"
    if path.is_dir():
        return "it is a folder; remove it"
    return str(error) if isinstance(error, HermesError) else (error.strerror or type(error).__name__)


async def _in_thread(work: Callable[[], Result]) -> Result:
    result: Result = await in_thread(work)
    return result
