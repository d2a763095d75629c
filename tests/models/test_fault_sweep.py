"""Runs of mixed faults, seeded: each ends exactly as a plain reading of its script says. 20 runs, or 100 in full."""

import os
import random
from collections.abc import Iterator

import msgspec
import pytest

from hermes_agent.types.trace import RunStatus
from tests.endpoint import Fail, Fault, Reply, call, calls, text
from tests.endpoint.replies import Calls, Text
from tests.models.faulty import (
    ANSWERED,
    ATTEMPTS,
    BOTH,
    FAILURES,
    FINAL,
    RUNNABLE,
    SPOILED,
    TEXTS,
    FaultyAgent,
    Told,
    spoil,
)

RUNS = 100 if os.environ.get("HERMES_TEST_FULL") == "1" else 8
STEPS = 5

pytestmark = [pytest.mark.req("R14")]


class Ending(msgspec.Struct):
    """How a run goes: what it answers, which calls ran, how often the model was asked and what came of it."""

    status: RunStatus = RunStatus.OPEN
    answer: str = ""
    ran: list[str] = []
    told: list[Told] = []


def predicted(script: list[Reply]) -> Ending:
    """The ending of a script, by the rules: what passes is tried three times, what cannot run is told the model."""
    ending, failures, steps = Ending(), 0, 0
    for reply in script:
        fault = reply.fault if isinstance(reply, Fail) else None
        if fault in FAILURES:
            failures += 1
            last = failures == ATTEMPTS or fault in FINAL
            ending.told.append(Told(FAILURES[fault], "give up" if last else "retry"))
            if last:
                ending.status = RunStatus.FAILED
                return ending
            continue
        failures = 0
        ending.told.append(ANSWERED)
        wrapping_up = steps == STEPS
        if isinstance(reply, Text) or fault in TEXTS or wrapping_up:
            ending.answer = TEXTS[fault] if fault in TEXTS else reply.text if isinstance(reply, Text) else ""
            ending.status = RunStatus.FAILED if wrapping_up else RunStatus.DONE
            return ending
        steps += 1
        if isinstance(reply, Calls):
            ending.ran += [str(made.arguments["text"]) for made in reply.calls if isinstance(made.arguments, dict)]
        elif fault in RUNNABLE:
            ending.ran += BOTH
    raise AssertionError("a script ends with a text")


def script_of(seed: int) -> list[Reply]:
    rng = random.Random(seed)
    script: list[Reply] = []
    for number in range(rng.randint(1, 8)):
        if rng.random() < 0.35:
            words = [f"{number}.{place}" for place in range(rng.randint(1, 3))]
            script.append(calls(*(call("echo", text=word) for word in words)))
        else:
            rare = (*FINAL, *TEXTS)
            fault = rng.choice(rare) if rng.random() < 0.1 else rng.choice([f for f in Fault if f not in rare])
            script.append(spoil(fault))
    return [*script, text("the end"), text("the end"), text("the end")]


@pytest.fixture(scope="module")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultyAgent]:
    with FaultyAgent(tmp_path_factory.mktemp("sweep")) as made:
        yield made


def test_scripts_hold_every_fault_and_end_in_every_way() -> None:
    scripts = [script_of(seed) for seed in range(100)]
    assert {reply.fault for script in scripts for reply in script if isinstance(reply, Fail)} == set(Fault)
    endings = [predicted(script) for script in scripts]
    assert {ending.status for ending in endings} == {RunStatus.DONE, RunStatus.FAILED}
    assert {*SPOILED} and any(ending.ran for ending in endings)


@pytest.mark.parametrize("seed", range(RUNS))
def test_a_run_of_mixed_faults_ends_as_predicted(agent: FaultyAgent, seed: int) -> None:
    script = script_of(seed)
    expected = predicted(script)
    before = len(agent.endpoint.requests)
    result = agent.run(script)
    asked = len(agent.endpoint.requests) - before
    found = Ending(status=result.status, answer=result.answer, ran=list(agent.ran), told=agent.told(result))
    assert found == expected
    assert asked == len(expected.told)
    assert bool(result.reason) == (result.status is RunStatus.FAILED)
    assert agent.goes_on(result)
