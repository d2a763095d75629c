"""`python -m tests.models.wires.sweep --runs 1000 --seed 1`: runs with faults over all formats, and a table of them.

Each run must end as predicted and be explained by its journal, and its session must go on in any format afterwards.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from hermes_agent.runtime.engine import Finished
from hermes_agent.types.events import AnyEvent, AssistantMessage, CallFinished, CallIntended, ModelCalled, RunFinished
from hermes_agent.types.trace import CallStatus, RunStatus
from tests.endpoint import Fail, Fault, text
from tests.models.faulty import BOTH
from tests.models.wires.prediction import Ending, Prediction
from tests.models.wires.rig import ATTEMPTS, STEPS, Told, Wire, WiresRig
from tests.models.wires.scenario import Scenario, scenario

ROUTES = 3
AGAIN = Fail(fault=Fault.MISSING_IDS)
"""Calls that have no ids of their own, so that those they get must not be ones that the session has already."""
MOST = ATTEMPTS * ROUTES * (STEPS + 1)


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """A run as it went."""

    scenario: Scenario
    ending: Ending
    asked: int
    problems: tuple[str, ...]


def observe(rig: WiresRig, wanted: Scenario) -> Observed:
    """Do a run and hold it against what must be. A rig's agents are made anew, so that no route still rests."""
    rig.start(wanted.wires[1:], wanted.effort)
    before = len(rig.endpoint.requests)
    finished = rig.run(wanted.wires[0], wanted.script)
    asked = len(rig.endpoint.requests) - before
    events = rig.events(finished)
    ending = Ending(
        status=finished.result.status,
        answer=finished.result.answer,
        ran=list(rig.ran),
        told=rig.told(finished),
    )
    problems = [*unexplained(events, finished, asked, rig.ran), *bounds(ending, asked, len(wanted.wires))]
    expected = Prediction(wanted.wires, wanted.script).run()
    if ending != expected:
        problems.append(f"expected {expected}, found {ending}")
    rig.start((), wanted.effort)
    after = rig.run(wanted.then, [AGAIN, text("still here")], finished.session_id).result
    if (after.status, after.answer, rig.ran) != (RunStatus.DONE, "still here", BOTH):
        problems.append(f"the session does not go on in {wanted.then}: {after.outcome.reason}")
    return Observed(scenario=wanted, ending=ending, asked=asked, problems=tuple(problems))


def bounds(ending: Ending, asked: int, routes: int) -> list[str]:
    """Retries are bounded: no route is asked more than `ATTEMPTS` times for one step."""
    problems = []
    if asked > ATTEMPTS * routes * (STEPS + 1):
        problems.append(f"{asked} requests")
    if ending.status not in (RunStatus.DONE, RunStatus.FAILED):
        problems.append(f"the run is {ending.status}")
    in_a_row: Counter[Wire] = Counter()
    for told in ending.told:
        in_a_row[told.wire] += 1
        if in_a_row[told.wire] > ATTEMPTS:
            problems.append(f"{told.wire} was asked {in_a_row[told.wire]} times for one step")
        if told.failure is None:
            in_a_row.clear()
    return problems


def unexplained(events: Sequence[AnyEvent], finished: Finished, asked: int, ran: Sequence[str]) -> list[str]:
    """What the journal does not explain about the end of a run, the requests and the calls that ran."""
    called = [event for event in events if isinstance(event, ModelCalled)]
    ended = [event for event in events if isinstance(event, RunFinished)]
    said = [event for event in events if isinstance(event, AssistantMessage)]
    problems = []
    if ended != [finished.result]:
        problems.append(f"the journal ends with {ended}")
    if len(called) != asked:
        problems.append(f"{asked} requests, {len(called)} in the journal")
    if any(bool(event.reason) != (event.failure is not None) for event in called):
        problems.append("a failure without a reason, or a reason without a failure")
    if sum(event.decision == "answered" for event in called) != len(said):
        problems.append("an answer that is not in the journal")
    last, reason = called[-1], finished.result.outcome.reason
    match last.decision:
        case "answered" if finished.result.status is RunStatus.DONE:
            explained = finished.result.answer == said[-1].text and not said[-1].calls
        case "answered":
            explained = "limits." in reason
        case "give up":
            explained = reason.startswith(last.reason) and finished.result.status is RunStatus.FAILED
        case _:
            explained = False
    return [*problems, *([] if explained else [f"{last} explains no {finished.result}"]), *_calls(events, ran)]


