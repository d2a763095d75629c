"""A receipt as a person reads it: sections only where there is something; on a terminal, lines that fit it."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ...types.text import one_line, visible
from .console import Console, ago
from .learning.words import evidence_in_words
from .why_ending import Cost, Ending, Said
from .why_learning import AdviceLine, Backing, Part
from .why_receipt import Decision, Receipt

if TYPE_CHECKING:
    from ...learning.observe import Observed

_WIDEST = 100
_ELSEWHERE = (("advice", "override"), *(("check", choice) for choice in ("passed", "failed", "no verdict")))
"""Decisions that other sections tell."""
_JUDGES = {"verifier": "its check", "check": "its check", "user": "the user"}
_TAUGHT = {
    "learned": "",
    "outcome only": "only its outcome counted: a stranger's text in it gave instructions",
    "nothing": "nothing was learned from it",
    "not learned from": "it was not learned from",
}


class Page:
    """Prints one receipt."""

    def __init__(self, console: Console) -> None:
        self._console = console
        columns = min(_WIDEST, shutil.get_terminal_size().columns)
        self._width = columns if console.out.isatty() else 0

    def show(self, receipt: Receipt) -> None:
        """Everything, the most asked for first."""
        self._line(f"run {receipt.run} of session {receipt.session}")
        self._line(f"request: {one_line(receipt.request, 200)}")
        self._line(f"model: {receipt.model}")
        self._line(f"outcome: {_ended(receipt.ending)}")
        for said in receipt.ending.said[:-1]:
            self._line(f"said before: {_said(said)}", 2)
        self._line(f"cost: {_cost(receipt.cost)}")
        self._learning(receipt.learning)
        if receipt.worth is not None:
            self._worth(receipt.worth)
        self._read(receipt)
        self._decisions(receipt)

    def _line(self, text: str, indent: int = 0) -> None:
        shown = " " * indent + visible(text)
        if self._width <= len(shown) and self._width:
            for line in textwrap.wrap(shown, self._width - 1, subsequent_indent=" " * (indent + 2)):
                self._console.say(line)
        else:
            self._console.say(shown)

    def _head(self, text: str) -> None:
        self._console.say("")
        self._console.say(text)

    def _learning(self, part: Part) -> None:
        if not part.family and not part.advice and not part.plans:
            return
        self._head("learned before, and what it did here")
        self._line(_place(part), 2)
        if _TAUGHT[part.taught]:
            self._line(_TAUGHT[part.taught], 2)
        backing = {one.id: one for one in part.backing}
        for name, lines in _by_heuristic(part.advice).items():
            self._advice(lines, backing[name])
        if not part.advice:
            self._line("nothing that was learned fits this run", 2)
        self._effects(part)

    def _advice(self, lines: list[AdviceLine], backing: Backing) -> None:
        first = lines[0]
        self._line(f"{'applied' if first.applied else 'withheld'}  {first.kind} {first.id}: {_chance(first)}", 2)
        self._line(first.text, 4)
        self._line(f"at: {', '.join(dict.fromkeys(map(_about, lines)))}", 4)
        if backing.stage == "gone":
            self._line("it was taken out since", 4)
        else:
            evidence = evidence_in_words(backing.evidence)
            self._line(f"stands now: {backing.stage}, {backing.confidence:.0%} sure; {evidence}", 4)
        if backing.acts_since is None:
            return
        after = f" after run {backing.after_run}" if backing.after_run else ""
        self._line(f"acts since: {ago(backing.acts_since)}{after}: {one_line(backing.cause, 300)}", 4)

    def _effects(self, part: Part) -> None:
        """What came of it."""
        for hint in part.hints:
            self._line(f"told the model: {one_line(hint, 400)}", 2)
        if part.behind:
            self._line(f"put behind the other tools: {', '.join(part.behind)}", 2)
        for plan in part.plans:
            self._line(f"plan ({plan.reason}): {one_line(' > '.join(plan.steps), 400) or 'empty'}", 2)
        for steer in part.steered:
            then = "the model insisted, and it ran" if steer.insisted else "the model did something else"
            self._line(f"steered away from {steer.tool} ({steer.call}): {one_line(steer.reason, 300)} {then}", 2)
        for futile in part.futile:
            self._line(f"not tried again: {one_line(futile.text, 300)} ({futile.call})", 2)
        for repair in part.repairs:
            self._line(f"told after {repair.tool} failed ({repair.call}): {one_line(repair.text, 400)}", 2)

    def _worth(self, worth: Observed) -> None:
        self._head("what this run was worth")
        self._line(f"efficiency: {worth.efficiency_score:.0%} of the best in its family before it", 2)
        errors = worth.error_recovery
        if errors.errors:
            self._line(f"errors recovered: {errors.recovered} of {errors.errors}", 2)
        self._line(f"learning value: {worth.learning_value:.0%}", 2)
        for insight in worth.key_insights:
            self._line(f"insight: {insight}", 2)

    def _read(self, receipt: Receipt) -> None:
        self._console.say("")
        if not receipt.read:
            self._console.say("it read no strangers' text and no private data")
            return
        rows = [
            (
                ", ".join(read.labels),
                read.tool,
                f"{read.call}{' (earlier)' if read.earlier else ''}",
                read.origin or "-",
            )
            for read in receipt.read
        ]
        self._console.table(("label", "tool", "call", "from"), [tuple(map(visible, row)) for row in rows])

    def _decisions(self, receipt: Receipt) -> None:
        self._console.say("")
        decisions = [one for one in receipt.decisions if (one.subject, one.choice) not in _ELSEWHERE]
        if not decisions and not receipt.refusals:
            self._line("nothing had to be decided: no call was held back, retried or given up")
        for decision in decisions:
            self._decision(decision)
        for refusal in receipt.refusals:
            self._line(f"refused {refusal.tool} ({refusal.call}): {refusal.text}")

    def _decision(self, decision: Decision) -> None:
        about = f" {decision.tool}" if decision.tool else ""
        self._line(f"{decision.choice}{about} ({decision.subject}): {decision.reason}")
        for trail in decision.trail:
            seen = "; ".join(trail.seen_in) or "nowhere before: the model made it up or put it together"
            self._line(f"{one_line(trail.value, 60)!r} is in {seen}", 4)


def _by_heuristic(advice: Iterable[AdviceLine]) -> dict[str, list[AdviceLine]]:
    found: dict[str, list[AdviceLine]] = {}
    for line in sorted(advice, key=lambda one: not one.applied):
        found.setdefault(line.id, []).append(line)
    return found


def _place(part: Part) -> str:
    why = {"caller": "named by whoever asked", "wording": "found from the wording of the request"}
    family = f"family {part.family_name} ({why[part.family_from]}), " if part.family else ""
    pinned = " (pinned)" if part.pinned else ""
    seed = "" if part.seed is None else f", coins drawn from seed {part.seed}"
    return f"{family}set {part.set_version}{pinned}{seed}"


def _chance(line: AdviceLine) -> str:
    if line.propensity >= 1:
        return "always"
    if line.applied:
        return f"acts in {line.propensity:.0%} of such runs"
    return f"left aside by a coin in {line.propensity:.0%} of such runs, to see whether it still holds"


def _about(line: AdviceLine) -> str:
    return f"{line.tool or 'call'} ({line.call})" if line.call else "the start"


def _ended(ending: Ending) -> str:
    if ending.status == "open":
        return "not over yet"
    word = {True: "succeeded", False: "failed", None: ending.status}[ending.success]
    who = _JUDGES.get(ending.judged_by)
    judged = f"{word}, says {who}" if who else f"{word} (inferred from how it ended; nobody judged it)"
    return judged + (f": {one_line(ending.reason, 300)}" if ending.reason else "")


def _said(said: Said) -> str:
    word = {True: "good", False: "bad", None: "no verdict"}[said.success]
    return f"{_JUDGES.get(said.by, said.by)}, {ago(said.at)}: {word}" + (
        f" ({one_line(said.reason, 200)})" if said.reason else ""
    )


def _cost(cost: Cost) -> str:
    failed = f" ({cost.failed} failed)" if cost.failed else ""
    cached = f" ({cost.cached / cost.input:.0%} from cache)" if cost.input and cost.cached else ""
    parts = [
        f"{cost.model_calls} model call{'' if cost.model_calls == 1 else 's'}{failed}",
        f"{cost.input:,} tokens in{cached}, {cost.output:,} out",
        _money(cost),
        ""
        if cost.seconds is None
        else f"{cost.seconds:.1f} s (model {cost.model_seconds:.1f} s, tools {cost.tool_seconds:.1f} s)",
    ]
    return "; ".join(part for part in parts if part)


def _money(cost: Cost) -> str:
    if cost.usd is not None:
        return f"${cost.usd:,.4f}"
    names = ", ".join(cost.unpriced)
    known = f"${cost.usd_known:,.4f} and more" if cost.usd_known else "money unknown"
    return f"{known} (no price for {names})"
