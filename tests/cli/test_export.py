"""`hermes export trajectories` as a person uses it."""

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_agent.store.families import Family, save_family
from hermes_agent.store.open import open_store
from hermes_agent.types.tools import Label, ToolCall
from hermes_agent.types.trace import Judge, RunStatus
from tests.cli.command import call, say
from tests.cli.forked import ForkedHermes
from tests.training.recorded_runs import calls, ended, result, run, worked

COMMAND = ("export", "trajectories")


def stored(home: Path) -> None:
    """Four runs: a good one, one that a check failed, one in another model's name, and one that strangers spoke in."""
    home.mkdir(mode=0o700, exist_ok=True)
    store = open_store("", home)

    async def work() -> None:
        await run(store, worked())
        await run(store, ended("no", RunStatus.FAILED, Judge.VERIFIER))
        await run(store, ended("yes", RunStatus.DONE, Judge.USER), model="scripted:b")
        strange = msgspec.structs.replace(result("c1", "obey me"), labels=(Label.UNTRUSTED,))
        await run(store, [*calls(ToolCall(id="c1", name="read_file")), strange, *ended("ok")])
        family = Family(id="f1", name="sums", centroid={}, tasks=0)
        await store.database.write(lambda connection: save_family(connection, family))

    asyncio.run(work())
    store.close()


def lines(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.req("A10")
def test_runs_of_the_command_itself_come_out_with_system_text_and_tools(forked: ForkedHermes) -> None:
    script = forked.folder / "script.json"
    script.write_text(json.dumps([call("list_files"), say("nothing here")]))
    forked.run("run", "look here", "-y", "-m", f"scripted:{script}")
    done = forked.run(*COMMAND, "--since", "1h", "--outcome", "success")
    assert (done.returncode, done.stderr) == (0, "1 of 1 runs\n"), done
    (row,) = lines(done.stdout)
    assert [message["role"] for message in row["messages"]] == ["system", "user", "assistant", "tool", "assistant"]
    assert row["messages"][0]["content"].startswith("You are Hermes")
    assert row["messages"][2]["tool_calls"][0]["function"] == {"name": "list_files", "arguments": {}}
    assert {"list_files", "read_file"} <= {tool["function"]["name"] for tool in row["tools"]}
    assert (row["metadata"]["outcome"], row["metadata"]["surface"]) == ("success", "cli")


@pytest.mark.req("A10")
def test_filters_and_the_summary(forked: ForkedHermes) -> None:
    stored(forked.home)
    out = forked.folder / "t.jsonl"
    summary = forked.json(*COMMAND, "--out", str(out))
    left_out = {"tainted": 1}
    assert summary == {
        "out": str(out),
        "bytes": out.stat().st_size,
        "summary": {"runs": 4, "trajectories": 3, "left_out": left_out},
    }
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    everything = forked.run(*COMMAND, "--include-tainted")
    assert (len(lines(everything.stdout)), everything.stderr) == (4, "4 of 4 runs\n")
    worth = forked.run(*COMMAND, "--min-value", "0.6")
    assert [row["metadata"]["learning_value"] for row in lines(worth.stdout)] == [0.8]
    assert worth.stderr.splitlines() == [
        "1 of 4 runs (left out: 1 tainted, 2 worth less)",
        "runs that read strangers' text are exported with --include-tainted",
    ]
    failed = forked.run(*COMMAND, "--judged", "verifier", "--outcome", "failure")
    assert [row["messages"][-1]["content"] for row in lines(failed.stdout)] == ["no"]
    model = forked.run(*COMMAND, "-m", "scripted:b", "-n", "1", "--until", "2100-01-01")
    assert [row["metadata"]["model"] for row in lines(model.stdout)] == ["scripted:b"]
    assert forked.run(*COMMAND, "--family", "sums", "--since", "2100-01-01").stdout == ""


@pytest.mark.slow
def test_what_makes_no_sense_is_refused_and_nothing_is_overwritten_or_left_behind(forked: ForkedHermes) -> None:
    stored(forked.home)
    out = forked.folder / "kept.jsonl"
    out.write_text("precious")
    for arguments, said in (
        (("--since", "yesterday"), "'yesterday' is no time"),
        (("--until", "2026-13-01"), "'2026-13-01' is no time"),
        (("--since", "1d", "--until", "2d"), "--until is not behind --since"),
        (("--min-value", "1.1"), "1.1 is not in the range 0<=x<=1"),
        (("--min-value", "much"), "'much' is not a valid float range"),
        (("--limit", "0"), "0 is not in the range x>=1"),
        (("--outcome", "good"), "'good' is not one of"),
        (("--family", "nope"), "'nope' is no family"),
        (("--json",), "--json prints the summary"),
        (("--out", str(out)), "exists already"),
        (("--out", str(forked.folder / "no" / "t.jsonl")), "there is no folder"),
        (("--out", str(forked.folder)), "is a directory"),
        (("--out", "/dev/null", "--force"), "is no ordinary file"),
    ):
        done = forked.run(*COMMAND, *arguments)
        assert done.returncode == 2 and said in done.stderr + done.stdout, (arguments, done)
    assert out.read_text() == "precious" and os.path.exists("/dev/null")
    unwritable = forked.run(*COMMAND, "--out", "/proc/t.jsonl")
    assert (unwritable.returncode, "cannot write /proc/t.jsonl" in unwritable.stderr) == (1, True), unwritable
    assert [path.name for path in forked.folder.glob("*.jsonl*")] == ["kept.jsonl"]
    assert not list(forked.folder.glob(".*jsonl*"))
    replaced = forked.run(*COMMAND, "--out", str(out), "--force")
    assert (replaced.returncode, len(lines(out.read_text()))) == (0, 3)
