"""Does the library stay small and useful when every good run may write a skill?

A history is 300 tasks of twelve kinds (`office.py`) with the Apprentice as the model and a scripted extractor. Arms:
`off` without learning; `calls` with learning, but no skill is ever written; `on` as installed, with a curator's pass
after every fiftieth task; `uncurated` the same without the curator.
"""

from __future__ import annotations

import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from statistics import fmean
from typing import Any

import msgspec

from benchmarks.learning.stats import Figure, Interval, bootstrapped
from benchmarks.skills.extractor import Extractor
from benchmarks.skills.office import Office, tasks
from benchmarks.skills.rig import Bench
from hermes_agent.learning.curator import Curator
from hermes_agent.learning.overlaps import DUPLICATE, find_overlaps
from hermes_agent.learning.proposals import Action
from hermes_agent.store.heuristics import Kind, Stage

PASS_EVERY = 50
MOST_PER_FAMILY = 2
_WORKERS = 2
_FAMILIES = 12
_MERGED, _CROSSED = "merged away", "merged across families"


class Arm(StrEnum):
    """What is switched on."""

    OFF = "off"
    CALLS = "calls"
    UNCURATED = "uncurated"
    ON = "on"

    def settings(self) -> dict[str, dict[str, Any]]:
        """The configuration of an arm."""
        learns, writes = self is not Arm.OFF, self in (Arm.UNCURATED, Arm.ON)
        return {"learning": {"mode": "on" if learns else "off"}, "review": {"mode": "on" if writes else "off"}}


class History(msgspec.Struct, frozen=True, kw_only=True):
    """How one history went, and what the library looked like at its end. `per_family` counts skills in use by the kind
    of work they were written for; `drafts` what the extractor wrote; `curated` what the curator did; `stages` where the
    coins of these skills stand, and `places` who holds a place on probation: a skill in use, or one that is gone."""

    arm: str
    seed: int
    solved: list[bool]
    per_family: dict[str, int] = {}
    duplicates: int = 0
    alike: int = 0
    skills: int = 0
    peak: int = 0
    drafts: dict[str, int] = {}
    changes: dict[str, int] = {}
    curated: dict[str, int] = {}
    stages: dict[str, int] = {}
    places: dict[str, int] = {}


def lived(arm: Arm, seed: int, count: int, say: Callable[[str], None] = lambda text: None) -> History:
    """One history from an empty home on."""
    office = Office(seed)
    model = Extractor(seed, office)
    bench = Bench(model, office.tools(), seed, arm.settings())
    solved: list[bool] = []
    curated: Counter[str] = Counter()
    peak, begun = 0, time.monotonic()

    async def check(result: object) -> bool:
        return office.solved()

    try:
        for task in tasks(seed, count):
            solved.append(bench.run(office.begin(task), task.number, check)[1])
            if len(solved) % PASS_EVERY == 0:
                peak = max(peak, len(bench.made()))
                if arm is Arm.ON:
                    curated += pass_over(bench, model.written)
                say(f"{arm} {seed}: {len(solved)} tasks, {len(bench.made())} skills, {time.monotonic() - begun:.0f} s")
        return _looked_at(bench, model, History(arm=arm, seed=seed, solved=solved, peak=peak, curated=dict(curated)))
    finally:
        bench.close()


def lives(seeds: Sequence[int], count: int) -> list[History]:
    """All arms over all seeds, in two processes; progress goes to stderr."""
    jobs = [(arm.value, seed, count) for seed in seeds for arm in Arm]
    with multiprocessing.get_context("spawn").Pool(_WORKERS) as pool:
        return pool.map(_life, jobs, chunksize=1)


def _life(job: tuple[str, int, int]) -> History:
    arm, seed, count = job
    return lived(Arm(arm), seed, count, partial(print, file=sys.stderr, flush=True))


def pass_over(bench: Bench, families: Mapping[str, str]) -> Counter[str]:
    """What `hermes skills curate --yes` does, and what it did; `families` says what each skill was written for."""
    known = bench.knowledge
    curator = Curator(known.library, known.editing, bench.store, bench.agent.app.settings.skills, time.time)
    plan = bench.wait(curator.plan())
    applied = bench.wait(curator.apply(plan))
    done = Counter({"passes": 1, "changes": len(applied.changes), "left alone": len(plan.left) + len(applied.skipped)})
    done[_MERGED] = sum(len(one.absorbed) for one in plan.proposals if one.action is Action.MERGE)
    done[_CROSSED] = sum(
        families.get(gone.name) != families.get(one.skill.name)
        for one in plan.proposals
        if one.action is Action.MERGE
        for gone in one.absorbed
    )
    done["archived"] = sum(one.action is Action.ARCHIVE for one in plan.proposals)
    return done


