"""What is known about a command before it runs."""

from __future__ import annotations

from enum import StrEnum

from ...types.base import Value
from ...types.text import one_line


class RiskKind(StrEnum):
    """What may go wrong. `opaque` and `obfuscated` mean that nobody can say before it runs."""

    DESTRUCTIVE = "destructive"
    NETWORK = "network"
    PRIVILEGE = "privilege"
    PERSISTENCE = "persistence"
    SECRETS = "secrets"
    PROCESS = "process"
    OBFUSCATED = "obfuscated"
    OPAQUE = "opaque"


class Risk(Value, frozen=True, kw_only=True):
    """One thing a person should know, in a sentence."""

    kind: RiskKind
    why: str


class Program(Value, frozen=True, kw_only=True):
    """One program that the command runs.

    `name` is without its folder; `argv` is literal where it can be, and otherwise the source of what will be put in.
    `start` and `end` are characters of the examined command. `through` says how it is reached: `sudo`, `sh -c`, …
    `grant` is what a person may allow for the whole session, empty if nothing.
    """

    name: str
    argv: tuple[str, ...]
    start: int
    end: int
    through: tuple[str, ...] = ()
    readonly: bool = False
    grant: tuple[str, ...] = ()


class CommandReport(Value, frozen=True, kw_only=True):
    """Everything that could be found out by reading. Whatever could not be read is in `opaque`.

    `readonly` is only true when every program is known to do nothing but read and nothing is written to a file.
    `writes` are the files that redirections write to.
    """

    programs: tuple[Program, ...] = ()
    opaque: tuple[str, ...] = ()
    risks: tuple[Risk, ...] = ()
    writes: tuple[str, ...] = ()
    readonly: bool = False

    def kinds(self) -> frozenset[RiskKind]:
        """The kinds of all risks."""
        return frozenset(risk.kind for risk in self.risks)

    def reason(self) -> str:
        """One sentence for the person who decides."""
        if self.risks:
            first = min(self.risks, key=lambda risk: _ORDER.index(risk.kind))
            more = len({risk.why for risk in self.risks}) - 1
            return f"{first.why}{f', and {more} more' if more else ''}."
        if self.readonly:
            return "It only reads."
        names = list(dict.fromkeys(program.name for program in self.programs if not program.readonly))
        if not names:
            return (
                f"It writes {one_line(', '.join(self.writes))}." if self.writes else "It changes only the shell itself."
            )
        return f"It runs {one_line(', '.join(names))}, which may change files."


_ORDER = (
    RiskKind.DESTRUCTIVE,
    RiskKind.PRIVILEGE,
    RiskKind.OPAQUE,
    RiskKind.OBFUSCATED,
    RiskKind.PERSISTENCE,
    RiskKind.SECRETS,
    RiskKind.NETWORK,
    RiskKind.PROCESS,
)


_TRANSPARENT = frozenset(("timeout", "gtimeout", "nice", "ionice", "time", "command", "stdbuf"))


def prefix(report: CommandReport) -> tuple[str, ...] | None:
    """What a grant for the whole session may cover because of this command: the words it begins with.

    A later command is covered when it has the same prefix. None where no such grant is safe: anything with a risk,
    anything opaque, code given on the command line, a redirection into a file, more than one program that writes.
    """
    if report.opaque or report.risks or report.writes or not report.programs:
        return None
    acting = [program for program in report.programs if not program.readonly]
    chosen = acting or report.programs[:1]
    if any(set(program.through) - _TRANSPARENT for program in chosen):
        return None
    grants = {program.grant for program in chosen}
    if len(grants) != 1:
        return None
    return grants.pop() or None
