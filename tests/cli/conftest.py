"""The command in a folder of its own."""

from pathlib import Path

import pytest

from tests.cli.command import Hermes
from tests.cli.forked import ForkedHermes


@pytest.fixture
def hermes(tmp_path: Path) -> Hermes:
    """The installed command with an empty home."""
    return Hermes(tmp_path)


@pytest.fixture
def forked(hermes: Hermes) -> ForkedHermes:
    """The same in processes that start quickly, where a test starts many."""
    return ForkedHermes(hermes)
