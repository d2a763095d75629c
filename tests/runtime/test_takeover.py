"""A driver that dies or sleeps is replaced; one that wakes up again writes nothing more."""

import signal
import threading
import time
import warnings
from collections.abc import Sequence

import msgspec
import pytest

from hermes_agent.agent import Agent
from hermes_agent.models.providers.scripted import ScriptedModel, Turn
from hermes_agent.tools.tool import Tool
from hermes_agent.types.errors import HermesError
from hermes_agent.types.events import CallFinished, CallIntended, PrefixFrozen, Recorded, Recovered, RunFinished
from hermes_agent.types.tools import ProcessIdentity, ToolContext
from hermes_agent.types.trace import RunStatus
from tests.harness.rig import Rig, Witness, call, calling, events, of, results, saying, until
from tests.runtime.driver import tools
from tests.runtime.processes import Driver, Drivers


def standing(drivers: Drivers, *script: Turn, name: str = "driver") -> tuple[Driver, Agent, str]:
    """A process in the middle of its first tool, and somebody to watch its run: (driver, agent, run)."""
    driver = drivers.start(*script, requests=("do it",), agent=name)
    until(lambda: drivers.lines("stood.log"))
    watcher = drivers.rig.agent([saying("never")], name="watcher")
    ((run, _),) = watcher.wait(watcher.app.store.runs.open_everywhere())
    return driver, watcher, run.id


def journal(agent: Agent, run_id: str) -> list[Recorded]:
    return agent.wait(agent.app.store.journal.run_events(run_id))


def successor(drivers: Drivers, script: Sequence[Turn], name: str = "driver") -> tuple[Agent, Witness]:
    """The program started again in this process."""
    model = Witness(script, model="script")
    return drivers.rig.agent(model, tools(drivers.workspace), name=name), model


@pytest.mark.req("R2", "R14")
@pytest.mark.parametrize("effect", ["idempotent", "once"])
def test_a_sleeping_driver_that_wakes_up_is_fenced_off(drivers: Drivers, effect: str) -> None:
    drivers.rig.configure(store={"lease_seconds": 1.0}, runtime={"heartbeat": 0.2})
    script = (
        calling(call(f"stand_{effect}", until="go", name="x")),
        calling(call("mark_once", text="after")),
        saying("finished"),
    )
    first, watcher, run_id = standing(drivers, *script)
    first.send(signal.SIGSTOP)
    time.sleep(1.5)
    (drivers.workspace / "go").touch()
    second, _ = successor(drivers, script)
    (result,) = second.resume()
    assert (result.answer, result.run_id) == ("finished", run_id)
    before = journal(watcher, run_id)
    first.send(signal.SIGCONT)
    assert first.answers() == [("finished", "done")]
    assert journal(watcher, run_id) == before
    assert [entry.epoch for entry in before] == sorted(entry.epoch for entry in before)
    assert {entry.epoch for entry in before} == {1, 2}
    assert drivers.lines("marks.log") == ["after"]
    expected = "ok" if effect == "idempotent" else "in_doubt"
    assert [status for _, status, _ in results(watcher, run_id)] == [expected, "ok"]


