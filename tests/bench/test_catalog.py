"""Histories side by side: what goes wrong is said, and whoever stops them waits for none."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_agent.bench.catalog import run
from hermes_agent.bench.crew import Crew
from hermes_agent.bench.study import Arm, Study
from tests.cli.command import until

PROGRAM = """import sys
from pathlib import Path

from hermes_agent.bench.catalog import run
from hermes_agent.bench.study import Arm, Study

if __name__ == "__main__":
    folders = [Path(sys.argv[1]) / name for name in ("a", "b", "c")]
    studies = [
        Study(name="open-ended", policy="apprentice", arm=Arm.OFF, seed=3, iterations=900, folder=folder)
        for folder in folders
    ]
    print(*run(studies, 2, lambda tasks, seconds: None))
"""


def study(folder: Path, name: str, seed: int = 1) -> Study:
    return Study(name=name, policy="apprentice", arm=Arm.OFF, seed=seed, iterations=2, folder=folder)


def said(one: Study) -> str:
    """Stands in for a history: quickly done, at length, or killed from outside."""
    if one.seed == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    return f"{one.name} {'x' * 200_000}" if one.seed == 7 else ""


def test_what_goes_wrong_is_said_in_the_order_of_the_studies(tmp_path: Path) -> None:
    looks: list[int] = []
    names = ("nope", "../x")
    problems = list(
        run([study(tmp_path / str(len(name)), name) for name in names], 2, lambda tasks, _: looks.append(tasks))
    )
    assert [problem.partition(":")[2].strip() for problem in problems] == [
        f"there is no case study {name!r}" for name in names
    ]
    assert looks and set(looks) == {0}


def test_a_process_that_dies_is_a_problem_of_its_own_and_long_answers_arrive(tmp_path: Path) -> None:
    crew = Crew([study(tmp_path, "reports", seed) for seed in (9, 7, 1)], 2, said)
    while crew.work(60.0):
        pass
    crew.stop()
    assert crew.problems() == ["the process of reports, arm off, seed 9 ended with -9", f"reports {'x' * 200_000}"]
    nobody = Crew([], 0, said)
    assert (nobody.work(0.0), nobody.problems()) == (False, [])


def processes_of(session: int) -> list[int]:
    """Which processes of a session are alive."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                state = (entry / "stat").read_text().rpartition(") ")[2].split()
            except OSError:
                continue
            if int(state[3]) == session and state[0] != "Z":
                found.append(int(entry.name))
    return found


@pytest.mark.req("L9")
@pytest.mark.parametrize("way", ["interrupt", "interrupt all", "kill"])
def test_stopping_the_parent_ends_all_processes_in_the_middle_of_their_histories(tmp_path: Path, way: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, program, tmp_path],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": ":".join(sys.path), "HOME": str(tmp_path)},
        start_new_session=True,
        text=True,
    )
    kept = [tmp_path / name / "tasks.jsonl" for name in ("a", "b")]
    until(lambda: all(path.exists() and path.read_text() for path in kept))
    sent = signal.SIGKILL if way == "kill" else signal.SIGINT
    (os.killpg if way == "interrupt all" else os.kill)(process.pid, sent)
    out, err = process.communicate()
    assert (process.returncode, out) == (-sent, "")
    assert err.count("Traceback") == (way != "kill")
    until(lambda: not processes_of(process.pid))
    assert all(0 < len(path.read_text().splitlines()) < 900 for path in kept)
    assert not (tmp_path / "c").exists()
