"""Whether a call may run: the policy, strangers' text, and a person where one must decide."""

from __future__ import annotations

from collections.abc import Sequence

from ..config.settings import Verdict
from ..safety.approvals import Answer, Question, ask, question_for
from ..safety.permissions import Policy, Ruling, destination_key, grant_key
from ..types.events import AnyEvent, Decided
from ..types.tools import ToolCall, ToolSpec
from .scene import CallScene

_UNSEEN = "only a person who sees the call can allow it: run it in a terminal, or set approvals.tainted"


class Permits:
    """Judges calls and asks about them. The calls of one step are asked about together."""

    def __init__(self, policy: Policy, timeout: float, tainted: Verdict) -> None:
        self.policy = policy
        self._timeout = timeout
        self._tainted = tainted

    def ruling(self, spec: ToolSpec, call: ToolCall, scene: CallScene) -> Ruling:
        """The policy's verdict, and above it the doubt about a call that strangers' text may have caused."""
        ruling = self.policy.judge(spec, scene.session_id, call.arguments)
        if ruling.verdict is Verdict.DENY or self._tainted is Verdict.ALLOW:
            return ruling
        suspicion = scene.provenance.suspect(spec, call.arguments)
        if suspicion is None or self.policy.granted(scene.session_id, destination_key(spec, call.arguments)):
            return ruling
        verdict = Verdict.DENY if self._tainted is Verdict.DENY else Verdict.ASK
        return Ruling(verdict=verdict, reason=suspicion.reason(), tainted=True)

    async def ask_about(self, calls: Sequence[tuple[ToolSpec, ToolCall]], scene: CallScene) -> None:
        """Ask once about all of these calls that need a person now. An answer holds while the reason is the same."""
        open_calls: list[tuple[ToolSpec, ToolCall, Ruling]] = []
        for spec, call in calls:
            ruling = self.ruling(spec, call, scene)
            known = scene.answers.get(call.id)
            if ruling.verdict is Verdict.ASK and (known is None or known[0] != ruling.reason):
                open_calls.append((spec, call, ruling))
        if not open_calls:
            return
        questions = [_question(call, ruling, scene) for _, call, ruling in open_calls]
        answers = await ask(scene.approver, questions, self._timeout)
        for (spec, call, ruling), answer in zip(open_calls, answers, strict=True):
            scene.answers[call.id] = (ruling.reason, answer)
            if answer is Answer.SESSION:
                key = destination_key if ruling.tainted else grant_key
                self.policy.grant(scene.session_id, key(spec, call.arguments))

    async def decide(self, spec: ToolSpec, call: ToolCall, scene: CallScene) -> tuple[str, list[AnyEvent]]:
        """Why the call may not run, empty when it may; and what the journal keeps of the decision."""
        ruling = self.ruling(spec, call, scene)
        if ruling.verdict is Verdict.ALLOW:
            told = scene.answers.get(call.id)
            return "", [_decided(call, "approve", told[0])] if told else []
        answer = Answer.NO
        if ruling.verdict is Verdict.ASK:
            await self.ask_about([(spec, call)], scene)
            answer = scene.answers[call.id][1]
        subject = "taint" if ruling.tainted else "permission"
        if answer is not Answer.NO:
            return "", [_decided(call, "approve", ruling.reason, subject)]
        reason = f"{ruling.reason}; {_UNSEEN}" if ruling.tainted else ruling.reason
        return f"not permitted: {reason}", [_decided(call, "refuse", ruling.reason, subject)]


def _question(call: ToolCall, ruling: Ruling, scene: CallScene) -> Question:
    return question_for(call.name, call.arguments, scene.workspace, ruling.reason, tainted=ruling.tainted)


def _decided(call: ToolCall, choice: str, reason: str, subject: str = "permission") -> Decided:
    return Decided(subject=subject, choice=choice, reason=reason, call_id=call.id)
