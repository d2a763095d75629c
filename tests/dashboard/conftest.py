"""One home, one server and one browser for each module."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import Hermes
from tests.dashboard.served import Served, learning_home, need_chromium, real_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server over a home in which something was learned."""
    hermes = Hermes(tmp_path_factory.mktemp("dashboard"))
    learning_home(hermes)
    real_run(hermes)
    opened = Served(hermes)
    yield opened
    opened.stop()


@pytest.fixture(scope="module")
def browser() -> Iterator["Browser"]:
    """The system's Chromium."""
    executable = need_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()
