"""Approval in a chat, the receipt of the last run, and what `hermes run` says about learning."""

import math
import time
from collections.abc import Sequence

import msgspec
import pytest

from hermes_agent.learning.guard import NOTIFY, Baseline, FamilyGuard, Watch
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
from hermes_agent.store.lessons import ascii_json
from hermes_agent.store.open import open_store
from hermes_agent.surfaces.cli.chat_commands import SlashCommands
from hermes_agent.surfaces.cli.chat_room import Room, Seat
from hermes_agent.surfaces.cli.console import Console
from hermes_agent.surfaces.cli.progress import Progress
from tests.cli.command import Hermes, say
from tests.harness.rig import Rig, rig, saying

__all__ = ["rig"]

FAMILY = "invoices"


def waiting(name: str, text: str = "`upload` failed 9 of 9 times right after `build`", model: str = "m") -> Heuristic:
    """A step that would be skipped if somebody said yes."""
    return Heuristic(
        id=name,
        kind=Kind.SKIP_STEP,
        model=model,
        family=FAMILY,
        subject="upload",
        condition=("after=build",),
        text=text,
        stage=Stage.AWAITING_APPROVAL,
        updated_at=time.time(),
    )


def line(name: str, text: str = "`upload` failed 9 of 9 times right after `build`") -> str:
    return f"waits for you: skip_step, {text}; /approve {name} or /reject {name}"


def add(hermes: Hermes, *found: Heuristic) -> None:
    store = open_store("", hermes.home)

    def unit(connection: Connection) -> None:
        for one in found:
            save_heuristic(connection, one)

    store.database.write_now(unit)
    store.close()


@pytest.mark.req("H10", "B3")
def test_what_waits_is_said_once_and_answered_in_the_chat(hermes: Hermes) -> None:
    hermes.home.mkdir()
    add(hermes, waiting("h1"))
    process = hermes.start("chat", "-m", hermes.script(say("first"), say("second")), stdin=True)
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(b"one\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"first\n"
    add(hermes, waiting("h2", "bad\x1b[2J\nnews"))
    rest = b"two\n/approve h1\n/approve h1\n/reject h2\n/approve h2\n/approve none\n/approve\n/why\n"
    out, err = process.communicate(rest, timeout=60)
    assert process.returncode == 0
    assert err.decode().splitlines() == [
        line("h1"),
        line("h2", "bad\\u{001b}[2J news"),
        "h1 is trusted now: `upload` failed 9 of 9 times right after `build`",
        "error: h1 is trusted, it does not wait for approval",
        "  try: nothing was changed; `hermes learning show --stage awaiting_approval` lists what does",
        "h2 is rejected: bad\\u{001b}[2J news",
        "error: h2 is rejected, it does not wait for approval",
        "  try: nothing was changed; `hermes learning show --stage awaiting_approval` lists what does",
        "error: 'none' is no heuristic",
        "  try: `hermes learning show` lists them",
        "nothing waits for approval",
    ]
    told = out.decode().splitlines()
    assert (told[0], told[2]) == ("second", "request: two") and "outcome: succeeded (inferred" in told[4]
    store = open_store("", hermes.home)
    stages = store.database.read_now(lambda connection: connection.run("SELECT id, stage FROM heuristics ORDER BY id"))
    causes = store.database.read_now(
        lambda connection: connection.run("SELECT cause FROM heuristic_audit ORDER BY seq")
    )
    store.close()
    assert [tuple(row) for row in stages] == [("h1", "trusted"), ("h2", "rejected")]
    assert [row[0] for row in causes] == ["approved by the user in a chat", "rejected by the user in a chat"]


@pytest.mark.req("H10")
def test_many_that_wait_do_not_flood_the_chat(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    rig.configure(learning={"mode": "on"})
    agent = rig.agent([saying("ok")])

    def unit(connection: Connection) -> None:
        for number in range(5):
            save_heuristic(connection, msgspec.structs.replace(waiting(f"h{number}"), updated_at=10.0 - number))

    agent.app.store.database.write_now(unit)

    async def talk() -> None:
        console = Console()
        room = Room(agent.app, Seat(model="scripted:script"), console, Progress(console, stream=False))
        commands = SlashCommands(room)
        await room.checkpoints.tell()
        await room.checkpoints.tell()
        for said in ("/why", "/reject", "/approve h1 nonsense", "/reject h1 h1 h2", "/approve h0 h1", "/approve"):
            await commands.run(said)

    agent.wait(talk())
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [
        *(line(f"h{number}") for number in range(3)),
        "2 more wait for you: /approve lists them",
        "error: nothing was answered yet",
        "error: something is missing",
        "  try: /reject ID",
        "error: 'nonsense' is no heuristic",
        "  try: `hermes learning show` lists them",
        *(f"h{number} is rejected: `upload` failed 9 of 9 times right after `build`" for number in (1, 2)),
        "error: h1 is rejected, it does not wait for approval",
        "  try: nothing was changed; `hermes learning show --stage awaiting_approval` lists what does",
    ]
    assert shown.out.splitlines() == [line(name) for name in ("h0", "h3", "h4")]


def suspect(hermes: Hermes, known: Sequence[Heuristic]) -> None:
    """Let these act, in a family whose next failure makes the guard speak."""
    store = open_store("", hermes.home)

    def unit(connection: Connection) -> None:
        version = activate_members(connection, [one.id for one in known], "taught", "r1", 5.0)
        for one in known:
            save_heuristic(connection, one)
            entry = AuditEntry(
                seq=0,
                heuristic_id=one.id,
                kind=one.kind.value,
                model=one.model,
                family=one.family,
                was="candidate",
                became="trusted",
                cause="it failed",
                run_id="r1",
                evidence={},
                set_version=version,
                at=5.0,
            )
            add_audit(connection, entry)
        watch = Watch(floor=0.7, logs=(math.log(NOTIFY * 0.9),) * 3, tasks=5, successes=2)
        guard = FamilyGuard(baseline=Baseline(successes=24, tasks=30), version=version, watching=watch)
        connection.run(
            "INSERT INTO watches (family, model, watching, payload) VALUES (?, ?, 1, ?)",
            (FAMILY, known[0].model, ascii_json(guard)),
        )

    store.database.write_now(unit)
    store.close()


@pytest.mark.req("H9", "B3")
def test_run_says_what_was_applied_and_what_the_guard_noticed(hermes: Hermes) -> None:
    hermes.home.mkdir()
    (hermes.home / "config.yaml").write_text("learning: {explore: 0.0}\nskills: {mode: off}\n")
    model = hermes.script(say("done"))
    hint = msgspec.structs.replace(waiting("h3", model=model), kind=Kind.HINT, stage=Stage.TRUSTED, condition=())
    suspect(hermes, [hint])
    done = hermes.run("run", "sum them", "-m", model, "--family", FAMILY, "--check", "exit 1")
    run = hermes.json("why")["run"]
    assert done.stderr.splitlines() == [
        "checking: exit 1",
        f"{FAMILY}: success is below its baseline; half of its runs now go without what was learned",
        "check failed: [exit code 1]",
        f"learned: 1 applied, 0 withheld; hermes why {run}",
    ]
    quiet = hermes.run("run", "sum them", "-m", model, "--family", FAMILY, "-q")
    assert (quiet.stdout, quiet.stderr) == ("done\n", "")
