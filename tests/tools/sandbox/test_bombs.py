"""Commands that mean to take the machine or the agent down with them: both go on as if nothing had happened."""

import asyncio
import os
import subprocess
import time
from uuid import uuid4

import psutil
import pytest

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.tools.sandbox.cgroup import places, sweep
from tests.tools.sandbox.conftest import Making
from tests.tools.sandbox.stage import settles

SMALL = SandboxSettings(memory_mb=192, processes=48, cpu_seconds=20, file_mb=4)

FORK_BOMB = """
import os, time
mark, made = "{mark}", 0
try:
    while made < 5000:
        if os.fork() == 0:
            time.sleep(60)
        made += 1
except OSError:
    pass
print("made", made, flush=True)
time.sleep(60)
"""


@pytest.mark.req("R3")
def test_a_fork_bomb_stops_at_the_limit_and_is_swept_away(confined: Making) -> None:
    bench, mark = confined(SMALL), uuid4().hex
    (bench.workspace / f"{mark}.py").write_text(FORK_BOMB.format(mark=mark))
    result = bench.run(f"exec python3 -I -S {mark}.py", timeout=1.5)
    assert result.error == "timeout"
    made = int(result.text.split()[1])
    assert 10 < made < 60
    assert asyncio.run(settles(mark)) == []
    assert bench.run("echo still here").text == "still here"


@pytest.mark.slow
def test_the_classic_one(confined: Making) -> None:
    bench, mark = confined(SMALL), f"bomb{uuid4().hex}"
    before = len(psutil.pids())
    bench.run(f"{mark}() {{ {mark} | {mark} & }}; {mark}; sleep 2; wait", timeout=1.5)
    assert asyncio.run(settles(mark)) == []
    assert len(psutil.pids()) < before + 48
    assert bench.run("echo still here").text == "still here"


MEMORY_BOMBS = {
    "pieces": "held = [bytearray(16 << 20) for _ in range(64)]",
    "map": "import mmap; held = mmap.mmap(-1, 1 << 30, flags=34); held.write(b'x' * (1 << 30))",
    "doubling": "held = b'x'\nwhile len(held) < 1 << 30: held += held",
}
TOGETHER = """
import os, time
children = []
for _ in range(8):
    if not (child := os.fork()):
        held = bytearray(100 << 20)
        time.sleep(1)
        os._exit(0)
    children.append(child)
print("had it" if not any(os.waitpid(child, 0)[1] for child in children) else "did not")
"""
SHARED = """
import mmap
held = mmap.mmap(-1, 1 << 29)
for _ in range(512):
    held.write(b"x" * (1 << 20))
print("had", "it")
"""


@pytest.mark.req("R3")
@pytest.mark.parametrize("code", MEMORY_BOMBS.values(), ids=MEMORY_BOMBS.keys())
def test_a_memory_bomb_ends_alone(confined: Making, code: str) -> None:
    bench = confined(SMALL)
    before = psutil.Process().memory_info().rss
    result = bench.python(code + "\nprint('had it')")
    assert not result.ok
    assert "had it" not in result.text
    assert psutil.Process().memory_info().rss - before < 50 << 20
    assert bench.run("echo still here").text == "still here"


@pytest.mark.skipif(
    not any("memory" in files for files in places().values()), reason="no control groups can be made here"
)
@pytest.mark.parametrize("code", [TOGETHER, SHARED], ids=["together", "shared"])
def test_a_control_group_bounds_all_processes_together(confined: Making, code: str) -> None:
    bench = confined(SMALL)
    assert "had it" not in bench.python(code).text
    assert bench.run("echo still here").text == "still here"


def test_no_control_group_is_left(confined: Making) -> None:
    bench = confined(SMALL)
    bench.run("true")
    bench.run("true")
    names = {f"hermes-command-{spawned.identity.pid}" for spawned in bench.spawned}

    def left() -> list[str]:
        return [name for parent in places() for name in os.listdir(parent) if name in names]

    limit = time.monotonic() + 20
    while left() and time.monotonic() < limit:
        sweep()
        time.sleep(0.01)
    assert left() == [], "the kernel lets go of an ended process a moment later; whoever sweeps next takes its group"


def test_memory_in_files_is_bounded_too(bubblewrap: Making) -> None:
    bench = bubblewrap(SMALL)
    command = "for n in $(seq 60); do head -c 4000000 /dev/zero > {}/$n || exit 9; done; echo had it"
    for place in ("/tmp", "/dev/shm", "/home/agent", "/var/tmp"):
        result = bench.run(command.format(place))
        assert (result.ok, "had it" in result.text) == (False, False), place


