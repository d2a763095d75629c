"""What is remembered, on its way into the frozen prefix: read once per epoch, so that what is noted during a session is
seen by the next one. Equal files give equal bytes."""

from __future__ import annotations

from collections.abc import Sequence

from ..safety.redact import Redactor
from ..types.advice import Section, SessionView
from .entries import Form, Noted, rendered
from .history import Kind
from .notes import NoteFile, Notes

_ABOUT = {
    Kind.MEMORY: "What you noted about the work and its surroundings",
    Kind.USER: "What you noted about the user",
}
_BEHIND = "Background, not a request. The tool `memory` changes it; the next session sees the change."


class MemorySnapshot:
    """A `ContextSource`: a section for each memory file that says something. What is left out is told to the person
    and named in the prompt, so that neither takes silence for consent."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes

    async def sections(self, session: SessionView) -> Sequence[Section]:
        """The sections `memory` and `user`."""
        found = []
        for kind in Kind:
            file = await self._notes.read(kind)
            text, left_out = shown(file, self._notes.redactor)
            for line in left_out:
                self._notes.notify(f"{line}; `hermes memory edit --target {kind}` opens the file")
            if text:
                found.append(Section(name=kind.value, text=text))
        return found


def shown(file: NoteFile, redactor: Redactor) -> tuple[str, list[str]]:
    """The section for a file, empty when it says nothing, and a line for everything that was left out."""
    name = file.kind.file
    out = {one.number: one for one in file.left_out}
    if file.problem:
        line = f"{name} was left out: {file.problem}"
        return line, [line]
    passed, left_out, used = [], [], 0
    for entry in file.entries:
        if entry.number in out:
            reason = out[entry.number].reason
            left_out.append(f"{name} line {entry.line}: entry {entry.number} was left out: {reason}")
            continue
        text = redactor.redact(_written(entry))
        used += len(text) + 1
        if used > file.kind.limit:
            rest = len(file.entries) - entry.number + 1
            reason = f"{rest} are beyond the limit of {file.kind.limit:,} characters"
            left_out.append(f"{name} line {entry.line}: the entries from {entry.number} on were left out: {reason}")
            break
        passed.append(text)
    if not passed and not left_out:
        return "", []
    return "\n".join(
        [f"{_ABOUT[file.kind]} ({fill(file)}). {_BEHIND}", *passed, *map("[{}]".format, left_out)]
    ), left_out


def fill(file: NoteFile) -> str:
    """How full a file is, for people and models."""
    limit = file.kind.limit
    return f"{file.kind.file}: {file.used:,} of {limit:,} characters, {file.used * 100 // limit} % full"


def _written(entry: Noted) -> str:
    """An entry as a list item; a heading below those of the prompt's own sections, which it must not look like."""
    return f"## {entry.text}" if entry.form is Form.HEADING else rendered(entry.text)
