"""Fixtures for every test: a home of its own, and the store on both databases."""

import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from hypothesis import settings

from hermes_agent.store.open import Store, open_store
from tests.postgres_cluster import PostgresCluster, find_initdb

settings.register_profile("unhurried", deadline=None)
settings.load_profile("unhurried")

ABOVE_THE_STORE = ("cli", "crash", "harness", "library", "observability", "runtime", "safety", "skills", "training")
"""Folders whose tests hardly depend on the database: on PostgreSQL every third of them runs, all with the sweeps."""

SAMPLED = ("bench", "cli", "dashboard", "endpoint", "memory", "models", "skills", "tools")
"""Folders of long tables: of each test's cases the first and every third of the others run, all with the sweeps."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark most PostgreSQL cases above the store, and most cases of long tables, as slow; which ones depends on their
    names alone."""
    seen: set[str] = set()
    for item in items:
        folder = item.path.relative_to(Path(__file__).parent).parts[0]
        test, case, _ = item.nodeid.partition("[")
        if folder in SAMPLED and case and test in seen and zlib.crc32(item.nodeid.encode()) % 3:
            item.add_marker(pytest.mark.slow)
        seen.add(test)
        if folder in ABOVE_THE_STORE and "[postgres" in item.nodeid and zlib.crc32(item.name.encode()) % 3:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty folder in the place of HERMES_HOME."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture(scope="session")
def postgres_cluster() -> Iterator[PostgresCluster]:
    """One server for the whole test run. Its absence is visible, and an error where CI promises it."""
    if find_initdb() is None:
        if os.environ.get("CI") == "true":
            pytest.fail("PostgreSQL's server is not installed, and CI=true promises it")
        pytest.skip("PostgreSQL's server is not installed")
    with PostgresCluster(fast=True) as cluster:
        yield cluster


@pytest.fixture
def postgres_url(postgres_cluster: PostgresCluster) -> Iterator[str]:
    """A fresh, empty PostgreSQL database, dropped afterwards: hundreds of them would make the server slow to stop."""
    name = f"test_{uuid4().hex}"
    yield postgres_cluster.create_database(name)
    postgres_cluster.drop_database(name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store_url(request: pytest.FixtureRequest) -> str:
    """A fresh database of each kind: the empty URL is SQLite in the home."""
    return "" if request.param == "sqlite" else str(request.getfixturevalue("postgres_url"))


@pytest.fixture
def store(store_url: str, home: Path) -> Iterator[Store]:
    """An open store on a fresh database."""
    opened = open_store(store_url, home)
    yield opened
    opened.close()
