"""How soon a skill that does harm is given up: by the coin alone, and by tasks done twice.

Two levels. The first simulates tasks only: outcomes are drawn, everything that judges them is the product
(`learning.life.Register`, `learning.evidence`). The second is the whole product: an agent's skill that steers the
Apprentice to the worse of two tools lies in the library, and nothing but the outcome of tasks speaks against it.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean, median

import msgspec

from benchmarks.learning.stats import Figure
from benchmarks.skills.rig import Bench
from hermes_agent.learning.cells import Cells
from hermes_agent.learning.evidence import ACT, PairEvidence
from hermes_agent.learning.life import Occasion, Register, Rules
from hermes_agent.learning.reexecution import Arms, Attempt, Task, done_again, evidence_of, stored_set
from hermes_agent.learning.standing import HELD_OUT, ON_PROBATION, coin
from hermes_agent.models.providers.apprentice import Apprentice, default_faults
from hermes_agent.skills.skill import Author, Origin
from hermes_agent.store.database import Connection
from hermes_agent.store.heuristics import Heuristic, Kind, Stage, active_set
from hermes_agent.surfaces.cli.learning.rerunning import Again
from hermes_agent.tools.tool import Tool
from hermes_agent.types.tools import ToolResult
from hermes_agent.types.trace import AdviceItem

BASES = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
COST = 0.4
OPPORTUNITIES, PAIRS = 100, 30
GOAL = 0.95
_GOOD, _BAD = "post_entry", "post_entry_fast"
_SKILL = "post-ledger-entries"
_PROOF = "posted"


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """So many of so many, with a 95 % Wilson interval."""

    good: int
    all: int

    @property
    def share(self) -> float:
        """The share."""
        return self.good / self.all

    def __str__(self) -> str:
        z, n, p = 1.96, self.all, self.share
        middle, half = (p + z * z / (2 * n)) / (1 + z * z / n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        half /= 1 + z * z / n
        return f"{100 * p:.1f} % [{100 * (middle - half):.1f}, {100 * (middle + half):.1f}] of {n:,}"


def retired_at(rng: random.Random, base: float, cost: float, chance: float, most: int) -> int | None:
    """The opportunity at which a skill is retired; `chance` is that of the coin. Opportunities are tasks of the family
    in which the coin was flipped for it."""
    stage = Stage.PROBATION if chance == ON_PROBATION else Stage.TRUSTED
    skill = Heuristic(id="s", kind=Kind.SKILL, model="m", family="f", subject="s", text="", stage=stage)
    register = Register([skill], Rules(), Occasion(run_id="r", at=0.0), 1)
    cells = Cells(lambda keys: {})
    for number in range(1, most + 1):
        applied = rng.random() < chance
        success = rng.random() < (base - cost if applied else base)
        item = AdviceItem(id="s", text="", applied=applied, propensity=chance if applied else 1 - chance)
        register.judge([item], cells, success=success)
        if register.known["s"].stage is Stage.RETIRED:
            return number
    return None


def found_by_pairs(rng: random.Random, base: float, cost: float, chance: float, most: int) -> int | None:
    """The pair at which doing tasks again says that the skill harms; `chance` is that it is told at all in the run that
    has it. The outcomes of a pair are independent here: shared luck would make fewer pairs differ, but none wrongly."""
    evidence = PairEvidence()
    for number in range(1, most + 1):
        having = rng.random() < (base - cost if rng.random() < chance else base)
        lacking = rng.random() < base
        if having != lacking:
            evidence = evidence.seen(won=having)
        if evidence.e_harms() >= ACT:
            return number
    return None


Trial = Callable[[random.Random, float, float, float, int], int | None]


def rates(trial: Trial, cost: float, chance: float, most: int, cases: int) -> dict[float, list[int | None]]:
    """What became of so many cases for each success rate without the skill. Seeds are fixed."""
    return {
        base: [
            trial(random.Random(f"{trial.__name__}:{base}:{cost}:{chance}:{case}"), base, cost, chance, most)
            for case in range(cases)
        ]
        for base in BASES
        if base >= cost
    }


def _rate(found: Sequence[int | None]) -> Rate:
    return Rate(good=sum(one is not None for one in found), all=len(found))


def _middle(found: Sequence[int | None]) -> str:
    return f"{median(math.inf if one is None else one for one in found):g}"


def _line(what: str, found: dict[float, list[int | None]], goal: str = "") -> Figure:
    every = [one for some in found.values() for one in some]
    parts = ", ".join(f"{base:.1f}: {100 * _rate(some).share:.0f} %" for base, some in found.items())
    rate = _rate(every)
    return Figure(
        what=what,
        measured=f"{rate}, median {_middle(every)} ({parts})",
        goal=goal,
        reached=rate.share >= GOAL if goal else None,
    )


def simulated(cases: int) -> list[Figure]:
    """Rates over `cases` cases for each success rate without the skill."""
    vouched = 1 - HELD_OUT
    coin = rates(retired_at, COST, ON_PROBATION, OPPORTUNITIES, cases)
    return [
        _line(
            f"a skill that costs 40 points, retired by its coin within {OPPORTUNITIES} opportunities", coin, ">= 95 %"
        ),
        _line(
            "the same, a person's skill (told in 9 of 10 runs)", rates(retired_at, COST, vouched, OPPORTUNITIES, cases)
        ),
        _line("the same, a person's skill, within 500", rates(retired_at, COST, vouched, 500, cases // 4)),
        _line(
            "a skill that costs nothing, retired within 100 (wrongly)",
            rates(retired_at, 0.0, ON_PROBATION, OPPORTUNITIES, cases),
        ),
        _line(
            f"40 points, found within {PAIRS} pairs, told in each",
            rates(found_by_pairs, COST, 1.0, PAIRS, cases),
            ">= 95 %",
        ),
        _line(
            f"40 points, found within {PAIRS} pairs, told by its coin of .5",
            rates(found_by_pairs, COST, 0.5, PAIRS, cases),
        ),
        _line("a skill that costs nothing, 30 pairs (wrongly)", rates(found_by_pairs, 0.0, 1.0, PAIRS, cases)),
    ]


class Ledger:
    """Three services; the one in the middle is offered by two tools, of which the second is silently wrong more often.
    `base` is how often the first is right; with the skill tasks succeed 40 points less often, the Apprentice's
    inattention included. A task done again has the same luck. With a `workspace`, a file there proves success."""

    def __init__(self, seed: int, base: float, workspace: Path | None = None) -> None:
        followed = default_faults().attention ** 2
        self.seed = seed
        self.rates = {_GOOD: base, _BAD: base - COST / followed}
        self.workspace = workspace
        self._done: dict[str, bool] = {}

    def begin(self, number: int) -> str:
        """The next request."""
        self._done = {}
        told = json.dumps({"account": f"A-{number}"})
        return (
            f"Post the ledger entries of account A-{number}.\n\n1. read_ledger {told}\n"
            f"2. {_GOOD} {told} or {_BAD} {told}\n3. close_ledger {told}"
        )

    def solved(self) -> bool:
        """Whether the entries are right and the ledger is closed."""
        return all(self._done.get(step, False) for step in ("read_ledger", "post", "close_ledger"))

    def tools(self) -> list[Tool]:
        """The four tools."""
        return [self._tool(name) for name in ("read_ledger", _GOOD, _BAD, "close_ledger")]

    def _tool(self, name: str) -> Tool:
        async def run(account: str) -> ToolResult:
            lucky = random.Random(f"{self.seed}:{account}").random() < self.rates.get(name, 1.0)
            self._done["post" if name in self.rates else name] = lucky
            if self.workspace is not None and self.solved():
                (self.workspace / _PROOF).touch()
            return ToolResult(text=f"done for {account}")

        reached = ["files.write"] if self.workspace is not None else []
        return Tool(name, run, name.replace("_", " "), capabilities=reached, effect="idempotent")


def _text(tool: str) -> str:
    return (
        f"---\nname: {_SKILL}\ndescription: Post the ledger entries of an account. Use when entries are to be posted.\n"
        "metadata:\n  triggers:\n    - post the ledger entries of an account\n---\n\n# Ledger entries\n\n"
        f"1. Read the ledger.\n2. For the posting, use `{tool}`: it is faster.\n3. Close the ledger.\n"
    )


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One injected skill in the whole product: at which opportunity it was retired, and success with and without."""

    seed: int
    retired_at: int | None
    opportunities: int
    told: float
    untold: float


