"""What learning has to say in one run: the heuristics that apply, and what the coin decided about each."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Sequence

from ..store.heuristics import ANY_REPEAT, ANY_TOOL, EVERY_FAMILY, Heuristic, Kind, Stage
from ..types.advice import Failure, Moment, Ruling, Situation, Steer
from ..types.plan import ActivePlan
from ..types.trace import AdviceItem
from .context import error_class, features_of
from .life import ON_TASKS

ON_PROBATION = 0.5
HELD_OUT = 0.1
"""How often all trusted heuristics that are judged by tasks are held back together, by one coin."""
_COINS = 2


def coin(seed: str, name: str) -> float:
    """A number in [0, 1) that the same run and the same thing always get."""
    digest = hashlib.blake2b(f"{seed}\0{name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def telling_seed(heuristic: Heuristic, start: int) -> int:
    """The first seed from `start` on under which a heuristic acts, also while it is on probation: a pair of runs in
    which the coin withholds it from both would say nothing."""
    return next(seed for seed in itertools.count(start) if coin(str(seed), _coin_name(heuristic)) < ON_PROBATION)


def acting_chance(heuristic: Heuristic, explore: float) -> float:
    """The chance that a member of a set acts: what is judged by tasks by a fair coin while it is on probation and in
    all but the runs held out then; everything else in all but the runs that explore."""
    if heuristic.kind not in ON_TASKS:
        return 1 - explore
    return ON_PROBATION if heuristic.stage is Stage.PROBATION else 1 - HELD_OUT


class Standing:
    """One run's view of a heuristic set. Decides each coin once; says what follows from it."""

    def __init__(self, situation: Situation, heuristics: Sequence[Heuristic], explore: float, *, widened: bool) -> None:
        family = situation.family
        self._seed = str(situation.seed) if situation.seed is not None else situation.run_id
        self._explore = explore
        self._widened = widened
        here = [item for item in heuristics if item.family in (family, EVERY_FAMILY)]
        own = {(item.kind, item.subject, item.condition) for item in here if item.family == family}
        self._heuristics = [
            item for item in here if item.family == family or (item.kind, item.subject, item.condition) not in own
        ]
        self._coins: dict[str, tuple[bool, float]] = {}
        self._explored_once: set[str] = set()
        trying = [item for item in self._heuristics if item.stage is Stage.PROBATION and item.kind in ON_TASKS]
        trying.sort(key=lambda item: coin(self._seed, f"order:{item.id}"))
        self._left_out = {item.id for item in trying[_COINS:]}

    def decided(self, heuristic: Heuristic) -> tuple[bool, float]:
        """Whether it acts in this run, and the chance that it does."""
        known = self._coins.get(heuristic.id)
        if known is None:
            chance, name = self._chance(heuristic), _coin_name(heuristic)
            known = self._coins[heuristic.id] = (coin(self._seed, name) < chance, chance)
        return known

    def _chance(self, heuristic: Heuristic) -> float:
        if self._widened or (heuristic.evidence.get("hopeful") and self._explore):
            return ON_PROBATION
        return acting_chance(heuristic, self._explore)

    def item(self, heuristic: Heuristic) -> AdviceItem:
        """What is recorded of the decision."""
        applied, chance = self.decided(heuristic)
        return AdviceItem(
            id=heuristic.id,
            text=heuristic.text,
            applied=applied,
            propensity=round(chance if applied else 1 - chance, 6),
            kind=heuristic.kind.value,
            subject=heuristic.subject if heuristic.kind is Kind.SKILL else "",
        )

    def applies(self, heuristic: Heuristic) -> bool:
        """Whether it acts in this run."""
        return self.decided(heuristic)[0]

    def opening(self) -> tuple[list[AdviceItem], list[str], list[str], ActivePlan | None]:
        """What is said at the start: decisions, hints, tools that go behind others, and the plan."""
        asked = [item for item in self._heuristics if _said_at_the_start(item) and item.id not in self._left_out]
        items = [self.item(heuristic) for heuristic in asked]
        told = [heuristic for heuristic in asked if self.applies(heuristic)]
        avoided = {item.subject for item in told if item.kind is Kind.AVOID_TOOL and not item.condition}
        hints = [
            hint
            for heuristic in told
            if not (heuristic.kind is Kind.PREFER_TOOL and heuristic.subject in avoided) and (hint := worded(heuristic))
        ]
        hints += [_tried_again(tool) for tool in self._explored(asked)]
        behind = [item.subject for item in told if item.kind in (Kind.AVOID_TOOL, Kind.PREFER_TOOL)]
        return items, hints, list(dict.fromkeys(behind)), self._plan(told)

    def _explored(self, asked: Sequence[Heuristic]) -> list[str]:
        """The tools that are tried although something speaks against them. Being silent about one would explore nothing
        where other advice still recommends its alternative."""
        against = (Kind.AVOID_TOOL, Kind.PREFER_TOOL)
        found = [item.subject for item in asked if item.kind in against and not item.condition]
        withheld = {item.subject for item in asked if item.kind in against and not self.applies(item)}
        return [tool for tool in dict.fromkeys(found) if tool in withheld]

    def _plan(self, told: Sequence[Heuristic]) -> ActivePlan | None:
        workflow = next((item for item in told if item.kind is Kind.WORKFLOW), None)
        if workflow is None:
            return None
        steps = [str(step) for step in workflow.detail.get("steps", ())]
        for edit in told:
            if edit.kind in (Kind.SKIP_STEP, Kind.MOVE_STEP):
                steps = _edited(steps, edit)
        return ActivePlan(pending=tuple(steps)) if steps else None

    def review(self, moment: Moment) -> Ruling:
        """Advice about one call."""
        call = moment.call
        features = features_of(call.arguments, moment.previous)
        items: list[AdviceItem] = []
        steer: Steer | None = None
        for heuristic in self._heuristics:
            if heuristic.tool not in (call.name, ANY_TOOL) or heuristic.id in self._left_out:
                continue
            if not self._speaks_of(heuristic, moment, features):
                continue
            items.append(self.item(heuristic))
            if steer is None and self._holds_back(heuristic):
                steer = Steer(reason=_reason(heuristic), better=_instead(heuristic) or self._better(call.name))
        return Ruling(steer=steer, items=tuple(items))

    def _speaks_of(self, heuristic: Heuristic, moment: Moment, features: tuple[str, ...]) -> bool:
        match heuristic.kind:
            case Kind.AVOID_TOOL:
                usable = not self._avoided(heuristic.better)
                return usable and all(part in features for part in heuristic.condition)
            case Kind.MOVE_STEP if "before" in heuristic.detail:
                return False
            case Kind.SKIP_STEP | Kind.MOVE_STEP:
                return heuristic.condition == (f"after={moment.previous.removesuffix(':ok')}",)
            case Kind.FUTILE_RETRY:
                failed = moment.failed
                return failed is not None and heuristic is self._find(Kind.FUTILE_RETRY, failed, ANY_REPEAT)
            case _:
                return False

    def _avoided(self, tool: str) -> bool:
        return any(
            item.kind is Kind.AVOID_TOOL and item.subject == tool and not item.condition for item in self._heuristics
        )

    def _better(self, tool: str) -> str:
        kinds = (Kind.AVOID_TOOL, Kind.PREFER_TOOL)
        found = (item.better for item in self._heuristics if item.kind in kinds and item.subject == tool)
        return next((better for better in found if not self._avoided(better)), "")

    def weigh_retry(self, failure: Failure) -> Ruling:
        """Whether trying again is known to be futile."""
        found = self._find(Kind.FUTILE_RETRY, failure)
        if found is None:
            return Ruling()
        steer = Steer(reason=found.text) if self._holds_back(found) else None
        return Ruling(steer=steer, items=(self.item(found),))

    def _holds_back(self, heuristic: Heuristic) -> bool:
        """Whether it speaks against a call now. A retry that is explored is explored once in a run: a second one would
        cost as much and tell the same."""
        if self.applies(heuristic) or heuristic.id in self._explored_once:
            return True
        if heuristic.kind is Kind.FUTILE_RETRY:
            self._explored_once.add(heuristic.id)
        return False

    def repair(self, failure: Failure) -> Ruling:
        """What worked after such a failure."""
        found = self._find(Kind.REPAIR, failure)
        if found is None or self._avoided(found.better):
            return Ruling()
        return Ruling(hint=worded(found) if self.applies(found) else "", items=(self.item(found),))

    def _find(self, kind: Kind, failure: Failure, *also: str) -> Heuristic | None:
        error = error_class(failure.error, failure.text)
        meant = (f"{failure.tool}:{error}", f"{ANY_TOOL}:{error}", *also)
        found = (
            item
            for item in self._heuristics
            if item.kind is kind and item.subject in meant and item.id not in self._left_out
        )
        return max(found, key=_specific, default=None)


