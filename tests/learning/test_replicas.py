"""Many processes learn at once into one database: nothing is lost, nothing counted twice."""

import subprocess
import sys
from pathlib import Path

import pytest

from hermes_agent.learning.lessons import lesson_of
from hermes_agent.store.open import Store, open_store
from tests.learning.replica import drawn, learner_of
from tests.learning.tables import counter, dump

ROOT = Path(__file__).parents[2]


@pytest.mark.req("H15")
@pytest.mark.parametrize(("processes", "traces"), [(3, 150), pytest.param(8, 2000, marks=pytest.mark.slow)])
def test_replicas_end_with_exactly_what_one_process_learns_from_the_same_sequence(
    store: Store, store_url: str, home: Path, tmp_path: Path, processes: int, traces: int
) -> None:
    orders = [
        [sys.executable, "-m", "tests.learning.replica", store_url, str(home), str(number), str(processes), str(traces)]
        for number in range(processes)
    ]
    started = [subprocess.Popen(order, cwd=ROOT, stderr=subprocess.PIPE) for order in orders]
    ended = [(process.communicate()[1].decode(), process.returncode) for process in started]
    assert ended == [("", 0)] * processes
    together = dump(store)
    ordered = [int(row[0].removeprefix("run")) for row in together["lessons"]]
    assert sorted(ordered) == list(range(traces))
    assert [row[1] for row in together["lessons"]] == list(range(1, traces + 1))
    assert counter(store, "sequence") == traces
    assert together["heuristics"] and len(together["cells"]) > 20
    alone = open_store("", tmp_path)
    learner = learner_of(alone)
    lessons = [(lesson_of(run, run.family, tainted=False), run.request) for run in map(drawn, ordered)]
    alone.database.write_now(lambda connection: [learner.absorb(connection, *taught) for taught in lessons])
    single = dump(alone)
    alone.close()
    assert single == together
