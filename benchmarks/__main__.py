"""`make bench`: every budget of the trunk in one table, ratios taken within this one run.

With `--peers FILE` (see `make bench-peer`) the peers' stored figures are shown beside ours. Where the incumbent is
installed, its one-shot and its eight sessions are measured again in this run, and the ratios are to those.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec

from benchmarks.journal import group_gain, step_cost
from benchmarks.ours import COMMAND, bare_request, growth, measure_ours
from benchmarks.peers.endpoint_process import ROOT
from benchmarks.peers.environments import Environment, installed
from benchmarks.peers.incumbent import measure_incumbent
from benchmarks.peers.results import Incumbent, Peer, load_peers
from benchmarks.peers.table import render
from benchmarks.prefix import unchanged

SIZES = (50, 200, 500)


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the table."""

    what: str
    measured: str
    goal: str
    reached: bool


def command_figures(ours: Incumbent, theirs: Incumbent | None) -> Iterator[Figure]:
    """Start-up, memory, the first request, and eight sessions at once."""
    one_shot, version = ours.one_shot_command, ours.version_command
    assert one_shot and version and ours.first_request_bytes
    yield _at_most("one-shot question, CPU", one_shot.cpu_s, 0.4, "s")
    yield _at_most("one-shot question, memory", one_shot.peak_rss_mb, 60, "MB")
    yield _at_most("`hermes --version`, CPU", version.cpu_s, 0.08, "s")
    yield _at_most("first request, default tools", ours.first_request_bytes / 1000, 14, "kB")
    if theirs is None:
        yield Figure(
            what="against hermes-agent 0.19.0", measured="not installed", goal="make bench-peer", reached=False
        )
        return
    if theirs.one_shot_command is not None:
        yield _at_least("one-shot CPU, incumbent / ours", theirs.one_shot_command.cpu_s / one_shot.cpu_s, 10)
    for what, mine, other in (
        ("one process", ours.eight_sessions_in_one_process, theirs.eight_sessions_in_one_process),
        ("eight commands", ours.eight_sessions_in_eight_commands, theirs.eight_sessions_in_eight_commands),
    ):
        if mine is not None and other is not None:
            yield _at_least(f"eight sessions x 3 calls, {what}, incumbent / ours", other.wall_s / mine.wall_s, 10)


def loop_figures(ours: Peer, bare_ms: float) -> Iterator[Figure]:
    """CPU per tool iteration, and that it does not grow."""
    for loop, goal in zip(ours.loops, (5.0, 5.0, 6.0), strict=True):
        yield _at_most(f"tool iteration, CPU, over {loop.iterations}", loop.cpu_ms_per_iteration, goal, "ms")
    early, late = growth()
    yield _at_most("500th iteration / 5th, CPU", late / early, 1.15, "x")
    yield _at_most("tool iteration / bare httpx request, CPU", ours.loops[-1].cpu_ms_per_iteration / bare_ms, 3.0, "x")


def durability_figures() -> Iterator[Figure]:
    """The journal, the prefix, and how soon a killed run goes on."""
    with tempfile.TemporaryDirectory(prefix="journal-", dir=ROOT) as folder:
        step = step_cost("", Path(folder))
        gain = group_gain("", Path(folder))
    yield _at_most("journal step beyond one raw commit", step.beyond_ms, step.goal_ms, "ms")
    what = f"16 tasks, group / single commits (raw commit {step.raw_ms:.2g} ms)"
    yield _at_least(what, gain.ratio, gain.goal)
    for what, (good, total) in (
        ("requests that extend the one before", unchanged(50)),
        ("the same across kill and resume", unchanged(20, kill_at=8)),
    ):
        yield Figure(what=what, measured=f"{good} of {total}", goal="all", reached=good == total)
    shown = subprocess.run([str(COMMAND), "demo", "--json"], capture_output=True, check=False)
    facts = json.loads(shown.stdout)
    yield _at_most("kill -9 inside a tool, restart to answer", facts["seconds_to_finish"], 2.0, "s")


def _at_most(what: str, value: float, goal: float, unit: str) -> Figure:
    return Figure(what=what, measured=f"{value:.3g} {unit}", goal=f"<= {goal:g} {unit}", reached=value <= goal)


def _at_least(what: str, value: float, goal: float) -> Figure:
    return Figure(what=what, measured=f"{value:.3g} x", goal=f">= {goal:g} x", reached=value >= goal)


def _incumbent(cache: Path) -> Incumbent | None:
    environment: Environment | None = installed(cache / "hermes")
    if environment is None:
        return None
    with tempfile.TemporaryDirectory(prefix="incumbent-") as folder:
        return measure_incumbent(environment, Path(folder))[0]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--peers", type=Path, help="stored figures of the peers to show beside ours")
    parser.add_argument("--cache", type=Path, default=ROOT / ".bench" / "peers")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    say("measuring conversations and commands")
    ours = measure_ours(SIZES)
    assert ours.incumbent is not None
    say("measuring the incumbent, where it is installed")
    theirs = _incumbent(given.cache)
    figures = list(command_figures(ours.incumbent, theirs))
    say("measuring iterations against bare requests")
    figures += loop_figures(ours, bare_request())
    say("measuring the journal, the prefix and recovery")
    figures += durability_figures()
    if given.json:
        print(msgspec.json.format(msgspec.json.encode(figures), indent=2).decode())
    else:
        width = max(len(figure.what) for figure in figures)
        for figure in figures:
            mark = "ok  " if figure.reached else "MISS"
            print(f"{mark}  {figure.what.ljust(width)}  {figure.measured.rjust(14)}   {figure.goal}")
    if given.peers:
        stored = load_peers(given.peers)
        print("\n" + render(msgspec.structs.replace(stored, peers=(ours, *stored.peers))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
