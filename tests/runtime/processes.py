"""Driver processes as tests use them: started, read line by line, signalled, and never left behind."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_agent.models.providers.scripted import Turn
from tests.harness.rig import Rig
from tests.runtime.driver import Order


class Driver:
    """One process."""

    def __init__(self, order: Order) -> None:
        self.order = order
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.runtime.driver", msgspec.json.encode(order).decode()],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def send(self, number: int) -> None:
        """Send a signal to this very process."""
        self.process.send_signal(number)

    def finish(self) -> list[dict[str, Any]]:
        """Wait for its end, which must be a good one; returns what it said."""
        said, complaints = self.process.communicate(timeout=60)
        assert self.process.returncode == 0, complaints
        return [msgspec.json.decode(line) for line in said.splitlines()]

    def answers(self) -> list[tuple[str, str]]:
        """The answers it got, and how their runs ended."""
        return [(line["answer"], line["status"]) for line in self.finish() if "answer" in line]

    def end(self) -> None:
        """Make sure that it is gone."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()


class Drivers:
    """Starts drivers on one home."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.workspace: Path = rig.workspace
        self._started: list[Driver] = []

    def start(self, *script: Turn, **order: Any) -> Driver:
        made = Order(home=str(self.rig.home), workspace=str(self.workspace), script=script, **order)
        self._started.append(Driver(made))
        return self._started[-1]

    def lines(self, name: str) -> list[str]:
        """What tools left in a file of the workspace."""
        path = self.workspace / name
        return path.read_text().splitlines() if path.exists() else []

    def end(self) -> None:
        for driver in self._started:
            driver.end()


@pytest.fixture
def drivers(rig: Rig) -> Iterator[Drivers]:
    """Processes on both databases."""
    made = Drivers(rig)
    yield made
    made.end()
