"""Three hundred ways out, none of which may work. Each is judged by what became of the host."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.tools.sandbox.base import Boundary, Sandbox
from hermes_agent.tools.sandbox.direct import Direct
from tests.tools.context import ENVIRONMENT
from tests.tools.sandbox.attempts import Attempt, table
from tests.tools.sandbox.conftest import need
from tests.tools.sandbox.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.close()


def escaped(stage: Stage, sandbox: Sandbox, attempts: list[Attempt]) -> list[str]:
    """The names of the attempts that worked. The attacker must have come to its end."""
    said = stage.run(sandbox, [(attempt.kind, attempt.way, attempt.arguments) for attempt in attempts])
    done = stage.found / "done"
    assert done.exists(), said[-2000:]
    assert int(done.read_text()) == len(attempts)
    assert [attempt.name for number, attempt in enumerate(attempts) if not stage.loot(number)] == []
    return [attempt.name for number, attempt in enumerate(attempts) if worked(stage, number, attempt)]


def worked(stage: Stage, number: int, attempt: Attempt) -> bool:
    if attempt.kind == "write":
        folder, name = map(str, attempt.arguments)
        return stage.left(folder, name)
    return stage.stolen(number)


def confined(name: str, stage: Stage) -> Sandbox:
    environment = {**ENVIRONMENT, "HOME": str(stage.workspace)}
    hidden = [stage.home / ".hermes", stage.workspace / ".hermes"]
    return need(name, environment, hidden)(SandboxSettings())


@pytest.mark.req("A4", "R3")
@pytest.mark.parametrize("name", ["bubblewrap", "landlock"])
def test_no_way_out(name: str, stage: Stage) -> None:
    attempts = [attempt for attempt in table(stage) if name in attempt.stopped_by]
    assert len({attempt.name for attempt in attempts}) == len(attempts) >= 300
    assert escaped(stage, confined(name, stage), attempts) == []
    assert stage.disturbed() == []


class Overlaid:
    """A sandbox whose workspace lies on a file system that cannot show its files under other owners."""

    name = "bubblewrap"
    confines = True
    reason = "for a test"

    def __init__(self, sandbox: Sandbox, folder: Path) -> None:
        self._sandbox = sandbox
        self.upper, self._work = folder / "upper", folder / "work"
        self.upper.mkdir()
        self._work.mkdir()

    def wrap(self, command: str, boundary: Boundary) -> list[str]:
        place = boundary.workspace
        mount = f"mount -t overlay none -o lowerdir={place},upperdir={self.upper},workdir={self._work} {place}"
        argv = self._sandbox.wrap(command, boundary)
        return ["/usr/bin/unshare", "-m", "/bin/sh", "-c", f'{mount} && cd {place} && exec "$@"', "sh", *argv]

    def environment(self) -> dict[str, str]:
        return self._sandbox.environment()


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="only root's commands change their owner")
def test_no_way_out_where_owners_cannot_be_exchanged(stage: Stage, tmp_path: Path) -> None:
    attempts = [attempt for attempt in table(stage) if "bubblewrap" in attempt.stopped_by]
    sandbox = Overlaid(confined("bubblewrap", stage), tmp_path)
    stage.found = sandbox.upper / "loot"
    assert escaped(stage, sandbox, attempts) == []
    assert stage.disturbed() == []


def test_the_attempts_are_real_ones(stage: Stage) -> None:
    """Without a sandbox the harmless ones among them work: a judge who never finds anything would prove nothing."""
    attempts = [attempt for attempt in table(stage) if attempt.harmless]
    worked = escaped(stage, Direct(ENVIRONMENT), attempts)
    unheard = {attempt.name for attempt in attempts if attempt.kind == "net"}
    assert {attempt.name for attempt in attempts} - set(worked) - unheard == set()
    assert len(worked) >= 80
    assert [line for line in stage.disturbed() if "was reached" in line] == [
        f"{listener.address!r} was reached" for listener in stage.listeners
    ]