def _calls(events: Sequence[AnyEvent], ran: Sequence[str]) -> list[str]:
    """Every intent has its result, and what ran is what the answers asked for, whole."""
    intended = [event.call_id for event in events if isinstance(event, CallIntended)]
    results = {event.call_id: event for event in events if isinstance(event, CallFinished)}
    asked = [call for event in events if isinstance(event, AssistantMessage) for call in event.calls]
    whole = [call.arguments["text"] for call in asked if call.id in intended]
    problems = []
    if sorted(whole) != sorted(ran):
        problems.append(f"asked for {whole}, ran {ran}")
    if [call.id for call in asked if call.id not in results]:
        problems.append("a call without a result")
    if any((event.status is CallStatus.OK) != (call in intended) for call, event in results.items()):
        problems.append("a call that ran without an intent, or was intended and did not run")
    return problems


class Line(msgspec.Struct):
    """What happened in one format."""

    runs: int = 0
    done: int = 0
    failed: int = 0
    requests: int = 0
    retried: int = 0
    onward: int = 0
    given_up: int = 0
    calls: int = 0


def tally(found: Sequence[Observed]) -> dict[Wire, Line]:
    """Runs and their ends by the first format; attempts by the format that was asked."""
    lines = {wire: Line() for wire in Wire}
    for one in found:
        line = lines[one.scenario.wires[0]]
        line.runs += 1
        line.done += one.ending.status is RunStatus.DONE
        line.failed += one.ending.status is RunStatus.FAILED
        line.calls += len(one.ending.ran)
        for told in one.ending.told:
            _count(lines[told.wire], told)
    return lines


def _count(line: Line, told: Told) -> None:
    line.requests += 1
    line.retried += told.decision == "retry"
    line.onward += told.decision.startswith("next: ")
    line.given_up += told.decision == "give up"


def table(found: Sequence[Observed]) -> str:
    rows = [("format", *Line.__struct_fields__)]
    rows += [(str(wire), *map(str, msgspec.structs.astuple(line))) for wire, line in tally(found).items()]
    total = [sum(int(row[column]) for row in rows[1:]) for column in range(1, len(rows[0]))]
    rows.append(("all", *map(str, total)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def summary(found: Sequence[Observed]) -> str:
    met = {reply.fault for one in found for reply in one.scenario.script[: one.asked] if isinstance(reply, Fail)}
    fallbacks = sum(len(one.scenario.wires) > 1 for one in found)
    thinking = sum(one.scenario.effort is not None for one in found)
    bad = sum(bool(one.problems) for one in found)
    return (
        f"{len(found)} runs, {bad} with a problem; {fallbacks} with fallbacks, {thinking} thinking\n"
        f"{len(met)} of {len(Fault)} faults; most requests of a run {max(one.asked for one in found)} (bound {MOST})"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.models.wires.sweep", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1, help="the first of as many seeds as there are runs")
    options = parser.parse_args()
    started = time.monotonic()
    found: list[Observed] = []
    with tempfile.TemporaryDirectory(prefix="wires-") as folder, WiresRig(Path(folder)) as rig:
        for seed in range(options.seed, options.seed + options.runs):
            found.append(observe(rig, scenario(seed)))
            for problem in found[-1].problems:
                print(f"seed {seed}: {problem}")
    print(table(found))
    print(summary(found), f"{time.monotonic() - started:.0f} s", sep="\n")
    bad = sum(bool(one.problems) for one in found)
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