def injected(seed: int, base: float, most: int = OPPORTUNITIES, origin: Origin = Origin.REVIEW) -> Case:
    """Put the harmful skill into a library and do tasks until it is retired."""
    ledger = Ledger(seed, base)
    settings = {"learning": {"mode": "on"}, "review": {"mode": "off"}}
    bench = Bench(Apprentice(seed), ledger.tools(), seed, settings)

    async def check(result: object) -> bool:
        return ledger.solved()

    try:
        made = bench.wait(bench.knowledge.editing.create(_SKILL, _text(_BAD), Author(origin=origin)))
        assert made.ok, made.message
        opportunities, retired = 0, False
        ends: dict[bool, list[float]] = {True: [], False: []}
        for number in range(2 * most):
            result, solved = bench.run(ledger.begin(number), number, check, family="ledger")
            items = bench.wait(bench.store.traces.of_run(result.run_id)).advice
            own = [item for item in items if item.subject == _SKILL]
            if own:
                opportunities += 1
                ends[own[0].applied].append(float(solved))
            stages = {one.stage for one in bench.wait(bench.store.heuristics.of_skill(_SKILL))}
            retired = Stage.RETIRED in stages
            if retired or opportunities >= most:
                break
        return Case(
            seed=seed,
            retired_at=opportunities if retired else None,
            opportunities=opportunities,
            told=fmean(ends[True] or [math.nan]),
            untold=fmean(ends[False] or [math.nan]),
        )
    finally:
        bench.close()


class Twice(msgspec.Struct, frozen=True, kw_only=True):
    """One injected skill judged by tasks done twice: at which pair it was found, and what the pairs said."""

    seed: int
    found_at: int | None
    pairs: int
    losses: int
    wins: int
    unjudged: int


