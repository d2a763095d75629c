import asyncio
import os
import subprocess

import msgspec
import pytest

from hermes_agent.tools.sandbox.identity import (
    Life,
    boot_id,
    end_group,
    end_group_now,
    identity_of,
    is_alive,
    life_of,
    own_identity,
    this_host,
)
from hermes_agent.types.tools import ProcessIdentity


def test_this_process_is_alive_and_itself() -> None:
    own = own_identity()
    assert own == ProcessIdentity(
        boot_id=boot_id(), pid=os.getpid(), started=own.started, group=os.getpgrp(), host=this_host()
    )
    assert life_of(own) is Life.ALIVE
    assert is_alive(own)
    assert msgspec.json.decode(msgspec.json.encode(own), type=ProcessIdentity) == own


def test_no_such_process() -> None:
    with pytest.raises(ProcessLookupError):
        identity_of(2**22 + 1)


@pytest.mark.parametrize(
    ("change", "life"),
    [
        ({"started": 1.0}, Life.DEAD),
        ({"boot_id": "another"}, Life.DEAD),
        ({"host": "elsewhere:/pid:[1]"}, Life.UNKNOWN),
        ({"host": this_host().partition("/")[0] + "/pid:[1]"}, Life.UNKNOWN),
        ({"host": "elsewhere:/pid:[1]", "boot_id": "another"}, Life.UNKNOWN),
        ({"host": ""}, Life.ALIVE),
    ],
)
def test_what_differs_decides(change: dict[str, object], life: Life) -> None:
    assert life_of(msgspec.structs.replace(own_identity(), **change)) is life


def test_a_zombie_is_dead() -> None:
    process = subprocess.Popen(["sleep", "60"])
    identity = identity_of(process.pid)
    process.kill()
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert life_of(identity) is Life.DEAD
    process.wait()
    assert life_of(identity) is Life.DEAD


@pytest.mark.req("R14")
@pytest.mark.parametrize("change", [{"started": 1.0}, {"boot_id": "another"}, {"host": "elsewhere:/pid:[1]"}])
def test_a_number_that_belongs_to_another_is_left_alone(change: dict[str, object]) -> None:
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    try:
        identity = msgspec.structs.replace(identity_of(process.pid), **change)
        assert not asyncio.run(end_group(identity, 0.1))
        end_group_now(identity)
        assert process.poll() is None
    finally:
        process.kill()
        process.wait()


def test_a_group_whose_leader_is_gone_is_found_by_its_mark() -> None:
    process = subprocess.Popen(
        ["sh", "-c", "sleep 60 & echo $!"],
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={"HERMES_MARK": "mark-of-this-test", "PATH": os.defpath},
    )
    assert process.stdout is not None
    identity = identity_of(process.pid, mark="mark-of-this-test")
    left = identity_of(int(process.stdout.readline()))
    process.wait()
    process.stdout.close()
    assert not is_alive(identity)
    assert is_alive(left)
    assert asyncio.run(end_group(identity))
    assert not is_alive(left)


def test_a_stopped_process_is_ended_too() -> None:
    process = subprocess.Popen(["sh", "-c", "kill -STOP $$; sleep 60"], start_new_session=True)
    identity = identity_of(process.pid)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED)
    assert asyncio.run(end_group(identity))
    assert process.wait() == -15
