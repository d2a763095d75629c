"""One home and one server for the whole folder: each costs seconds. Tests expect of them only what they brought about
themselves, or what no other changes."""

from collections.abc import Iterator

import pytest

from tests.cli.command import Hermes
from tests.dashboard.case_studies import keep, sample_report
from tests.dashboard.served import Served, learning_home, real_run


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a home in which something was learned."""
    hermes = Hermes(tmp_path_factory.mktemp("dashboard"))
    learning_home(hermes)
    real_run(hermes)
    keep(hermes.home, "finance", sample_report())
    opened = Served(hermes)
    yield opened
    opened.stop()