def done_twice(seed: int, base: float, most: int = PAIRS, *, told: bool = False) -> Twice:
    """Put the harmful skill into a library, and do tasks with and without it, as `hermes learning replay --rerun`. With
    `told` only seeds are used at which the skill's coin lets it speak."""
    model = Apprentice(seed)
    bench = Bench(model, [], seed, {"learning": {"mode": "on"}, "review": {"mode": "off"}})
    ledger = Ledger(seed, base, bench.workspace)
    for tool in ledger.tools():
        bench.agent.register_tool(tool)
    options = {"reset": f"rm -f {_PROOF}", "check": f"test -e {_PROOF}", "family": "ledger"}
    try:
        made = bench.wait(bench.knowledge.editing.create(_SKILL, _text(_BAD), Author(origin=Origin.REVIEW)))
        assert made.ok, made.message
        first, _ = bench.run(ledger.begin(0), 0, options["check"], reset=options["reset"], family="ledger")
        arms, skill = bench.wait(_arms(bench))
        tasks = [
            Task(
                run_id=first.run_id,
                request=ledger.begin(number),
                workspace=str(bench.workspace),
                options={**options, "model": f"{model.provider}:{model.model}"},
                reset=options["reset"],
                check=options["check"],
                seed=_seed(seed, number, skill if told else ""),
            )
            for number in range(1, most + 1)
        ]
        return bench.wait(_judged(seed, tasks, arms, bench, ledger))
    finally:
        bench.close()


def _seed(seed: int, number: int, skill: str) -> int:
    rng = random.Random(f"{seed}:{number}")
    drawn = rng.randrange(2**31)
    while skill and coin(str(drawn), skill) >= ON_PROBATION:
        drawn = rng.randrange(2**31)
    return drawn


async def _judged(seed: int, tasks: Sequence[Task], arms: Arms, bench: Bench, ledger: Ledger) -> Twice:
    pairs = []
    again = Again(bench.agent.app)

    async def execute(task: Task, version: int) -> Attempt:
        ledger.begin(0)
        return await again(task, version)

    found = None
    async for pair in done_again(tasks, arms, execute):
        pairs.append(pair)
        if evidence_of(pairs).e_harms() >= ACT:
            found = len(pairs)
            break
    said = evidence_of(pairs)
    return Twice(
        seed=seed,
        found_at=found,
        pairs=len(pairs),
        losses=said.losses,
        wins=said.wins,
        unjudged=sum(not pair.judged for pair in pairs),
    )


async def _arms(bench: Bench) -> tuple[Arms, str]:
    """The set in force, which has the skill, and the same without it; and the id of the skill's heuristic."""
    database = bench.store.database
    active = await database.read(active_set)
    (skill,) = await bench.store.heuristics.of_skill(_SKILL)
    assert skill.id in active.members
    members = set(active.members) - {skill.id}

    def unit(connection: Connection) -> int:
        return stored_set(connection, database.backend, members, active.version, "benchmark")

    return Arms(having=active.version, lacking=await database.write(unit)), skill.id


def pairs_in_product(seeds: Sequence[int], say: Callable[[str], None]) -> list[Figure]:
    """Tasks done twice with the whole product, one skill for each seed. A pair has the same luck twice."""
    table = []
    for told in (True, False):
        cases = []
        for place, seed in enumerate(seeds):
            cases.append(done_twice(seed, BASES[1:][place % 5], told=told))
            say(f"pairs, seed {seed}: found at {cases[-1].found_at}")
        rate = _rate([case.found_at for case in cases])
        pairs, losses, wins = (sum(getattr(case, name) for case in cases) for name in ("pairs", "losses", "wins"))
        how = "told in each" if told else "told by its coin, as `learning replay --rerun` does"
        table.append(
            Figure(
                what=f"whole product: found within {PAIRS} pairs, {how}",
                measured=f"{rate}, median {_middle([case.found_at for case in cases])};"
                f" of {pairs} pairs {losses} were lost, {wins} won",
                goal=">= 95 %",
                reached=rate.share >= GOAL,
            )
        )
    return table


def in_product(seeds: Sequence[int], say: Callable[[str], None]) -> list[Figure]:
    """The same with the whole product, one skill for each seed."""
    cases = []
    for place, seed in enumerate(seeds):
        cases.append(injected(seed, BASES[1:][place % 5]))
        say(f"injected skill, seed {seed}: retired after {cases[-1].retired_at} opportunities")
    found = [case.retired_at for case in cases]
    rate = _rate(found)
    told, untold = (fmean(getattr(case, name) for case in cases) for name in ("told", "untold"))
    return [
        Figure(
            what=f"whole product: retired by its coin within {OPPORTUNITIES} opportunities",
            measured=f"{rate}, median {_middle(found)}",
            goal=">= 95 %",
            reached=rate.share >= GOAL,
        ),
        Figure(what="whole product: success of tasks told of it / not told", measured=f"{told:.2f} / {untold:.2f}"),
    ]
