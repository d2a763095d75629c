"""No test leaves a process behind, also not one that fails."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from hermes_agent.tools.sandbox.identity import end_group
from hermes_agent.types.tools import Spawned
from tests.tools.context import Context


@pytest.fixture(autouse=True)
def nothing_left_behind(tmp_path: Path) -> Iterator[None]:
    Context.made.clear()
    yield
    left = [spawned for context in Context.made for spawned in context.journal.spawned if spawned.background]
    journal = tmp_path / "journal"
    if journal.exists():
        left.append(msgspec.json.decode(journal.read_bytes(), type=Spawned))
    for spawned in left:
        asyncio.run(end_group(spawned.identity, 0.0))
