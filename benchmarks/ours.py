"""This project's own figures, taken the same way as the peers': fresh processes, the endpoint apart."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from statistics import median

import httpx

from benchmarks.peers.conversation import MODEL, QUESTION, RESULT, TOOL
from benchmarks.peers.endpoint_process import endpoint
from benchmarks.peers.incumbent import CALLS, REPEATS, SESSIONS, last_line, median_cost
from benchmarks.peers.measure import clean_environment, run_measured, run_together
from benchmarks.peers.results import Cost, Incumbent, Loop, Peer
from hermes_agent import __version__

NAME = "hermes-harness"
DRIVER = Path(__file__).parent / "peers" / "drive_ours.py"
COMMAND = Path(sys.executable).with_name("hermes")
_ECHO = {"name": TOOL, "arguments": {"text": "$i"}}
_TODO = {"name": "todo", "arguments": {"items": [{"id": "$i", "content": "count", "status": "pending"}]}}


def converse(iterations: int, sessions: int = 1) -> tuple[Cost, list[float]]:
    """One process with this many tool calls a session; also its CPU clock at each call."""
    script = {"type": "loop", "turns": iterations, "call": _ECHO, "marker": RESULT}
    with tempfile.TemporaryDirectory(prefix="ours-") as folder, endpoint(script) as server:
        command = [sys.executable, str(DRIVER), "--url", server.url, "--iterations", str(iterations), "--json"]
        env = clean_environment(Path(folder))
        run = run_measured([*command, "--state", folder, "--sessions", str(sessions)], env=env, cwd=Path(folder))
        spent: list[float] = json.loads((Path(folder) / "spent.json").read_text())
    last_line(run.output, calls=iterations * sessions)
    return run.cost, spent


def measure_ours(sizes: tuple[int, ...]) -> Peer:
    """All figures, as a row beside the peers'."""
    converse(1)
    one_shot = median_cost([converse(0)[0] for _ in range(REPEATS)])
    one_call = median_cost([converse(1)[0] for _ in range(REPEATS)])
    loops: list[Loop] = []
    smaller, before = 1, one_call
    for size in sorted(sizes):
        cost, _ = converse(size)
        mean = (cost.cpu_s - one_call.cpu_s) / (size - 1) * 1000
        last = (cost.cpu_s - before.cpu_s) / (size - smaller) * 1000
        loops.append(Loop(iterations=size, cost=cost, cpu_ms_per_iteration=mean, last_cpu_ms_per_iteration=last))
        smaller, before = size, cost
    command, first_bytes = one_shot_command()
    return Peer(
        name=NAME,
        taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
        version=__version__,
        one_shot=one_shot,
        one_call=one_call,
        loops=tuple(loops),
        incumbent=Incumbent(
            one_shot_command=command,
            first_request_bytes=first_bytes,
            version_command=version_command(),
            eight_sessions_in_one_process=converse(CALLS, SESSIONS)[0],
            eight_sessions_in_eight_commands=eight_commands(),
        ),
    )


def one_shot_command() -> tuple[Cost, int]:
    """A question without tools through the command; the first, unmeasured, run makes the home."""
    with tempfile.TemporaryDirectory(prefix="ours-") as folder, endpoint(_loop(0)) as server:
        env = _environment(Path(folder), server.url)
        runs = [run_measured([str(COMMAND), "run", QUESTION], env=env, cwd=Path(folder)) for _ in range(REPEATS + 1)]
        sizes = server.request_sizes()
    assert all(run.output.strip() == "done" for run in runs), runs[-1].output
    return median_cost([run.cost for run in runs[1:]]), sizes[0]


def version_command() -> Cost:
    """`hermes --version`."""
    with tempfile.TemporaryDirectory(prefix="ours-") as folder:
        env = clean_environment(Path(folder))
        runs = [run_measured([str(COMMAND), "--version"], env=env, cwd=Path(folder)) for _ in range(REPEATS + 1)]
    return median_cost([run.cost for run in runs[1:]])


def eight_commands() -> Cost:
    """Eight commands at once, as in eight terminals with one home."""
    with tempfile.TemporaryDirectory(prefix="ours-") as folder, endpoint(_loop(CALLS, _TODO)) as server:
        env = _environment(Path(folder), server.url)
        command = [str(COMMAND), "run", "-q", QUESTION]
        run_measured(command, env=env, cwd=Path(folder))
        cost, outputs = run_together(command, [env] * SESSIONS, cwd=Path(folder))
    assert [output.strip() for output in outputs] == ["done"] * SESSIONS, outputs
    return cost


def growth(iterations: int = 500, window: int = 20) -> tuple[float, float]:
    """Median CPU of an iteration in ms, around the fifth and around the last, within one conversation."""
    _, spent = converse(iterations)
    steps = [(later - earlier) * 1000 for earlier, later in pairwise(spent)]
    return median(steps[4 : 4 + window]), median(steps[-window:])


def bare_request(requests: int = 200) -> float:
    """CPU of one streamed request with nothing but httpx, in ms, to the same endpoint."""

    async def ask(url: str) -> float:
        body = {"model": MODEL, "stream": True, "messages": [{"role": "user", "content": QUESTION}]}
        content = json.dumps(body).encode()
        headers = {"content-type": "application/json"}
        async with httpx.AsyncClient() as client:
            for _ in range(20):
                await client.post(url, content=content, headers=headers)
            started = time.process_time()
            for _ in range(requests):
                await client.post(url, content=content, headers=headers)
            return (time.process_time() - started) / requests * 1000

    with endpoint(_loop(requests * 2)) as server:
        return asyncio.run(ask(f"{server.url}/chat/completions"))


def _loop(turns: int, call: object = _ECHO) -> dict[str, object]:
    return {"type": "loop", "turns": turns, "call": call}


def _environment(home: Path, url: str) -> dict[str, str]:
    state = home / "hermes"
    return clean_environment(home, HERMES_HOME=str(state), HERMES_MODEL=f"openai:{MODEL}", OPENAI_BASE_URL=url)
