"""May this tool run? Decided from its declaration, the configuration and what was granted, never from its text."""

from __future__ import annotations

from collections.abc import Mapping

from ..config.settings import Verdict
from ..types.base import Value
from ..types.tools import Capability, ToolSpec


class Ruling(Value, frozen=True, kw_only=True):
    """A verdict and the reason a person or the model is given for it."""

    verdict: Verdict
    reason: str


class Policy:
    """The configured verdicts, what the registering program vouches for, and what was granted for this session."""

    def __init__(self, rules: Mapping[Capability, Verdict], vouched: frozenset[str] = frozenset()) -> None:
        self._rules = rules
        self._vouched = set(vouched)
        self._granted: dict[str, set[str]] = {}

    def vouch(self, tool: str) -> None:
        """The program that registered this tool grants what the tool declares."""
        self._vouched.add(tool)

    def grant(self, session_id: str, tool: str) -> None:
        """A person allowed this tool for the rest of the session."""
        self._granted.setdefault(session_id, set()).add(tool)

    def judge(self, spec: ToolSpec, session_id: str) -> Ruling:
        """The strictest verdict among the tool's capabilities; a configured `deny` always stands."""
        if spec.capabilities is None:
            if spec.name in self._granted.get(session_id, ()):
                return Ruling(verdict=Verdict.ALLOW, reason="granted for this session")
            return Ruling(verdict=Verdict.ASK, reason=f"{spec.name} does not declare what it reaches")
        asked = []
        for capability in sorted(spec.capabilities):
            verdict = self._rules.get(capability, Verdict.ASK)
            if verdict is Verdict.DENY:
                return Ruling(verdict=Verdict.DENY, reason=f"permissions.{capability} is deny")
            if verdict is Verdict.ASK:
                asked.append(capability.value)
        if not asked:
            return Ruling(verdict=Verdict.ALLOW, reason="allowed by configuration")
        if spec.name in self._vouched:
            return Ruling(verdict=Verdict.ALLOW, reason="granted by the program that registered it")
        if spec.name in self._granted.get(session_id, ()):
            return Ruling(verdict=Verdict.ALLOW, reason="granted for this session")
        return Ruling(verdict=Verdict.ASK, reason=f"{spec.name} needs {', '.join(asked)}")
