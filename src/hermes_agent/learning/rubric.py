"""How learnable a task is, before it is scheduled: from its wording, and from runs of the same kind if there are any.

Four questions, each from 0 to 1: does it come back, can success be told, does it need several kinds of tools, and can
something go wrong that experience would help with. The wording is read with lists of English words, no model; what was
measured weighs more than a guess the more runs there are behind it.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from itertools import pairwise

import msgspec

from ..store.database import Connection
from ..store.families import family_by_id
from ..store.learning_views import RunPoint, recent_runs
from ..store.lessons import Lesson
from ..types.base import Value
from .families import Book
from .rubric_words import (
    ACTS,
    ARTEFACTS,
    CONDITIONS,
    CRITERIA,
    FORMATS,
    ONE_OFF,
    RECURRING,
    SOURCES,
    TALK,
    TOOL_KINDS,
    TROUBLE,
    TROUBLE_KINDS,
    VAGUE,
)

HIGH, LOW = 0.8, 0.3
LEARNABLE, PARTLY = 0.65, 0.4
_LATEST = 200
_PITFALLS_FROM = 50
_LONGEST = 20_000
_BELIEF = 3.0
"""So many runs weigh as much as the wording."""
_WORD = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_QUANTITY = re.compile(r"(?<![\w.])[-+<>=]{0,3}\s?\d[\d.,]{0,20}\s?%?")
_PLACE = re.compile(r"https?://\S|(?<!\w)[~.]{0,2}/\w|\b[\w-]{1,80}\.[a-z]{1,2}[a-z0-9]{1,3}\b")


class Band(StrEnum):
    """Where a score lies: high from 0.8 on, low up to 0.3."""

    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class Verdict(StrEnum):
    """What to expect of a task."""

    LEARNABLE = "learnable"
    PARTLY = "partly"
    NOT_LEARNABLE = "not learnable"


class History(Value, frozen=True, kw_only=True):
    """Runs of the family a task belongs to. `told` were judged by somebody who can know; `mean_tools` is how many
    different tools worked in a run; `pitfalls` the most frequent failures ("tool:error class")."""

    family: str
    name: str
    similarity: float
    runs: int
    told: int = 0
    successes: int = 0
    with_errors: int = 0
    recovered: int = 0
    mean_tools: float = 0.0
    looked_at: int = 0
    pitfalls: tuple[str, ...] = ()


class Score(Value, frozen=True, kw_only=True):
    """One question: the answer, why, and what would make it better (empty where nothing is missing)."""

    name: str
    score: float
    band: Band
    why: tuple[str, ...]
    advice: str = ""


class Rubric(Value, frozen=True, kw_only=True):
    """The four scores, their mean, and what follows."""

    scores: tuple[Score, ...]
    total: float
    verdict: Verdict
    advice: tuple[str, ...]
    history: History | None = None


class _Text:
    """A task, taken apart once."""

    def __init__(self, task: str) -> None:
        task = task[:_LONGEST]
        words = _WORD.findall(task.casefold())
        self.flat = f" {' '.join(words)} "
        self.quantities = len(_QUANTITY.findall(task))
        self.places = len(_PLACE.findall(task.casefold()))
        self.kinds = tuple(kind for kind, listed in TOOL_KINDS.items() if self.has(listed))
        self.acts = self.has(ACTS) and not (self.has(TALK) and not self.kinds)

    def has(self, listed: str) -> bool:
        """Whether one of the words or phrases is there."""
        return bool(self.found(listed))

    def found(self, listed: str) -> tuple[str, ...]:
        """Which of them are there; a `*` at the end stands for any ending, `_` joins the words of a phrase."""
        hits = []
        for one in listed.split():
            phrase = one.replace("_", " ")
            sought = f" {phrase[:-1]}" if phrase.endswith("*") else f" {phrase} "
            if sought in self.flat:
                hits.append(phrase.rstrip("*"))
        return tuple(hits)


def rubric_of(task: str, history: History | None = None) -> Rubric:
    """The rubric of a task. The same task and history always give the same answer."""
    text = _Text(task)
    scores = (
        _repeatability(text, history),
        _clarity(text, history),
        _tool_diversity(text, history),
        _error_scenarios(text, history),
    )
    total = round(sum(one.score for one in scores) / len(scores), 3)
    used_tools = scores[2].score > 0
    verdict = Verdict.LEARNABLE if total >= LEARNABLE else Verdict.PARTLY if total >= PARTLY else Verdict.NOT_LEARNABLE
    if not used_tools:
        verdict = Verdict.NOT_LEARNABLE
    return Rubric(
        scores=scores,
        total=total,
        verdict=verdict,
        advice=tuple(one.advice for one in sorted(scores, key=lambda one: one.score) if one.advice),
        history=history,
    )


def _repeatability(text: _Text, history: History | None) -> Score:
    recurring, once = text.found(RECURRING), text.found(ONE_OFF)
    why = []
    if recurring:
        guess = 0.9
        why.append(f"says that it comes back ({', '.join(recurring[:3])})")
    elif once:
        guess = 0.1
        why.append(f"says that it does not ({', '.join(once[:3])})")
    elif text.acts and text.kinds:
        guess = 0.5 if text.places or text.has(SOURCES) else 0.4
        why.append("could be done again on other data, but does not say that it will be")
    else:
        guess = 0.15
        why.append("nothing says that it comes back")
    score = guess
    if history is not None and history.runs:
        score = max(guess, 0.95 * (1 - math.exp(-history.runs / 6)))
        why.append(f"{_runs(history.runs)} of this kind so far")
    return _score(
        "repeatability", score, why, "Say how often it comes back, and what changes from one time to the next."
    )


def _clarity(text: _Text, history: History | None) -> Score:
    parts = {
        "an act": (0.15, text.acts),
        "a thing to be made": (0.25, text.has(ARTEFACTS)),
        "a format or a place for it": (0.15, text.has(FORMATS) or text.places > 0),
        "a number to meet": (0.2, text.quantities > 0),
        "what it is made from": (0.15, text.has(SOURCES) or text.places > 0),
        "a condition or a check": (0.15, text.has(CONDITIONS) or text.has(CRITERIA)),
    }
    vague = text.found(VAGUE)
    named = [name for name, (_, there) in parts.items() if there]
    score = 0.1 + sum(weight for weight, there in parts.values() if there) - 0.3 * bool(vague)
    why = [f"names {', '.join(named)}" if named else "names nothing that could be checked"]
    if vague:
        why.append(f"is vague ({', '.join(vague[:3])})")
    if history is not None and history.looked_at:
        told = history.told / history.looked_at
        score = max(score, 0.9 * told * _belief(history.looked_at))
        why.append(f"{history.told} of the last {history.looked_at} runs could be judged")
    missing = [name for name, (_, there) in parts.items() if not there and name != "an act"]
    advice = f"Say when it is done: name {', '.join(missing[:3])}." if missing else "Say what you mean in figures."
    return _score("clarity", score, why, f"{advice} `hermes run --check COMMAND` tells at once whether it succeeded.")


def _tool_diversity(text: _Text, history: History | None) -> Score:
    kinds = text.kinds if text.acts else ()
    guess = _by_count(float(len(kinds)))
    why = [f"speaks of {', '.join(kinds)}" if kinds else "needs no tool that could be told from its words"]
    score = guess
    if history is not None and history.looked_at:
        weight = _belief(history.looked_at)
        score = (1 - weight) * guess + weight * _by_count(history.mean_tools)
        why.append(f"{history.mean_tools:.1f} different tools in a run of this kind")
    return _score("tool_diversity", score, why, "Make it whole: from fetching the data to handing over the result.")


def _error_scenarios(text: _Text, history: History | None) -> Score:
    trouble = text.found(TROUBLE)
    outside = [kind for kind in text.kinds if kind in TROUBLE_KINDS] if text.acts else []
    guess = (0.6 if trouble else 0.0) + 0.2 * (len(trouble) > 1)
    if text.acts:
        guess += 0.2 * min(2, len(outside)) + 0.2 * text.has(CONDITIONS)
    why = []
    if trouble:
        why.append(f"says what may go wrong ({', '.join(trouble[:3])})")
    if outside:
        why.append(f"depends on what may fail: {', '.join(outside)}")
    score = min(1.0, guess)
    if history is not None and history.looked_at:
        weight = _belief(history.looked_at)
        share = history.with_errors / history.looked_at
        score = (1 - weight) * score + weight * min(1.0, 0.1 + 1.5 * share)
        why.append(f"something failed in {history.with_errors} of {history.looked_at} runs of this kind")
    advice = "Say what may go wrong and what to do then, such as a missing file or a service that does not answer."
    return _score("error_scenarios", score, why or ["nothing in it seems able to go wrong"], advice)


def _by_count(tools: float) -> float:
    """One tool is low, three are high, five are all that is asked for."""
    points = ((0.0, 0.0), (1.0, 0.2), (2.0, 0.5), (3.0, 0.8), (5.0, 1.0))
    for (low, under), (high, over) in pairwise(points):
        if tools <= high:
            return under + (over - under) * (tools - low) / (high - low)
    return 1.0


def _belief(runs: int) -> float:
    return runs / (runs + _BELIEF)


def _score(name: str, value: float, why: Iterable[str], advice: str) -> Score:
    value = round(min(1.0, max(0.0, value)), 3)
    band = Band.HIGH if value >= HIGH else Band.LOW if value <= LOW else Band.MEDIUM
    return Score(name=name, score=value, band=band, why=tuple(why), advice="" if band is Band.HIGH else advice)


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def history_of(connection: Connection, task: str) -> History | None:
    """What is known of the family that a task would join; None where it would found one."""
    book = Book()
    book.refresh(connection)
    place = book.place(task)
    family = None if place.is_new else family_by_id(connection, place.family_id)
    if family is None:
        return None
    points = recent_runs(connection, family=family.id, limit=_LATEST)
    return History(
        family=family.id,
        name=family.name or family.id,
        similarity=place.similarity,
        runs=max(family.tasks, len(points)),
        told=_told(connection, points),
        successes=sum(point.success is True for point in points),
        with_errors=sum(point.errors > 0 for point in points),
        recovered=sum(point.recovered for point in points),
        mean_tools=round(_mean(len(set(point.plan.split(" > "))) if point.plan else 0 for point in points), 3),
        looked_at=len(points),
        pitfalls=_pitfalls(connection, points[-_PITFALLS_FROM:]),
    )


def _told(connection: Connection, points: list[RunPoint]) -> int:
    if not points:
        return 0
    marks = ", ".join("?" * len(points))
    sql = f"SELECT COUNT(*) FROM lessons WHERE run_id IN ({marks}) AND success IS NOT NULL AND judged_by <> 'inferred'"
    return int(connection.run(sql, [point.run_id for point in points])[0][0])


def _pitfalls(connection: Connection, points: list[RunPoint]) -> tuple[str, ...]:
    if not points:
        return ()
    marks = ", ".join("?" * len(points))
    rows = connection.run(
        f"SELECT payload FROM lessons WHERE run_id IN ({marks}) AND payload <> ''", [point.run_id for point in points]
    )
    lessons = [msgspec.json.decode(row[0], type=Lesson) for row in rows]
    failed = Counter(f"{one.tool}:{one.error}" for lesson in lessons for one in lesson.observations if one.error)
    return tuple(name for name, _ in sorted(failed.items(), key=lambda item: (-item[1], item[0]))[:3])


def _mean(values: Iterable[int]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0