def _specific(heuristic: Heuristic) -> tuple[bool, int, float]:
    general = (heuristic.tool == ANY_TOOL) + (heuristic.subject == ANY_REPEAT)
    return heuristic.family != EVERY_FAMILY, -general, heuristic.confidence


def _coin_name(heuristic: Heuristic) -> str:
    """What shares a coin: all that is trusted on tasks, so that a run is held out as a whole; and all that speaks
    against one tool, or leaving one of them aside would explore nothing."""
    if heuristic.kind in ON_TASKS and heuristic.stage is Stage.TRUSTED:
        return "holdout"
    if heuristic.kind in (Kind.AVOID_TOOL, Kind.PREFER_TOOL, Kind.HINT) and not heuristic.condition:
        return f"tool:{heuristic.subject}"
    return heuristic.id


def _said_at_the_start(heuristic: Heuristic) -> bool:
    return heuristic.kind not in (Kind.FUTILE_RETRY, Kind.REPAIR)


def _edited(steps: Sequence[str], edit: Heuristic) -> list[str]:
    """A plan without the step that fails where it stands, or with that step where it is to be done."""
    after = "".join(edit.condition).removeprefix("after=")
    found = [at for at in range(1, len(steps)) if (_tool(steps[at]), _tool(steps[at - 1])) == (edit.subject, after)]
    rest = [step for at, step in enumerate(steps) if at not in found]
    if edit.kind is Kind.SKIP_STEP or not found:
        return rest
    sooner = "before" in edit.detail
    anchor = edit.detail["before"] if sooner else edit.better
    place = next((at for at, step in enumerate(rest) if _tool(step) == anchor), len(rest) - 1) + (not sooner)
    return [*rest[:place], *(steps[at] for at in found), *rest[place:]]


