"""Foreground commands: what they give back, how they are bounded, how they end."""

import asyncio
import os
import time
from pathlib import Path

import psutil
import pytest

from hermes_agent.store.blobs import BlobFolder
from hermes_agent.tools.processes import ProcessLimits, ProcessTable
from hermes_agent.tools.sandbox.direct import Direct
from hermes_agent.tools.sandbox.identity import is_alive
from hermes_agent.tools.sandbox.output import Capture, OutputLimits
from hermes_agent.types.errors import LeaseLost
from hermes_agent.types.tools import Spawned, ToolResult
from tests.tools.context import ENVIRONMENT, Context, appears, gone

QUICK = ProcessLimits(grace=0.3)


def ran(context: Context, command: str, timeout: float = 20, stdin: str = "") -> ToolResult:
    return asyncio.run(context.processes.run(command, directory=context.workspace, timeout=timeout, stdin=stdin))


def test_output_exit_code_and_signals(tmp_path: Path) -> None:
    context = Context(tmp_path)
    results = [
        ran(context, command)
        for command in (
            "echo out; echo err >&2; echo out",
            "true",
            "echo why; exit 3",
            "kill -9 $$",
            "no_such_command_x",
        )
    ]
    assert results[:4] == [
        ToolResult(text="out\nerr\nout"),
        ToolResult(text="(no output)"),
        ToolResult(ok=False, error="exit_3", text="why\n[exit code 3]"),
        ToolResult(ok=False, error="signal_9", text="[ended by signal 9]"),
    ]
    assert results[4].error == "exit_127"
    assert "no_such_command_x" in results[4].text


def test_input_folder_and_an_environment_without_keys(tmp_path: Path) -> None:
    context = Context(tmp_path)
    (context.workspace / "sub").mkdir()
    assert ran(context, "cat; cat", stdin="given\n") == ToolResult(text="given")
    assert ran(context, "cat") == ToolResult(text="(no output)")
    sub = asyncio.run(context.processes.run("pwd", directory=context.workspace / "sub", timeout=9))
    assert sub.text == str(context.workspace / "sub")
    assert "sk-" not in ran(context, "env").text
    assert ran(context, "echo $HOME").text == "/nowhere"
    missing = asyncio.run(context.processes.run("pwd", directory=context.workspace / "none", timeout=9))
    assert missing == ToolResult(ok=False, error="not_found", text="there is no folder 'none' to run in")
    assert os.listdir(context.table.folder) == []


def test_a_command_of_any_length_and_kind_gives_a_result(tmp_path: Path) -> None:
    context = Context(tmp_path)
    assert ran(context, "echo " + "x" * 200_000).error == "too_long"
    assert ran(context, "echo 'unbalanced").error == "exit_2"
    assert ran(context, "echo \0").error == "invalid"
    assert ran(context, "printf '\\377\\000\\n'").text == "\ufffd\0"
    assert ran(context, "# only a comment").ok


@pytest.mark.req("R14")
def test_a_hundred_megabytes_fill_neither_memory_nor_disk(tmp_path: Path) -> None:
    context = Context(tmp_path, limits=ProcessLimits(output=OutputLimits(shown=3_000, kept=1 << 20)))
    before = psutil.Process().memory_info().rss
    result = ran(context, "echo first; head -c 100000000 /dev/zero | tr '\\0' x; echo; echo last", timeout=120)
    assert psutil.Process().memory_info().rss - before < 20 << 20
    assert result.ok
    assert result.text.startswith("first\nxxx")
    assert result.text.endswith("xxx\nlast")
    assert len(result.text) < 3_300
    assert "only the first 1048576 bytes were kept" in result.text
    assert f"read_file(path='blob:{result.blob[:16]}')" in result.text
    assert context.blobs.path(result.blob).stat().st_size == 1 << 20
    assert os.listdir(context.table.folder) == []


