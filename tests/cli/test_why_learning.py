"""The receipt of a run that was advised: every part of it, on both databases, and as a person reads it."""

import contextlib
import os
import pty
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from hermes_agent.agent import Agent
from hermes_agent.learning.observe import ErrorRecovery, Observed
from hermes_agent.learning.standing import coin
from hermes_agent.store.database import Connection
from hermes_agent.store.heuristics import (
    AuditEntry,
    Heuristic,
    Kind,
    Stage,
    activate_members,
    add_audit,
    save_heuristic,
)
from hermes_agent.surfaces.cli.console import Console
from hermes_agent.surfaces.cli.why_ending import Ending, Said
from hermes_agent.surfaces.cli.why_learning import (
    AdviceLine,
    Backing,
    Part,
    Replanned,
    Steered,
    Told,
    counted,
    learned_line,
)
from hermes_agent.surfaces.cli.why_page import Page
from hermes_agent.surfaces.cli.why_receipt import Receipt, receipt_of
from hermes_agent.tools.tool import Tool
from hermes_agent.types.tools import ToolResult
from tests.harness.rig import Rig, call, calling, rig, saying

__all__ = ["rig"]

MODEL, FAMILY = "scripted:script", "invoices"
PARSE_FAILS = "`parse` failed 9 of 9 times in tasks like this"
FUTILE = "trying `fetch` again after busy helped 0 of 8 times"
MENDED = "after `parse` failed with encoding, this worked 8 of 8 times"
EVIDENCE = {"worked": 0, "failed": 9, "traces": 9, "sessions": 2}
SEED = next(number for number in range(100) if coin(str(number), "hworkflow") >= 0.5)
"""A seed whose coin leaves the workflow aside."""


def parse(path: str) -> ToolResult:
    """Read a table."""
    return ToolResult(ok=False, text="cannot decode", error="encoding")


def fetch(name: str) -> ToolResult:
    """Get something."""
    return ToolResult(ok=False, text="come back later", error="busy", transient=True)


TOOLS = tuple(Tool(one.__name__, one, capabilities=[], effect="none") for one in (parse, fetch))


def heuristic(name: str, kind: Kind, subject: str, text: str, **more: Any) -> Heuristic:
    """Something that acts in the family, with the same evidence."""
    known = Heuristic(id=name, kind=kind, model=MODEL, family=FAMILY, subject=subject, text=text)
    trusted = {"stage": Stage.TRUSTED, "confidence": 0.97, "evidence": EVIDENCE}
    return msgspec.structs.replace(known, **{**trusted, **more})


KNOWN = (
    heuristic("havoid", Kind.AVOID_TOOL, "parse", PARSE_FAILS, better="load"),
    heuristic("hfutile", Kind.FUTILE_RETRY, "fetch:busy", FUTILE),
    heuristic("hrepair", Kind.REPAIR, "parse:encoding", MENDED, better="load"),
    heuristic("hworkflow", Kind.WORKFLOW, "plan:x", "load > write", stage=Stage.PROBATION, detail={"steps": ["load"]}),
)


def teach(agent: Agent, known: Sequence[Heuristic], at: float = 5.0) -> int:
    """Let these act, as if run r1 had brought each of them out."""

    def unit(connection: Connection) -> int:
        version = activate_members(connection, [one.id for one in known], "taught", "r1", at)
        for one in known:
            save_heuristic(connection, one)
            for number, (was, became) in enumerate((("", "candidate"), ("candidate", one.stage.value))):
                entry = AuditEntry(
                    seq=0,
                    heuristic_id=one.id,
                    kind=one.kind.value,
                    model=one.model,
                    family=one.family,
                    was=was,
                    became=became,
                    cause=f"{one.text} ({number})",
                    run_id="r1",
                    evidence={"failed": 7 + number},
                    set_version=version if number else 0,
                    at=at + number,
                )
                add_audit(connection, entry)
        return version

    return agent.app.store.database.write_now(unit)


def receipt(agent: Agent, run_id: str) -> Receipt:
    async def made() -> Receipt:
        return await receipt_of(agent.app, await agent.app.store.runs.get(run_id))

    return agent.wait(made())


def line(name: str, kind: str, text: str, call_id: str = "", **more: Any) -> AdviceLine:
    found = AdviceLine(id=name, kind=kind, text=text, applied=True, propensity=1.0, call=call_id, tool="")
    return msgspec.structs.replace(found, **more)