def _looked_at(bench: Bench, model: Extractor, history: History) -> History:
    made = bench.made()
    alike = find_overlaps([held.skill for held in made])
    families = Counter(model.written.get(held.name, "?") for held in made)
    heuristics = bench.wait(bench.store.heuristics.all())
    own = {held.name for held in made}
    stages = Counter(one.stage.value for one in heuristics if one.kind is Kind.SKILL and one.subject in own)
    held_by = Counter(
        "in use" if one.subject in own else "gone"
        for one in heuristics
        if one.kind is Kind.SKILL and one.stage is Stage.PROBATION
    )
    works = bench.wait(bench.store.background.listed(5_000))
    ended = Counter(f"{work.kind} {work.status}" for work in works)
    return msgspec.structs.replace(
        history,
        per_family=dict(sorted(families.items())),
        duplicates=sum(one.score >= DUPLICATE for one in alike),
        alike=len(alike),
        skills=len(made),
        peak=max(history.peak, len(made)),
        drafts=dict(model.counted),
        changes=dict(ended),
        stages=dict(stages),
        places=dict(held_by),
    )


def points(found: Sequence[History], base: Sequence[History], part: slice = slice(None)) -> Interval:
    """The difference in success of two arms over the same seeds, in points."""
    pairs = zip(found, base, strict=True)
    return bootstrapped([100 * (fmean(one.solved[part]) - fmean(other.solved[part])) for one, other in pairs])


def figures(histories: Sequence[History]) -> list[Figure]:
    """The table."""
    arms = {arm: [one for one in histories if one.arm == arm] for arm in Arm}
    table = []
    for arm, found in arms.items():
        if found:
            rate = bootstrapped([fmean(one.solved) for one in found])
            late = bootstrapped([fmean(one.solved[2 * len(one.solved) // 3 :]) for one in found])
            table.append(Figure(what=f"success, {arm}; last third", measured=f"{rate}; {late}"))
    on, off, calls = arms[Arm.ON], arms[Arm.OFF], arms[Arm.CALLS]
    if on and off:
        gain = points(on, off)
        table.append(Figure(what="success, on - off, points", measured=str(gain), goal="> 0", reached=gain.low > 0))
    if on and calls:
        gain = points(on, calls)
        table.append(
            Figure(
                what="success, on - calls (what the written skills add), points",
                measured=str(gain),
                goal="> 0",
                reached=gain.low > 0,
            )
        )
    for arm in (Arm.UNCURATED, Arm.ON):
        table += _hygiene(arm, arms[arm])
    return table


def _hygiene(arm: Arm, found: Sequence[History]) -> list[Figure]:
    if not found:
        return []
    most = [max(one.per_family.values(), default=0) for one in found]
    over = sum(count > MOST_PER_FAMILY for one in found for count in one.per_family.values())
    kept = sum(len(one.per_family) for one in found)
    crossed, merged = (sum(one.curated.get(name, 0) for one in found) for name in (_CROSSED, _MERGED))
    goal = arm is Arm.ON
    return [
        Figure(
            what=f"{arm}: skills per family, most; mean",
            measured=f"{max(most)}; {fmean(count for one in found for count in one.per_family.values()):.2f}"
            f" ({over} of {kept} above {MOST_PER_FAMILY})",
            goal=f"<= {MOST_PER_FAMILY}" if goal else "",
            reached=max(most) <= MOST_PER_FAMILY if goal else None,
        ),
        Figure(
            what=f"{arm}: pairs alike >= .9; >= .6",
            measured=f"{sum(one.duplicates for one in found)}; {sum(one.alike for one in found)}",
            goal="none >= .9" if goal else "",
            reached=not any(one.duplicates for one in found) if goal else None,
        ),
        Figure(
            what=f"{arm}: skills at the end; most at once",
            measured=f"{fmean(one.skills for one in found):.1f}; {max(one.peak for one in found)}",
        ),
        Figure(
            what=f"{arm}: families with a skill of their own, of {_FAMILIES}",
            measured=f"{fmean(len(one.per_family) for one in found):.1f}",
        ),
        Figure(
            what=f"{arm}: skills merged into one of another family",
            measured=f"{crossed} of {merged}",
            goal="0" if goal else "",
            reached=not crossed if goal else None,
        ),
        Figure(what=f"{arm}: drafts", measured=_summed(found, "drafts")),
        Figure(what=f"{arm}: background work", measured=_summed(found, "changes")),
        Figure(what=f"{arm}: curator", measured=_summed(found, "curated")),
        Figure(what=f"{arm}: coins of written skills", measured=_summed(found, "stages")),
        Figure(what=f"{arm}: places on probation held by skills", measured=_summed(found, "places")),
    ]


def _summed(found: Sequence[History], field: str) -> str:
    total: Counter[str] = Counter()
    for one in found:
        total.update(getattr(one, field))
    return ", ".join(f"{name} {count}" for name, count in sorted(total.items())) or "none"
