"""Runs of mixed faults over all wire formats, seeded: 50 quickly, 1,000 in full. `sweep.py` says what is checked."""

import os
from collections.abc import Iterator

import pytest

from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ModelFailure
from hermes_agent.types.trace import RunStatus
from tests.endpoint import Fail, Fault, call, calls, text
from tests.models.faulty import SPOILED
from tests.models.wires.prediction import Prediction
from tests.models.wires.rig import Told, Wire, WiresRig
from tests.models.wires.scenario import scenario
from tests.models.wires.sweep import observe

RUNS = 1000 if os.environ.get("HERMES_TEST_FULL") == "1" else 20
pytestmark = [pytest.mark.req("R8", "R14")]


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


@pytest.mark.parametrize("wire", Wire, ids=str)
@pytest.mark.parametrize("fault", SPOILED)
def test_a_spoiled_call_never_runs_and_the_conversation_goes_on(rig: WiresRig, wire: Wire, fault: Fault) -> None:
    """What the model did not sign as it stands in the journal is sent back unsigned."""
    rig.start((), Effort.HIGH)
    finished = rig.run(wire, [Fail(fault=fault), calls(call("echo", text="a")), text("done")])
    retried = wire is Wire.GEMINI and fault is Fault.HALF_CALL
    first = Told(wire, ModelFailure.MALFORMED, "retry") if retried else Told(wire, None, "answered")
    assert rig.told(finished) == [first, *[Told(wire, None, "answered")] * 2]
    assert (finished.result.status, finished.result.answer, rig.ran) == (RunStatus.DONE, "done", ["a"])
