"""Runs of mixed faults over all wire formats, seeded: 50 quickly, 1,000 in full. `sweep.py` says what is checked."""

import os
from collections.abc import Iterator

import pytest

from hermes_agent.types.trace import RunStatus
from tests.endpoint import Fail, Fault
from tests.models.wires.prediction import Prediction
from tests.models.wires.rig import Wire, WiresRig
from tests.models.wires.scenario import scenario
from tests.models.wires.sweep import observe

RUNS = 1000 if os.environ.get("HERMES_TEST_FULL") == "1" else 50
pytestmark = [pytest.mark.req("A15", "R14")]


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WiresRig]:
    with WiresRig(tmp_path_factory.mktemp("wires")) as made:
        yield made


def test_the_seeds_hold_every_format_every_fault_and_every_end() -> None:
    made = [scenario(seed) for seed in range(1, 1001)]
    endings = [Prediction(one.wires, one.script).run() for one in made]
    served = [one.script[: len(ending.told)] for one, ending in zip(made, endings, strict=True)]
    met = {
        (told.wire, reply.fault)
        for script, ending in zip(served, endings, strict=True)
        for reply, told in zip(script, ending.told, strict=True)
        if isinstance(reply, Fail)
    }
    assert met == {(wire, fault) for wire in Wire for fault in Fault}
    assert {ending.status for ending in endings} == {RunStatus.DONE, RunStatus.FAILED}
    decisions = {told.decision for ending in endings for told in ending.told}
    assert decisions == {"answered", "retry", "give up", *(f"next: {wire.value}" for wire in Wire)}


@pytest.mark.parametrize("seed", range(1, RUNS + 1))
def test_a_run_with_faults_ends_as_it_must(rig: WiresRig, seed: int) -> None:
    assert observe(rig, scenario(seed)).problems == ()
