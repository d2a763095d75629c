"""Files of the project that speak to the agent, on their way into the prompt: read safely, scanned, named if left out.

Their text becomes part of the frozen prefix, so equal files give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ..safety.paths import Scope
from ..safety.scan import Kind, Report, Verdict, scan
from ..tools.tool import in_thread
from ..types.advice import Section, SessionView
from ..types.errors import PermissionRefused
from ..types.text import one_line

MAX_BYTES = 20_000
NAMES = ("AGENTS.md", "HERMES.md", ".cursorrules", "SOUL.md")
NEAREST = ".hermes.md"
SOUL = "SOUL.md"
_MARKS_OF_A_REPOSITORY = (".git", ".hg", ".jj")
_HIGHEST_WALK = 64


class _Found(NamedTuple):
    """A file that may speak: the folder it must stay in, its name there, and the name to show."""

    folder: Path
    name: str
    shown: str


class ContextFiles:
    """A `ContextSource`: one section for each file that is there.

    `home` is HERMES_HOME, whose SOUL.md speaks first; `user_home` is the highest folder in which a `.hermes.md` is
    looked for. What is left out is told to `notify` and named in the prompt, so that neither the user
    nor the model takes silence for consent.
    """

    def __init__(self, home: Path, user_home: Path, notify: Callable[[str], None]) -> None:
        self._home = home
        self._user_home = user_home.resolve()
        self._notify = notify

    async def sections(self, session: SessionView) -> Sequence[Section]:
        """The sections for a workspace, always in the same order."""
        read: tuple[list[Section], list[str]] = await in_thread(lambda: self._read(session.workspace))
        found, notes = read
        for note in notes:
            self._notify(note)
        return found

    def _read(self, folder: str) -> tuple[list[Section], list[str]]:
        workspace = Path(folder).resolve()
        sections: list[Section] = []
        notes: list[str] = []
        spoken: set[str] = set()
        for candidate in self._candidates(workspace):
            if candidate.shown in spoken:
                continue
            try:
                raw = _content(candidate)
            except FileNotFoundError:
                continue
            except (PermissionRefused, OSError) as error:
                text = f"{candidate.shown} was left out: {_reason(error)}"
                notes.append(text)
            else:
                text, note = _passed(candidate.shown, raw)
                notes += [note] if note else []
            spoken.add(candidate.shown)
            if text:
                sections.append(Section(name=candidate.shown, text=text))
        return sections, notes

    def _candidates(self, workspace: Path) -> Iterator[_Found]:
        yield _Found(self._home, SOUL, f"{SOUL} of the user")
        for name in NAMES:
            yield _Found(workspace, name, name)
        for folder in _upwards(workspace, self._user_home):
            yield _Found(folder, NEAREST, NEAREST)


def _upwards(workspace: Path, user_home: Path) -> Iterator[Path]:
    """The workspace and the folders above it, up to the root of its repository or the user's home.

    A workspace in neither is not climbed out of: what lies above it belongs to somebody else.
    """
    folders = (workspace, *workspace.parents)[:_HIGHEST_WALK]
    for height, folder in enumerate(folders):
        if folder == user_home or any((folder / mark).exists() for mark in _MARKS_OF_A_REPOSITORY):
            yield from folders[: height + 1]
            return
    yield workspace


def _content(candidate: _Found) -> bytes:
    """The first bytes of the file, one more than is used. Links that lead out, pipes and devices are refused."""
    with Scope(candidate.folder).open_read(candidate.name) as file:
        return file.read(MAX_BYTES + 1)


def _reason(error: PermissionRefused | OSError) -> str:
    return str(error) if isinstance(error, PermissionRefused) else (error.strerror or type(error).__name__)


def _passed(shown: str, raw: bytes) -> tuple[str, str]:
    """The text for the prompt and the note for the user, either of them empty."""
    kept = raw if len(raw) <= MAX_BYTES else _whole_lines(raw[:MAX_BYTES])
    report = scan(kept, Kind.CONTEXT)
    if report.verdict is Verdict.BLOCK:
        note = f"{shown} was left out: {_told(report)}"
        return note, note
    text = kept.decode("utf-8-sig", "replace").replace("\r\n", "\n").strip()
    if len(kept) < len(raw) and text:
        text += f"\n[{shown} is longer than {MAX_BYTES} bytes; the rest was left out]"
    note = f"{shown} may try to steer the agent: {_told(report)}" if report.verdict is Verdict.FLAG else ""
    return text, note


def _whole_lines(raw: bytes) -> bytes:
    """`raw` up to its last line break, or up to its last whole character where it is one line."""
    end = raw.rfind(b"\n")
    if end >= 0:
        return raw[: end + 1]
    return raw.decode("utf-8", "ignore").encode()


def _told(report: Report) -> str:
    """The heaviest finding, for a person. Its excerpt is not repeated: the model reads this line as well."""
    first = report.findings[0]
    return one_line(f"line {first.line}: {first.why} ({first.rule})", 200)
