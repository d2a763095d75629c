"""What the scanner says about a whole skill that comes from somebody else."""

from __future__ import annotations

from pathlib import PurePosixPath

from ..safety.scan import Kind, Verdict, scan
from ..types.base import Value
from ..types.errors import PermissionRefused
from .skill import Files

_CODE = frozenset({".py", ".sh", ".bash", ".zsh", ".js", ".mjs", ".ts", ".rb", ".pl", ".ps1", ".bat", ".lua", ".php"})
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
    kind = Kind.TOOL if PurePosixPath(path).suffix in _CODE or path.startswith("scripts/") else Kind.SKILL
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
