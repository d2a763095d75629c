"""One site and one browser for each module of tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.browser.site import Site, Visitor, need_chromium


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    opened = Site()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def visit(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    need_chromium()
    folder: Path = tmp_path_factory.mktemp("browser")
    visitor = Visitor(folder, site)
    yield visitor
    visitor.close()


@pytest.fixture(scope="module")
def hasty(site: Site, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visitor]:
    """A visitor that does not wait long, for pages that make one wait."""
    need_chromium()
    visitor = Visitor(tmp_path_factory.mktemp("hasty"), site, hasty=True)
    yield visitor
    visitor.close()
