"""May this call run? Decided from the tool's declaration, the configuration, what was granted, and, for a shell
command, what it is made of. Never from what the model says about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..config.settings import Verdict
from ..types.base import Value
from ..types.tools import Capability, ToolSpec
from .taint import capabilities_of

if TYPE_CHECKING:
    from .commands import CommandReport

_COMMAND = "command"


class Ruling(Value, frozen=True, kw_only=True):
    """A verdict and the reason a person or the model is given for it. `tainted` when strangers' text is the reason."""

    verdict: Verdict
    reason: str
    tainted: bool = False


class Policy:
    """The configured verdicts, what the registering program vouches for, and what was granted for this session.

    `confined` says whether a sandbox holds commands; it is asked only when a command is judged, because finding out
    may cost a process.
    """

    def __init__(
        self,
        rules: Mapping[Capability, Verdict],
        vouched: frozenset[str] = frozenset(),
        confined: Callable[[], bool] = lambda: False,
    ) -> None:
        self._rules = rules
        self._vouched = set(vouched)
        self._confined = confined
        self._granted: dict[str, set[str]] = {}

    def vouch(self, tool: str) -> None:
        """The program that registered this tool grants what the tool declares."""
        self._vouched.add(tool)

    def grant(self, session_id: str, key: str) -> None:
        """A person allowed what `grant_key` named for the rest of the session."""
        if key:
            self._granted.setdefault(session_id, set()).add(key)

    def granted(self, session_id: str, key: str) -> bool:
        """Whether a person allowed this for the session."""
        return bool(key) and key in self._granted.get(session_id, ())

    def judge(self, spec: ToolSpec, session_id: str, arguments: Mapping[str, Any] | None = None) -> Ruling:
        """The strictest verdict among what the call reaches; a configured `deny` always stands."""
        arguments = arguments or {}
        if spec.capabilities is None:
            if self.granted(session_id, spec.name):
                return Ruling(verdict=Verdict.ALLOW, reason="granted for this session")
            return Ruling(verdict=Verdict.ASK, reason=f"{spec.name} does not declare what it reaches")
        asked, because = [], ""
        for capability in sorted(capabilities_of(spec, arguments)):
            verdict = self._rules.get(capability, Verdict.ASK)
            if verdict is Verdict.CONFINED:
                shell = capability is Capability.SHELL
                verdict, because = self._command(arguments) if shell else (Verdict.ASK, because)
            if verdict is Verdict.DENY:
                return Ruling(verdict=Verdict.DENY, reason=f"permissions.{capability} is deny")
            if verdict is Verdict.ASK:
                asked.append(capability.value)
        if not asked:
            return Ruling(verdict=Verdict.ALLOW, reason="allowed by configuration")
        if spec.name in self._vouched:
            return Ruling(verdict=Verdict.ALLOW, reason="granted by the program that registered it")
        if self.granted(session_id, grant_key(spec, arguments)):
            return Ruling(verdict=Verdict.ALLOW, reason="granted for this session")
        reason = f"{spec.name} needs {', '.join(asked)}"
        return Ruling(verdict=Verdict.ASK, reason=f"{reason}: {because}" if because else reason)

    def _command(self, arguments: Mapping[str, Any]) -> tuple[Verdict, str]:
        """Inside a sandbox only what alarms is asked about; outside, everything that does more than read."""
        confined = self._confined()
        command = arguments.get(_COMMAND)
        if not isinstance(command, str):
            return (Verdict.ALLOW, "") if confined else (Verdict.ASK, "")
        from .commands import RiskKind

        report = _read(command)
        alarming = report.opaque or report.kinds() - {RiskKind.NETWORK}
        harmless = not alarming and (confined or report.readonly)
        return (Verdict.ALLOW, "") if harmless else (Verdict.ASK, report.reason().rstrip("."))


@lru_cache(maxsize=128)
def _read(command: str) -> CommandReport:
    """What a command is made of. A call is judged more than once on its way, and the parser is loaded when needed."""
    from .commands import examine

    return examine(command)


def grant_key(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """What a grant for the session covers: commands with the same beginning, else the tool. Empty where a grant would
    cover what nobody has seen."""
    command = arguments.get(_COMMAND)
    if spec.capabilities is None or Capability.SHELL not in spec.capabilities or not isinstance(command, str):
        return spec.name
    from .commands import prefix

    beginning = prefix(_read(command))
    return f"{spec.name}: {' '.join(beginning)}" if beginning else ""


def destination_key(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """What a grant in spite of strangers' text covers: this tool towards this destination, and nothing else."""
    values = [str(arguments[name]) for name in spec.destinations if arguments.get(name)]
    if not values:
        return ""
    hosts = [urlsplit(value).hostname or value if "://" in value else value for value in values]
    return f"{spec.name} to {' '.join(hosts)}"