@pytest.mark.req("R3")
def test_a_file_has_a_largest_size(confined: Making) -> None:
    bench = confined(SMALL)
    assert not bench.run("head -c 9000000 /dev/zero > big").ok
    assert not bench.run("dd if=/dev/zero of=sparse bs=1 count=1 seek=100000000").ok
    assert not bench.run("truncate -s 1G holes").ok
    sizes = {file.name: file.stat().st_size for file in bench.workspace.iterdir()}
    assert max(sizes.values()) <= 4 << 20


def test_processor_time_has_an_end(confined: Making) -> None:
    bench = confined(SandboxSettings(cpu_seconds=1))
    result = bench.run("while :; do :; done")
    assert result.error in ("exit_137", "exit_152", "signal_24", "signal_9")


def test_running_out_of_descriptors_harms_nobody_else(confined: Making) -> None:
    bench = confined(SMALL)
    result = bench.python(
        "import os\nheld = []\ntry:\n  while True: held.append(os.dup(1))\nexcept OSError as e: print(e)"
    )
    assert result.text.endswith("Too many open files")


@pytest.mark.req("R3")
def test_endless_output_is_read_and_dropped(confined: Making) -> None:
    bench = confined(SMALL)
    before = psutil.Process().memory_info().rss
    result = bench.run("yes escaped", timeout=1)
    assert result.error == "timeout"
    assert len(result.text) < 4_000
    assert psutil.Process().memory_info().rss - before < 30 << 20


@pytest.mark.req("R3")
def test_a_gigabyte_of_output(confined: Making) -> None:
    bench = confined(SMALL)
    before = psutil.Process().memory_info().rss
    result = bench.run("head -c 1000000000 /dev/zero; echo end", timeout=300)
    assert result.ok
    assert result.text.endswith("end")
    assert psutil.Process().memory_info().rss - before < 30 << 20


@pytest.mark.req("R3")
@pytest.mark.parametrize(
    "command",
    [
        "trap '' TERM INT HUP; while :; do sleep 0.1; done",
        "setsid sleep 60 & disown; sleep 60",
        "setsid sh -c '(sleep 60 &) ; sleep 60' & sleep 60",
        "env -i setsid nohup sh -c 'trap \"\" TERM; sleep 60' & sleep 60",
        "exec -a init sh -c 'trap \"\" TERM; sleep 60; sleep 60'",
        "kill -STOP $$",
    ],
)
def test_what_will_not_end_is_ended(confined: Making, command: str) -> None:
    bench, mark = confined(SMALL), f"/{uuid4().hex}"
    result = bench.run(f": {mark}; {command}", timeout=0.6)
    assert result.error == "timeout"
    assert asyncio.run(settles(mark)) == []


@pytest.mark.parametrize("command", ["setsid -f sleep 61.{}", "(setsid sleep 61.{} &)", "env -i setsid -f sleep 61.{}"])
def test_a_finished_command_leaves_no_daemon(bubblewrap: Making, command: str) -> None:
    bench, mark = bubblewrap(SMALL), str(uuid4().int)
    result = bench.run(command.format(mark) + "; echo done")
    assert (result.ok, result.text.splitlines()[0]) == (True, "done")
    assert asyncio.run(settles(f"61.{mark}")) == []


@pytest.mark.parametrize("command", ["kill -9 $$", "kill -SEGV $$", "exec 1>&-; kill -9 0", "exit 3"])
def test_a_command_that_ends_itself_is_a_result(confined: Making, command: str) -> None:
    bench = confined(SMALL)
    assert not bench.run(command).ok
    assert bench.run("echo still here").text == "still here"


@pytest.mark.parametrize("target", ["-1", "1", "0"])
def test_killing_everybody_kills_only_itself(bubblewrap: Making, target: str) -> None:
    """Guarded: in a process space of its own the shell has a small number."""
    bench = bubblewrap(SMALL)
    with subprocess.Popen(["sleep", "60"]) as bystander:
        result = bench.run(
            f"test $$ -lt 30 || exit 7; sleep 60 & kill -9 {target}; sleep 60; echo survived", timeout=0.5
        )
        assert "survived" not in result.text
        assert result.error in ("exit_137", "timeout")
        assert bystander.poll() is None
        bystander.kill()
    assert bench.run("echo still here").text == "still here"