@pytest.mark.parametrize("size", [299, 300, 301, 450, 100_000])
def test_head_and_tail_of_an_output_are_its_own(tmp_path: Path, size: int) -> None:
    context = Context(tmp_path, limits=ProcessLimits(output=OutputLimits(shown=300)))
    whole = "".join(f"{number:09d}\n" for number in range(size // 10 + 1))[:size]
    (context.workspace / "data").write_text(whole)
    result = ran(context, "cat data")
    if size <= 300:
        assert result == ToolResult(text=whole.rstrip("\n"))
        return
    head, _, rest = result.text.partition("\n[… ")
    assert head == whole[:200]
    assert rest.partition(" bytes left out")[0] == str(size - 300)
    assert rest.partition("…]\n")[2] == whole[-100:].rstrip("\n")
    assert context.blobs.get(result.blob).decode() == whole


@pytest.mark.req("R14")
def test_a_command_that_ignores_being_asked_is_ended_by_force(tmp_path: Path) -> None:
    context = Context(tmp_path, limits=QUICK)
    result = ran(context, "trap '' TERM; echo $$; echo $BASHPID; sleep 60 & wait; sleep 60", timeout=0.5)
    pid = int(result.text.split()[0])
    assert (result.ok, result.error) == (False, "timeout")
    assert result.text.endswith(
        "[ended after 0.5 s without finishing; give a longer timeout or run it with background=true]"
    )
    assert gone(pid)
    assert not is_alive(context.journal.spawned[0].identity)


@pytest.mark.req("R14")
@pytest.mark.parametrize("detach", ["setsid sh -c", "env -i setsid sh -c", "nohup setsid -f sh -c"])
def test_a_daemon_in_a_session_of_its_own_is_ended_at_the_time_out(tmp_path: Path, detach: str) -> None:
    context = Context(tmp_path, limits=QUICK)
    command = f"{detach} 'echo $$ > {context.workspace}/pid; exec sleep 60' & sleep 60"
    assert ran(context, command, timeout=1).error == "timeout"
    assert gone(int((context.workspace / "pid").read_text()))


def test_what_a_finished_command_left_behind_is_ended_and_said(tmp_path: Path) -> None:
    context = Context(tmp_path)
    began = time.monotonic()
    result = ran(context, "sleep 60 & echo $!", timeout=50)
    assert time.monotonic() - began < 20
    pid = int(result.text.split()[0])
    assert result.text == (f"{pid}\n[processes it left behind were ended; start what should stay with background=true]")
    assert gone(pid)


@pytest.mark.req("R14")
def test_cancelling_ends_the_group_and_is_passed_on(tmp_path: Path) -> None:
    context = Context(tmp_path, limits=QUICK)

    async def cancelled() -> None:
        running = asyncio.ensure_future(
            context.processes.run("echo $$ > pid; sleep 60", directory=context.workspace, timeout=60)
        )
        await appears(context.workspace / "pid")
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running

    asyncio.run(cancelled())
    assert gone(int((context.workspace / "pid").read_text()))
    assert os.listdir(context.table.folder) == []


@pytest.mark.req("R14")
def test_nothing_runs_that_could_not_be_journaled(tmp_path: Path) -> None:
    context = Context(tmp_path)
    seen: list[Spawned] = []

    async def refuse(spawned: Spawned) -> None:
        seen.append(spawned)
        assert is_alive(spawned.identity)
        raise LeaseLost("another process took over")

    processes = context.table.for_call(refuse)
    with pytest.raises(LeaseLost):
        asyncio.run(processes.run("touch ran", directory=context.workspace, timeout=9))
    with pytest.raises(LeaseLost):
        asyncio.run(processes.start("touch ran", directory=context.workspace))
    assert [is_alive(spawned.identity) for spawned in seen] == [False, False]
    assert os.listdir(context.workspace) == []
    assert os.listdir(context.table.folder) == []


def test_what_is_announced(tmp_path: Path) -> None:
    context = Context(tmp_path)
    ran(context, "echo $$")
    (spawned,) = context.journal.spawned
    assert spawned == Spawned(process=spawned.process, identity=spawned.identity, command="echo $$")
    assert spawned.identity.pid == spawned.identity.group
    assert spawned.identity.mark == spawned.process


def test_many_commands_at_once(tmp_path: Path) -> None:
    context = Context(tmp_path)

    async def many() -> list[str]:
        runs = (context.processes.run(f"echo {n}", directory=context.workspace, timeout=30) for n in range(24))
        return [result.text for result in await asyncio.gather(*runs)]

    assert asyncio.run(many()) == [str(n) for n in range(24)]


def test_output_that_finds_the_disk_full_is_cut_and_said(tmp_path: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    (tmp_path / "spill").symlink_to("/dev/full")
    capture = Capture(tmp_path / "spill", OutputLimits(shown=30))
    for _ in range(1000):
        capture.feed(b"0123456789" * 100)
    text, digest = capture.finish(BlobFolder(tmp_path / "blobs"))
    capture.discard()
    why = "the output could not be kept: No space left on device"
    assert (text, digest) == (f"{'0123456789' * 2}\n[… 999970 bytes left out; {why} …]\n0123456789", "")
    assert os.listdir(tmp_path) == []


def test_limits_of_the_shell(tmp_path: Path) -> None:
    context = Context(tmp_path)
    direct = Direct(ENVIRONMENT, cpu_seconds=1, file_bytes=1 << 20)
    small = ProcessTable(direct, tmp_path / "small", context.blobs, context.workspace)
    processes = small.for_call(context.journal.announce)
    written = asyncio.run(processes.run("head -c 9000000 /dev/zero > big", directory=context.workspace, timeout=20))
    assert not written.ok
    assert (context.workspace / "big").stat().st_size == 1 << 20
    spun = asyncio.run(processes.run("while :; do :; done", directory=context.workspace, timeout=30))
    assert spun.error in ("signal_24", "signal_9")