def _tool(step: str) -> str:
    return step.partition(" ")[0]


def _tried_again(tool: str) -> str:
    return f"use `{tool}` first this time: it failed before and is tried again."


def _reason(heuristic: Heuristic) -> str:
    if heuristic.kind is Kind.SKIP_STEP:
        return f"this step is skipped here: {heuristic.text}"
    if heuristic.kind is Kind.MOVE_STEP:
        return f"{heuristic.text}; do it after `{heuristic.better}`, where it works"
    return heuristic.text


def _instead(heuristic: Heuristic) -> str:
    """The tool to use in place of the one it speaks against; a step that moves stays itself."""
    return "" if heuristic.kind is Kind.MOVE_STEP else heuristic.better


def worded(heuristic: Heuristic) -> str:
    """A heuristic as the model reads it."""
    text, tool, better = heuristic.text, heuristic.subject, heuristic.better
    match heuristic.kind:
        case Kind.AVOID_TOOL if heuristic.condition:
            return f"{text}; there `{better}` works."
        case Kind.AVOID_TOOL:
            return f"avoid `{tool}`: {text}; use `{better}`."
        case Kind.PREFER_TOOL:
            return f"use `{better}` rather than `{tool}`: {text}."
        case Kind.HINT:
            return f"avoid `{tool}` if there is another way: {text}." if not heuristic.condition else f"{text}."
        case Kind.SKIP_STEP:
            return f"skip `{tool}`: {text}."
        case Kind.MOVE_STEP if "before" in heuristic.detail:
            return f"do `{tool}` before `{heuristic.detail['before']}`: {text}."
        case Kind.MOVE_STEP:
            return f"do `{tool}` after `{better}`: {text}."
        case Kind.REPAIR:
            change = heuristic.detail.get("change", "")
            return f"{text}: use `{better}`{f' with {change}' if change else ''}."
        case Kind.SKILL:
            return f"the skill `{tool}` fits this task ({text}): read it with `skill_view` before you begin."
        case Kind.WORKFLOW:
            steps = heuristic.detail.get("steps", ())
            return "steps that worked for this: " + "; ".join(
                f"({place}) {step}" for place, step in enumerate(steps, 1)
            )
        case _:
            return text
