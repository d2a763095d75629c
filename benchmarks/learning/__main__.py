"""`make bench-learning`: the effect of learning in a world of failing services, measured against the goals.

Tasks and services are those of the Berkeley Function Calling Leaderboard, the model is the Apprentice with its fixed
faults, the failures are drawn from the seed (or given with `--faults`). Everything in between is the product. Figures
are means over seeds with 95 % bootstrap intervals. Finished histories are kept in `.bench/learning` and not run again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.learning import plans, poisoning, sharing
from benchmarks.learning.arms import Arm, History, Job, code, run_jobs
from benchmarks.learning.bfcl import MODULES, ROOT, package
from benchmarks.learning.faults import read_schedule, with_silent
from benchmarks.learning.stats import Figure, by_kind, figures

DEFAULT_TOOLS = "GorillaFileSystem,TradingBot,VehicleControlAPI"
PARTS = ("bfcl", "plans", "sharing", "poisoning")


def say(text: str) -> None:
    """Progress, for people."""
    print(text, file=sys.stderr, flush=True)


def shown(table: Sequence[Figure]) -> Iterator[str]:
    """The table as lines."""
    width = max(len(figure.what) for figure in table)
    for figure in table:
        mark = {True: "ok  ", False: "MISS", None: "    "}[figure.reached]
        yield f"{mark}  {figure.what.ljust(width)}  {figure.measured:<28} {figure.goal}"


def seeds_of(text: str) -> range:
    """ "1-20", or one number."""
    first, _, last = text.partition("-")
    try:
        return range(int(first), int(last or first) + 1)
    except ValueError as error:
        raise SystemExit(f"{text!r} are no seeds; write FIRST-LAST") from error


def bfcl_figures(given: argparse.Namespace) -> list[Figure]:
    """The leaderboard's world under all arms."""
    package()
    seeds = seeds_of(given.seeds)
    schedule = read_schedule(given.faults) if given.faults else None
    arms = tuple(Arm(name).value for name in given.arms.split(","))
    folder = Path(given.cache)
    folder.mkdir(parents=True, exist_ok=True)
    owners = tuple(given.tools.split(","))
    digests = (code(learns=False), code(learns=True))
    jobs = [
        Job(
            history=History(
                seed=seed,
                tasks=given.tasks,
                owners=owners,
                named=given.families == "named",
                schedule=schedule,
                mixture=with_silent(given.silent),
            ),
            arms=arms,
            folder=str(folder),
            code=digests,
        )
        for seed in seeds
    ]
    if given.again:
        for job in jobs:
            for arm in arms:
                job.file(arm).unlink(missing_ok=True)
    results = run_jobs(jobs, say)
    table = [Figure(what="tasks of a history, seeds", measured=f"{given.tasks}, {given.seeds}"), *figures(results)]
    for arm in arms:
        counts = by_kind([record for records in results[arm].values() for record in records])
        met = (f"{kind or 'none'} {good / total:.2f} of {total}" for kind, (good, total) in sorted(counts.items()))
        table.append(Figure(what=f"success by kind of fault met, {arm}", measured=", ".join(met)))
    return table


def main() -> int:
    """Run the worlds and print measured against goal; 1 when a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.learning", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts to run: {', '.join(PARTS)}")
    parser.add_argument(
        "--seeds",
        default="501-520",
        help="seeds of the histories; those below 500 were looked at while worlds were made",
    )
    parser.add_argument("--tasks", type=int, default=400, help="tasks of a history")
    parser.add_argument("--arms", default=",".join(Arm), help=f"arms to run: {', '.join(Arm)}")
    parser.add_argument("--tools", default=DEFAULT_TOOLS, help=f"classes: {', '.join(MODULES)}")
    parser.add_argument("--families", choices=("named", "clustered"), default="named")
    parser.add_argument("--faults", type=Path, help="a schedule of faults as JSON (see faults.py)")
    parser.add_argument("--silent", type=float, default=0.0, help="share of faults that answer wrongly and say nothing")
    parser.add_argument("--cache", default=str(ROOT / ".bench" / "learning"))
    parser.add_argument("--again", action="store_true", help="run what was run before again")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    wanted = given.only.split(",")
    if strange := sorted(set(wanted) - set(PARTS)):
        parser.error(f"there is no part {', '.join(strange)}; there are {', '.join(PARTS)}")
    table: list[Figure] = []
    if "bfcl" in wanted:
        table += bfcl_figures(given)
    for name, part in (("plans", plans.figures), ("sharing", sharing.figures), ("poisoning", poisoning.figures)):
        if name in wanted:
            say(f"measuring {name}")
            table += part()
    if given.json:
        print(msgspec.json.format(msgspec.json.encode(table), indent=2).decode())
    else:
        print("\n".join(shown(table)))
    return int(any(figure.reached is False for figure in table))


if __name__ == "__main__":
    sys.exit(main())