@pytest.mark.req("R2", "R14")
@pytest.mark.parametrize("effect", ["none", "idempotent", "once"])
def test_the_same_program_started_again_finishes_a_run_that_was_killed(drivers: Drivers, effect: str) -> None:
    script = (
        calling(call("mark_once", text="before")),
        calling(call(f"stand_{effect}", until="go", name="x")),
        saying("finished"),
    )
    first, watcher, run_id = standing(drivers, *script)
    first.send(signal.SIGKILL)
    first.process.communicate()
    (drivers.workspace / "go").touch()
    second, model = successor(drivers, script)
    second.app.parts.models["scripted:polite"] = ScriptedModel([saying("hello to you")], model="polite")
    fresh = second.run("hello", options={"model": "scripted:polite"})
    (resumed,) = second.resume()
    assert (resumed.answer, resumed.run_id, resumed.status) == ("finished", run_id, RunStatus.DONE)
    assert (fresh.answer, fresh.session_id != resumed.session_id) == ("hello to you", True)
    assert drivers.lines("marks.log") == ["before"]
    assert drivers.lines("stood.log") == (["x"] if effect == "once" else ["x", "x"])
    (recovered,) = of(Recovered, events(watcher, run_id))
    assert (recovered.in_doubt, recovered.rerun) == ((("call_1_0",), ()) if effect == "once" else ((), ("call_1_0",)))
    msgspec.json.decode(recovered.by, type=ProcessIdentity)
    intent, finished = of(CallIntended, events(watcher, run_id))[1], of(CallFinished, events(watcher, run_id))[1]
    assert (intent.call_id, finished.call_id) == ("call_1_0", "call_1_0")
    text = '{"error":"interrupted; the effect may have happened; verify before repeating"}'
    assert finished.text == (text if effect == "once" else "x stood until go")
    assert len(of(RunFinished, events(watcher, run_id))) == 1
    assert len(model.bodies) == 1, "an answer that was journaled is never asked for again"


@pytest.mark.req("R2", "R9")
def test_the_prefix_and_the_transcript_are_the_same_after_a_kill(drivers: Drivers) -> None:
    script = (
        calling(call("mark_none", text="1"), text="first this"),
        calling(call("mark_none", text="2")),
        calling(call("stand_none", until="go", name="x")),
        saying("finished"),
    )
    first, watcher, run_id = standing(drivers, *script)
    first.send(signal.SIGKILL)
    first.process.communicate()
    (drivers.workspace / "go").touch()
    second, resumed = successor(drivers, [*script, saying("later")])
    second.resume()
    second.run("and then?", session=second.state.trace(run_id).session_id)
    assert resumed.bodies[1].startswith(resumed.bodies[0].removesuffix(b"]}") + b",")
    assert len(of(PrefixFrozen, events(watcher, run_id))) == 1
    alone = drivers.rig.agent(whole := Witness(script, model="script"), tools(drivers.workspace), name="other")
    alone.run("do it")
    assert resumed.systems[0] == whole.systems[-1]
    assert resumed.bodies[0] == whole.bodies[3]


@pytest.mark.req("R2")
def test_a_run_of_another_agent_is_left_alone(drivers: Drivers) -> None:
    script = (calling(call("stand_none", until="go", name="x")), saying("finished"))
    first, watcher, run_id = standing(drivers, *script, name="somebody")
    first.send(signal.SIGKILL)
    first.process.communicate()
    before = journal(watcher, run_id)
    other, _ = successor(drivers, [saying("mine")], name="somebody else")
    assert other.run("hello").answer == "mine"
    assert other.resume() == []
    assert journal(watcher, run_id) == before
    (drivers.workspace / "go").touch()
    own, _ = successor(drivers, script, name="somebody")
    assert [result.answer for result in own.resume()] == ["finished"]


@pytest.mark.req("R2")
def test_a_run_whose_driver_lives_is_left_alone(drivers: Drivers) -> None:
    script = (calling(call("stand_none", until="go", name="x")), saying("finished"))
    first, watcher, run_id = standing(drivers, *script)
    second, _ = successor(drivers, script)
    assert second.resume() == []
    assert {entry.epoch for entry in journal(watcher, run_id)} == {1}
    (drivers.workspace / "go").touch()
    assert first.answers() == [("finished", "done")]


