"""The command in a folder of its own."""

from pathlib import Path

import pytest

from tests.cli.command import Hermes


@pytest.fixture
def hermes(tmp_path: Path) -> Hermes:
    """The installed command with an empty home."""
    return Hermes(tmp_path)