def backing(one: Heuristic) -> Backing:
    return Backing(
        id=one.id,
        stage=one.stage.value,
        confidence=0.97,
        evidence=dict(EVIDENCE),
        source="learned",
        acts_since=6.0,
        cause=f"{one.text} (1)",
        after_run="r1",
        evidence_then={"failed": 8},
    )


@pytest.mark.req("B3", "H6")
def test_a_receipt_tells_everything(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    rig.configure(learning={"mode": "on", "explore": 0.0})
    turns = [
        calling(call("parse", path="a.csv")),
        calling(call("parse", path="a.csv")),
        calling(call("fetch", name="x")),
        saying("done"),
    ]
    agent = rig.agent(turns, tools=TOOLS)
    version = teach(agent, KNOWN)
    result = agent.run("sum the invoices", options={"family": FAMILY, "seed": SEED}, check=lambda given: True)
    agent.judge(result.run_id, success=False, reason="wrong total")
    found = receipt(agent, result.run_id)
    avoid, futile, repair, workflow = KNOWN
    hint = f"avoid `parse`: {PARSE_FAILS}; use `load`."
    steer = f"{PARSE_FAILS}. Use load instead. Make the same call again to insist."
    assert found.learning == Part(
        family=FAMILY,
        family_name=FAMILY,
        family_from="caller",
        set_version=version,
        pinned=False,
        seed=SEED,
        taught="learned",
        hints=(hint,),
        behind=("parse",),
        advice=(
            line("havoid", "avoid_tool", PARSE_FAILS),
            line("hworkflow", "workflow", "load > write", applied=False, propensity=0.5),
            line("havoid", "avoid_tool", PARSE_FAILS, "call_0_0", tool="parse"),
            line("hrepair", "repair", MENDED, "call_1_0", tool="parse"),
            line("hfutile", "futile_retry", FUTILE, "call_2_0", tool="fetch"),
        ),
        backing=tuple(map(backing, (avoid, workflow, repair, futile))),
        steered=(Steered(call="call_0_0", tool="parse", reason=steer, insisted=True),),
        futile=(Told(call="call_2_0", tool="fetch", text="fetch: busy: known to be futile here"),),
        repairs=(Told(call="call_1_0", tool="parse", text=f"{MENDED}: use `load`."),),
    )
    times = [said.at for said in found.ending.said]
    assert found.ending == Ending(
        status="done",
        success=False,
        judged_by="user",
        reason="wrong total",
        said=(
            Said(by="check", success=True, reason=found.ending.said[0].reason, at=times[0]),
            Said(by="user", success=False, reason="wrong total", at=times[1]),
        ),
    )
    assert (found.cost.model_calls, found.cost.failed, found.model) == (4, 0, MODEL)
    assert counted(agent.wait(agent.app.store.journal.run_events(result.run_id))) == (3, 1)
    Page(Console()).show(found)
    shown = capsys.readouterr().out.splitlines()
    begin = shown.index("learned before, and what it did here")
    assert shown[3] == "outcome: failed, says the user: wrong total"
    assert shown[4].startswith("  said before: its check, ") and ": good" in shown[4]
    assert shown[5].startswith("cost: 4 model calls; ")
    assert shown[begin + 1] == f"  family invoices (named by whoever asked), set 1, coins drawn from seed {SEED}"
    assert shown[begin + 2 : begin + 6] == [
        "  applied  avoid_tool havoid: always",
        f"    {PARSE_FAILS}",
        "    at: the start, parse (call_0_0)",
        "    stands now: trusted, 97% sure; failed 9 of 9, traces 9, sessions 2",
    ]
    assert shown[begin + 6].endswith(f" after run r1: {PARSE_FAILS} (1)")
    withheld = shown.index(
        "  withheld  workflow hworkflow: left aside by a coin in 50% of such runs, to see whether it still holds"
    )
    assert shown[withheld + 5 :][:5] == [
        f"  told the model: {hint}",
        "  put behind the other tools: parse",
        f"  steered away from parse (call_0_0): {steer} the model insisted, and it ran",
        "  not tried again: fetch: busy: known to be futile here (call_2_0)",
        f"  told after parse failed (call_1_0): {MENDED}: use `load`.",
    ]
    assert "skip fetch (failure): fetch: busy: known to be futile here" in shown


@pytest.mark.req("L2", "B3")
def test_what_a_run_was_worth_against_those_before_it(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    """The second run meets a failure that is known by then and takes one call more than the first; the first is still
    compared with what was before it."""

    def load(path: str) -> ToolResult:
        """Read a table."""
        return ToolResult(text="1,2") if path == "b.csv" else ToolResult(ok=False, text="no", error="encoding")

    rig.configure(learning={"mode": "on", "explore": 0.0})
    short = [calling(call("load", path="a.csv")), calling(call("load", path="b.csv")), saying("done")]
    agent = rig.agent([*short, short[0], *short], tools=[Tool("load", load, capabilities=[], effect="none")])
    first, second = (agent.run("sum up b.csv", options={"family": FAMILY}).run_id for _ in range(2))
    worth = receipt(agent, first).worth
    assert worth == Observed(
        success=True,
        efficiency_score=1.0,
        error_recovery=ErrorRecovery(errors=1, recovered=1, new_pitfalls=("load:encoding",)),
        learning_value=0.8,
        key_insights=(
            "new: load fails with encoding",
            "after load:encoding, load worked with changed path",
            "first way that worked: load",
        ),
    )
    found = receipt(agent, second)
    assert found.worth is not None and 0.375 <= found.worth.efficiency_score <= 0.875
    assert found.worth.error_recovery == ErrorRecovery(errors=2, recovered=2)
    assert msgspec.json.decode(msgspec.json.encode(found))["worth"]["error_recovery"]["recovered"] == 2
    Page(Console()).show(found)
    shown = capsys.readouterr().out.splitlines()
    begin = shown.index("what this run was worth")
    assert shown[begin + 1 : begin + 5] == [
        f"  efficiency: {found.worth.efficiency_score:.0%} of the best in its family before it",
        "  errors recovered: 2 of 2",
        "  learning value: 80%",
        "  insight: after load:encoding, load worked with changed path",
    ]


@pytest.mark.req("L2")
def test_a_run_that_nobody_learned_from_has_its_worth_too(rig: Rig) -> None:
    rig.configure(learning={"mode": "off"})
    agent = rig.agent([saying("hi")])
    assert receipt(agent, agent.run("hello").run_id).worth == Observed(
        success=True,
        efficiency_score=1.0,
        error_recovery=ErrorRecovery(),
        learning_value=0.4,
        key_insights=(),
    )


def shown_on_terminal(found: Receipt) -> list[str]:
    """What a terminal of eighty columns gets."""
    ours, theirs = pty.openpty()
    console = Console()
    with os.fdopen(theirs, "w") as writer:
        console.out = writer
        Page(console).show(found)
        writer.flush()
        os.set_blocking(ours, False)
        raw = b""
        with contextlib.suppress(BlockingIOError):
            while True:
                raw += os.read(ours, 65_536)
    os.close(ours)
    return raw.decode().replace("\r", "").splitlines()


@pytest.mark.req("B3")
def test_hostile_texts_and_a_narrow_terminal(rig: Rig) -> None:
    rig.configure(learning={"mode": "on", "explore": 0.0})
    agent = rig.agent([saying("ok")])
    nasty = "\x1b]0;owned\x07 use\nthis \u202e now " + "very long " * 30
    plan = heuristic("hplan", Kind.WORKFLOW, "plan:y", nasty, detail={"steps": ["load a", "write\x1b[2J b"]})
    taught = teach(agent, [plan])
    seed = next(number for number in range(100) if coin(str(number), "holdout") < 0.9)
    run = agent.run("do \x1b[31mit", options={"seed": seed, "pin": taught, "family": FAMILY}).run_id
    agent.app.store.database.write_now(lambda connection: connection.run("DELETE FROM heuristics"))
    found = receipt(agent, run)
    assert found.learning.plans == (
        Replanned(steps=("load a", "write\x1b[2J b"), reason="a workflow learned from earlier runs"),
    )
    assert (found.learning.pinned, [one.stage for one in found.learning.backing]) == (True, ["gone"])
    lines = shown_on_terminal(found)
    assert max(map(len, lines)) <= 80 and not any(char in "".join(lines) for char in "\x1b\x07\u202e")
    assert "    it was taken out since" in lines
    assert f"  family invoices (named by whoever asked), set 1 (pinned), coins drawn from seed {seed}"[
        :70
    ] in "\n".join(lines)


def test_a_run_before_anything_was_learned(rig: Rig) -> None:
    rig.configure(learning={"mode": "on"})
    agent = rig.agent([saying("hi")])
    run = agent.run("rename the pictures by date").run_id
    part = receipt(agent, run).learning
    assert part == Part(
        family=part.family,
        family_name=part.family_name,
        family_from="wording",
        set_version=0,
        pinned=False,
        seed=None,
        taught="learned",
    )
    assert part.family_name != part.family and "pictures" in part.family_name
    assert learned_line(agent.wait(agent.app.store.journal.run_events(run)), "x") == ""
