"""Background commands and crashes of the agent, in each sandbox: nothing is lost sight of, nothing stays behind."""

import asyncio
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.tools.sandbox.identity import end_group, is_alive
from hermes_agent.types.tools import Spawned, ToolResult
from tests.tools.context import appears
from tests.tools.sandbox.conftest import Bench, Making, need
from tests.tools.sandbox.stage import orphans, settles

ROOT = Path(__file__).resolve().parents[3]
AGENT = """
import asyncio, os, signal, sys
from pathlib import Path
import msgspec
from hermes_agent.config.settings import SandboxSettings
from hermes_agent.store.blobs import BlobFolder
from hermes_agent.tools.processes import ProcessTable
from hermes_agent.tools.sandbox.bubblewrap import Bubblewrap
from hermes_agent.tools.sandbox.landlock import Landlock

folder, kind, how, mark = Path(sys.argv[1]), *sys.argv[2:]
sandbox = (Bubblewrap if kind == "bubblewrap" else Landlock)(SandboxSettings(), {})
workspace = folder / "workspace"
workspace.mkdir(exist_ok=True)
table = ProcessTable(sandbox, folder / "processes", BlobFolder(folder / "blobs"), workspace)

async def announce(spawned):
    (folder / "journal").write_bytes(msgspec.json.encode(spawned))

async def main():
    processes = table.for_call(announce)
    if how == "start":
        await processes.start(f": {mark}; echo > began; read line; echo got $line; exit 7", directory=workspace)
        while not (workspace / "began").exists():
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGKILL)
    await processes.run(f": {mark}; echo > began; setsid sleep 60 & sleep 60", directory=workspace, timeout=60)

asyncio.run(main())
"""


def without_pid(result: ToolResult) -> ToolResult:
    return msgspec.structs.replace(result, text=re.sub(r"pid \d+", "pid N", result.text))


@pytest.mark.req("R3")
def test_start_write_wait_kill(confined: Making) -> None:
    bench = confined(SandboxSettings())
    processes = bench.processes

    async def story() -> list[ToolResult]:
        results = [await processes.start("read name; echo hello $name; exit 4", directory=bench.workspace)]
        results += [await processes.write("p1", "you"), await processes.wait("p1", 20)]
        await processes.start(
            "trap 'echo asked > asked; exit 5' TERM; echo > ready; while :; do sleep 0.05; done",
            directory=bench.workspace,
        )
        await appears(bench.workspace / "ready")
        return [*results, await processes.kill("p2"), await processes.list()]

    started, written, waited, _, listed = asyncio.run(story())
    assert without_pid(started) == ToolResult(text="[p1 running (pid N)]")
    assert written == ToolResult(text="wrote 4 bytes to p1; poll shows what it answers")
    assert waited == ToolResult(ok=False, error="exit_4", text="[p1 ended with exit code 4]\nhello you\n")
    assert "running" not in listed.text
    assert (bench.workspace / "asked").read_text() == "asked\n"
    assert [is_alive(spawned.identity) for spawned in bench.spawned] == [False, False]


@pytest.mark.req("R3", "R14")
def test_a_background_command_outlives_the_agent_and_is_found_again(tmp_path: Path, confined: Making) -> None:
    bench = confined(SandboxSettings())
    kind = bench.sandbox.name
    mark = f"/{os.urandom(8).hex()}"
    died = subprocess.run([sys.executable, "-c", AGENT, str(tmp_path), kind, "start", mark], cwd=ROOT, check=False)
    assert died.returncode == -signal.SIGKILL
    spawned = msgspec.json.decode((tmp_path / "journal").read_bytes(), type=Spawned)

    async def story() -> list[ToolResult]:
        assert bench.table.adopt(spawned)
        await bench.processes.write("p1", "across")
        return [await bench.processes.wait("p1", 20)]

    assert asyncio.run(story()) == [
        ToolResult(ok=False, error="exit_7", text="[p1 ended with exit code 7]\ngot across\n")
    ]
    assert asyncio.run(settles(mark)) == []


@pytest.mark.req("R3", "R14")
@pytest.mark.parametrize("kind", ["bubblewrap", "landlock"])
@pytest.mark.parametrize("how", ["run", "start"])
def test_an_orphan_is_ended_with_everything_it_started(tmp_path: Path, kind: str, how: str) -> None:
    need(kind, {})
    mark = f"/{os.urandom(8).hex()}"
    agent = subprocess.Popen([sys.executable, "-c", AGENT, str(tmp_path), kind, how, mark], cwd=ROOT)
    asyncio.run(appears(tmp_path / "workspace" / "began"))
    agent.kill()
    agent.wait()
    spawned = msgspec.json.decode((tmp_path / "journal").read_bytes(), type=Spawned)
    if (kind, how) == ("bubblewrap", "run"):
        assert asyncio.run(settles(mark)) == []
        return
    assert orphans(mark)
    assert asyncio.run(end_group(spawned.identity, 0.2))
    assert asyncio.run(settles(mark)) == []


def test_when_the_keeper_dies_its_command_does_too(bubblewrap: Making) -> None:
    bench, mark = bubblewrap(SandboxSettings()), f"/{os.urandom(8).hex()}"

    async def story() -> Bench:
        await bench.processes.start(
            f": {mark}; echo > began; trap '' TERM HUP; sleep 60; sleep 60", directory=bench.workspace
        )
        await appears(bench.workspace / "began")
        return bench

    asyncio.run(story())
    os.kill(bench.spawned[0].identity.pid, signal.SIGKILL)
    assert asyncio.run(settles(mark)) == []
