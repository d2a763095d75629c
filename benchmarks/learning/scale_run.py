"""What learning adds to a short run and to each of its iterations: the same program with learning on and off."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from statistics import median

from benchmarks.learning.scale_store import Figure, at_most, no_goal
from benchmarks.ours import COMMAND
from benchmarks.peers.conversation import MODEL, QUESTION, RESULT, TOOL
from benchmarks.peers.endpoint_process import endpoint
from benchmarks.peers.measure import clean_environment, run_measured

_REPEATS = 9
_ITERATIONS = 120
_OFF, _ON = "off", "on"
_IMPORT = """
import time
import hermes_agent.app
import hermes_agent.store.backends.sqlite
begun = time.process_time()
import hermes_agent.learning.advisor
print(time.process_time() - begun)
"""
_CONVERSE = f"""
import json, sys, time
from hermes_agent import Agent, Tool
spent = []
def echo(text: str) -> str:
    spent.append(time.process_time())
    return "{RESULT} " + text
agent = Agent(name="bench", model="openai:{MODEL}", base_url=sys.argv[1], home=sys.argv[2], workspace=sys.argv[2])
agent.register_tool(Tool("{TOOL}", echo, description="Gives the text back.", capabilities=[], effect="none"))
agent.run("{QUESTION}")
agent.close()
print(json.dumps(spent))
"""


def import_time() -> float:
    """CPU of importing the advisor where everything else is loaded, in ms; the bytecode is cached."""
    with tempfile.TemporaryDirectory(prefix="import-") as folder:
        command, env = [sys.executable, "-c", _IMPORT], clean_environment(Path(folder))
        runs = [run_measured(command, env=env, cwd=Path(folder)) for _ in range(_REPEATS + 1)]
    return median(float(run.output) for run in runs[1:]) * 1000


def one_shots() -> dict[str, float]:
    """CPU seconds of a question without tools through the command, with learning on and off, in turns."""
    spent: dict[str, list[float]] = {_OFF: [], _ON: []}
    with tempfile.TemporaryDirectory(prefix="learning-") as folder, endpoint(_loop(0)) as server:
        for number in range(_REPEATS + 1):
            for mode, found in spent.items():
                home = Path(folder) / mode
                home.mkdir(exist_ok=True)
                (home / "config.yaml").write_text(f"learning: {{mode: '{mode}'}}\n")
                env = clean_environment(
                    home, HERMES_HOME=str(home), HERMES_MODEL=f"openai:{MODEL}", OPENAI_BASE_URL=server.url
                )
                run = run_measured([str(COMMAND), "run", QUESTION], env=env, cwd=home)
                assert run.output.strip() == "done", run.output
                if number:
                    found.append(run.cost.cpu_s)
    return {mode: median(found) for mode, found in spent.items()}


def iterations() -> dict[str, float]:
    """CPU of an iteration with one tool call in ms, with learning on and off, in turns."""
    spent: dict[str, list[float]] = {_OFF: [], _ON: []}
    for _ in range(3):
        for mode, found in spent.items():
            with tempfile.TemporaryDirectory(prefix="learning-") as folder, endpoint(_loop(_ITERATIONS)) as server:
                settings = f"limits: {{iterations: 1000000, seconds: 100000}}\nlearning: {{mode: '{mode}'}}\n"
                (Path(folder) / "config.yaml").write_text(settings)
                command = [sys.executable, "-c", _CONVERSE, server.url, folder]
                run = run_measured(command, env=clean_environment(Path(folder)), cwd=Path(folder))
            clock: list[float] = json.loads(run.output)
            assert len(clock) == _ITERATIONS, len(clock)
            found += [(later - earlier) * 1000 for earlier, later in pairwise(clock)]
    return {mode: median(found) for mode, found in spent.items()}


def run_figures() -> Iterator[Figure]:
    """Learning on against off."""
    yield at_most("importing the advisor, CPU", import_time(), 20.0, "ms")
    shots = one_shots()
    yield no_goal("one-shot question without learning, CPU", shots[_OFF], "s")
    yield no_goal("one-shot question with learning, CPU", shots[_ON], "s")
    yield at_most("one-shot question, CPU, on / off", shots[_ON] / shots[_OFF], 1.15, "x")
    steps = iterations()
    yield no_goal("tool iteration without learning, CPU", steps[_OFF], "ms")
    yield at_most("tool iteration, CPU, on / off", steps[_ON] / steps[_OFF], 1.1, "x")


def _loop(turns: int) -> dict[str, object]:
    call = {"name": TOOL, "arguments": {"text": "$i"}}
    return {"type": "loop", "turns": turns, "call": call, "marker": RESULT}


def main() -> None:
    """Print these figures alone."""
    for figure in run_figures():
        print(f"{'ok  ' if figure.reached else 'MISS'}  {figure.what.ljust(50)} {figure.measured}  {figure.goal}")


if __name__ == "__main__":
    main()
