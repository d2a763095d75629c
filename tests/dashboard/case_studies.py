"""Reports of case studies as `hermes bench` keeps them, over made-up records."""

from __future__ import annotations

import random
from functools import lru_cache
from pathlib import Path

import msgspec

from hermes_agent.bench.report import Report, report
from hermes_agent.bench.study import Arm, TaskRecord

_ITERATIONS = 24


@lru_cache(maxsize=1)
def sample_report() -> Report:
    """Two seeds for each arm; success rises with learning alone, and half of the tasks meet an error."""
    histories = {arm: [_history(arm, seed) for seed in (1, 2)] for arm in (Arm.OFF, Arm.ON)}
    return report("finance", "apprentice", _ITERATIONS, histories, simulated=True)


def _history(arm: Arm, seed: int) -> list[TaskRecord]:
    draw = random.Random(f"{arm}:{seed}")
    return [
        TaskRecord(
            number=number,
            family="invoices",
            success=draw.random() < (0.4 + 0.55 * min(1.0, number / 12) if arm.learns else 0.4),
            why="",
            tool_seconds=2.0,
            policy_seconds=1.0,
            calls=3,
            errors=number % 2,
            skills=("plotting",) if arm.learns and number > 9 else (),
            advised=False,
            run_id=f"r{number}",
        )
        for number in range(_ITERATIONS)
    ]


def keep(home: Path, folder: str, said: Report | bytes) -> Path:
    """Put a report where the command puts it."""
    path = home / "bench" / folder / "report.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(said if isinstance(said, bytes) else msgspec.json.encode(said))
    return path
