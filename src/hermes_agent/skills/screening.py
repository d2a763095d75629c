"""What speaks against the files of a skill: what the scanner finds, which of them are programs, and secrets."""

from __future__ import annotations

from pathlib import PurePosixPath

from ..safety.redact import Redactor
from ..safety.scan import Kind, Verdict, scan
from ..types.base import Value
from ..types.errors import PermissionRefused
from ..types.text import decode
from .skill import Files, Skill
from .slots import SNIPPET

_CODE = frozenset((".py", ".rb", ".pl", ".php", ".lua", ".tcl", ".awk", ".r", ".js", ".mjs", ".cjs", ".ts"))
_SHELL = frozenset((".sh", ".bash", ".zsh", ".fish", ".ps1", ".bat", ".cmd"))
_PROGRAMS = (b"\x7fELF", b"MZ", b"\xfe\xed\xfa", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe", b"\x00asm", b"!<arch>\n")
_HEAVIEST = {Verdict.ALLOW: 0, Verdict.FLAG: 1, Verdict.BLOCK: 2}


class Concern(Value, frozen=True, kw_only=True):
    """One thing that speaks against a file. The excerpt is safe to show."""

    file: str
    line: int
    verdict: Verdict
    rule: str
    why: str
    excerpt: str = ""


class Screening(Value, frozen=True, kw_only=True):
    """The heaviest verdict on any file, and everything that was found."""

    verdict: Verdict = Verdict.ALLOW
    concerns: tuple[Concern, ...] = ()


def screen(files: Files) -> Screening:
    """Scan every file. Programs are blocked, and what is no text was not read and is said so."""
    found: list[Concern] = []
    for path, content in sorted(files.items()):
        found += _concerns(path, content)
    verdict = max((one.verdict for one in found), key=lambda one: _HEAVIEST[one], default=Verdict.ALLOW)
    return Screening(verdict=verdict, concerns=tuple(sorted(found, key=lambda one: -_HEAVIEST[one.verdict])))


def refuse_blocked(name: str, screening: Screening) -> None:
    """Raise where the scanner blocks a skill, naming what it found."""
    if screening.verdict is Verdict.BLOCK:
        worst = [one for one in screening.concerns if one.verdict is Verdict.BLOCK]
        said = "; ".join(f"{one.file}, line {one.line}: {one.why}" for one in worst[:5])
        raise PermissionRefused(
            f"{name} is blocked by the scanner: {said}",
            remedy="read it at its source; if it is harmless, write a skill of your own with `hermes skills new`",
        )


def is_code(path: str, content: bytes) -> bool:
    """Whether a file is there to be run, by its place, its name or its first bytes."""
    named = path.startswith("scripts/") or PurePosixPath(path).suffix.lower() in _CODE | _SHELL
    return named or content.startswith((b"#!", *_PROGRAMS))


def is_executable(skill: Skill, files: Files) -> bool:
    """Whether a skill brings something that runs: a script, a program, or a snippet in its text."""
    return bool(SNIPPET.search(skill.body)) or any(is_code(path, content) for path, content in files.items())


def secret_lines(content: bytes, redactor: Redactor) -> list[int]:
    """The lines of a file that hold secrets. A secret of several lines is found at its first."""
    text = decode(content)
    if redactor.redact(text) == text:
        return []
    lines = [number for number, line in enumerate(text.splitlines(), 1) if redactor.redact(line) != line]
    return lines or [1]


def fresh_secret(before: bytes, after: bytes, redactor: Redactor) -> int:
    """The line of a secret that a change brings into a file; 0 where it brings none."""
    text, old = decode(after), decode(before)
    if redactor.redact(text) == text:
        return 0
    lines, known = text.splitlines(), set(old.splitlines())
    found = secret_lines(after, redactor)
    if redactor.redact(lines[found[0] - 1]) == lines[found[0] - 1]:
        return found[0] if redactor.redact(old) == old else 0
    return next((line for line in found if lines[line - 1] not in known), 0)


def _concerns(path: str, content: bytes) -> list[Concern]:
    if not _is_text(content):
        program = content.startswith(_PROGRAMS)
        why = "is a program, which nobody can read" if program else "is not text and could not be read"
        return [
            Concern(
                file=path,
                line=0,
                verdict=Verdict.BLOCK if program else Verdict.FLAG,
                rule="program" if program else "binary",
                why=why,
            )
        ]
    kind = Kind.TOOL if is_code(path, content) else Kind.SKILL
    report = scan(content, kind)
    if report.verdict is Verdict.ALLOW:
        return []
    return [
        Concern(file=path, line=one.line, verdict=report.verdict, rule=one.rule, why=one.why, excerpt=one.excerpt)
        for one in report.findings
    ]


def _is_text(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return b"\0" not in content
