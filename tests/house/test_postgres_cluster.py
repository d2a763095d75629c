import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import psycopg
import pytest

from tests.postgres_cluster import PostgresCluster, find_initdb

ROOT = Path(__file__).resolve().parents[2]
pytestmark = [
    pytest.mark.postgres,
    pytest.mark.skipif(
        find_initdb() is None and os.environ.get("CI") != "true", reason="PostgreSQL's server is not installed"
    ),
]
DETACHED = """
import sys
from tests.postgres_cluster import PostgresCluster
cluster = PostgresCluster(fast=True).__enter__()
print(cluster.pid, cluster.folder, flush=True)
sys.stdin.read()
"""


def values(dsn: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()


def remains(pid: int, folder: Path) -> list[str]:
    """What is left of a cluster, after waiting for it to go; a process its parent has not reaped yet is gone."""
    end = time.monotonic() + 30
    while (left := _left(pid, folder)) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def _left(pid: int, folder: Path) -> list[str]:
    alive = psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    return ["server"] * alive + ["folder"] * folder.exists()


def test_a_cluster_answers_and_is_gone_afterwards() -> None:
    with PostgresCluster() as cluster:
        pid, folder = cluster.pid, cluster.folder
        assert values(cluster.dsn("postgres"), "SELECT 1") == [(1,)]
        assert values(
            cluster.create_database("odd name"),
            "SELECT current_database(), current_setting('fsync'), current_setting('server_encoding'), lower('Ä')",
        ) == [("odd name", "on", "UTF8", "ä")]
        assert psutil.Process(pid).uids().effective != 0
    assert not folder.exists()
    assert remains(pid, folder) == []


@pytest.mark.slow
def test_clusters_side_by_side_do_not_meet() -> None:
    with PostgresCluster(fast=True) as first, PostgresCluster(fast=True) as second:
        first.create_database("only_in_first")
        query = "SELECT datname, current_setting('fsync') FROM pg_database WHERE NOT datistemplate ORDER BY 1"
        assert values(first.dsn("postgres"), query) == [("only_in_first", "off"), ("postgres", "off")]
        assert values(second.dsn("postgres"), query) == [("postgres", "off")]


def test_the_server_ends_with_the_process_that_started_it() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", DETACHED], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert owner.stdout is not None
    pid, folder = owner.stdout.readline().split()
    assert _left(int(pid), Path(folder)) == ["server", "folder"]
    owner.send_signal(signal.SIGKILL)
    owner.communicate()
    assert remains(int(pid), Path(folder)) == []
