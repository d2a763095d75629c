"""A local web site and a context that may visit it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_agent.types.tools import WebAccess
from tests.tools.context import Context
from tests.tools.web.site import Site


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as running:
        yield running


@pytest.fixture
def other() -> Iterator[Site]:
    """A second site, which is another origin."""
    with Site() as running:
        yield running


@pytest.fixture
def context(tmp_path: Path, site: Site) -> Context:
    made = Context(tmp_path)
    made.web = WebAccess(allowed=frozenset({site.place}))
    return made