@pytest.mark.req("R2")
def test_a_run_whose_model_is_gone_stays_open_and_that_is_said(drivers: Drivers) -> None:
    drivers.rig.configure(store={"lease_seconds": 0.5}, runtime={"heartbeat": 0.1})
    script = (calling(call("stand_none", until="go", name="x")), saying("finished"))
    first, watcher, run_id = standing(drivers, *script)
    first.send(signal.SIGKILL)
    first.process.communicate()
    (drivers.workspace / "go").touch()
    poor = drivers.rig.agent(Witness([saying("hi")], model="another"), tools(drivers.workspace), name="driver")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert poor.resume() == []
    (warning,) = [item for item in caught if issubclass(item.category, RuntimeWarning)]
    assert str(warning.message).startswith(f"run {run_id} cannot go on: cannot read the script 'script': ")
    assert poor.run("hello").answer == "hi"
    assert watcher.state.trace(run_id).outcome.status is RunStatus.OPEN
    log = [msgspec.json.decode(line) for line in (drivers.rig.home / "logs" / "hermes.log").read_bytes().splitlines()]
    assert [line["run"] for line in log if line["kind"] == "resume_failed"] == [run_id]
    time.sleep(0.6)
    session = watcher.state.trace(run_id).session_id
    with pytest.raises(HermesError, match="cannot read the script"):
        poor.run("go on", session=session)
    time.sleep(0.6)
    rich, _ = successor(drivers, [*script, saying("went on")])
    assert [result.answer for result in rich.resume()] == ["finished"]
    assert rich.run("go on now", session=session).answer == "went on"


@pytest.mark.req("R2")
def test_resuming_can_be_switched_off(drivers: Drivers) -> None:
    script = (calling(call("stand_none", until="go", name="x")), saying("finished"))
    first, watcher, run_id = standing(drivers, *script)
    first.send(signal.SIGKILL)
    first.process.communicate()
    drivers.rig.configure(runtime={"resume": "off"})
    before = journal(watcher, run_id)
    second, _ = successor(drivers, [saying("hello")])
    assert second.run("hello").answer == "hello"
    assert journal(watcher, run_id) == before


@pytest.mark.req("R2")
def test_a_repeated_call_has_its_old_key_and_knows_that_it_is_repeated(drivers: Drivers) -> None:
    def told(context: ToolContext, until: str = "", name: str = "") -> str:
        """Say what the context says."""
        return f"{context.idempotency_key.partition(':')[2]} {context.rerun}"

    script = (calling(call("stand_idempotent", until="go", name="x")), saying("finished"))
    first, watcher, run_id = standing(drivers, *script)
    first.send(signal.SIGKILL)
    first.process.communicate()
    telling = Tool("stand_idempotent", told, capabilities=[], effect="idempotent")
    drivers.rig.agent(list(script), [telling], name="driver").resume()
    (intent,), (done,) = of(CallIntended, events(watcher, run_id)), of(CallFinished, events(watcher, run_id))
    assert intent.key == f"{run_id}:call_0_0"
    assert done.text == "call_0_0 True"


@pytest.mark.req("R2", "R14")
def test_a_call_whose_arguments_held_a_secret_is_in_doubt_rather_than_run_with_something_else(
    drivers: Drivers,
) -> None:
    key = "sk-" + "q" * 40
    script = (
        calling(call("stand_idempotent", until="go", name=key), call("mark_idempotent", text=key)),
        saying("finished"),
    )
    first, watcher, run_id = standing(drivers, *script)
    first.send(signal.SIGKILL)
    first.process.communicate()
    (drivers.workspace / "go").touch()
    second, _ = successor(drivers, script)
    assert [result.answer for result in second.resume()] == ["finished"]
    assert results(watcher, run_id) == [
        ("call_0_0", "in_doubt", "in_doubt"),
        ("call_0_1", "interrupted", "interrupted"),
    ]
    assert drivers.lines("stood.log") == [key]
    assert drivers.lines("marks.log") == []


@pytest.mark.req("R2")
def test_local_agents_do_not_take_runs_from_each_other(local_rig: Rig) -> None:
    inside, go_on = threading.Event(), threading.Event()

    def hold() -> str:
        inside.set()
        go_on.wait(30)
        return "held"

    one = local_rig.agent(
        [calling(call("hold")), saying("one is done")], [Tool("hold", hold, capabilities=[], effect="once")]
    )
    answers: list[str] = []
    worker = threading.Thread(target=lambda: answers.append(one.run("hold").answer))
    worker.start()
    assert inside.wait(30)
    twin = local_rig.agent([saying("twin is done")])
    assert (twin.resume(), twin.run("hello").answer) == ([], "twin is done")
    go_on.set()
    worker.join()
    assert answers == ["one is done"]
