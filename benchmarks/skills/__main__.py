"""`make bench-skills`: whether the library of skills stays small and useful, measured against the goals.

Simulated are the services, the requests, the model (the Apprentice) and what an extracting model writes; library,
editing, recommending, refining, curator, index, store and harness are the product.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

import msgspec

from benchmarks.learning.__main__ import say, seeds_of, shown
from benchmarks.learning.stats import Figure
from benchmarks.skills import costs, gains, hygiene, index, retirement

PARTS = ("hygiene", "retirement", "product", "pairs", "index", "gains", "advice", "start")


def hygiene_figures(given: argparse.Namespace) -> list[Figure]:
    """All arms over all seeds."""
    histories = hygiene.lives(seeds_of(given.seeds), given.tasks)
    head = Figure(what="tasks of a history, seeds", measured=f"{given.tasks}, {given.seeds}")
    return [head, *hygiene.figures(histories)]


def main() -> int:
    """Measure and print; 1 when a goal was missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.skills", description=__doc__)
    parser.add_argument("--only", default=",".join(PARTS), help=f"parts to run: {', '.join(PARTS)}")
    parser.add_argument(
        "--seeds", default="711-716", help="seeds of the histories; those below 711 were looked at before"
    )
    parser.add_argument("--tasks", type=int, default=300, help="tasks of a history")
    parser.add_argument("--cases", type=int, default=2000, help="simulated cases for each success rate")
    parser.add_argument("--injected", default="801-820", help="seeds of the skills injected into the whole product")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    wanted = given.only.split(",")
    if strange := sorted(set(wanted) - set(PARTS)):
        parser.error(f"there is no part {', '.join(strange)}; there are {', '.join(PARTS)}")
    parts: dict[str, Callable[[], list[Figure]]] = {
        "hygiene": lambda: hygiene_figures(given),
        "retirement": lambda: retirement.simulated(given.cases),
        "product": lambda: retirement.in_product(seeds_of(given.injected), say),
        "pairs": lambda: retirement.pairs_in_product(seeds_of(given.injected), say),
        "index": index.figures,
        "gains": gains.figures,
        "advice": costs.advice,
        "start": costs.start_up,
    }
    table: list[Figure] = []
    for name in PARTS:
        if name in wanted:
            say(f"measuring {name}")
            table += parts[name]()
    if given.json:
        print(msgspec.json.format(msgspec.json.encode(table), indent=2).decode())
    else:
        print("\n".join(shown(table)))
    return int(any(figure.reached is False for figure in table))


if __name__ == "__main__":
    sys.exit(main())
