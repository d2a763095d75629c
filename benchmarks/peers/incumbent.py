"""What only hermes-agent is asked for: its own command, and several sessions at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import TypeVar

import msgspec

from benchmarks.peers.conversation import KEY, MODEL, QUESTION, RESULT, TOOL
from benchmarks.peers.endpoint_process import endpoint
from benchmarks.peers.environments import Environment
from benchmarks.peers.measure import RunFailed, clean_environment, run_measured, run_together
from benchmarks.peers.results import Cost, Incumbent

Result = TypeVar("Result")
SESSIONS = 8
CALLS = 3
REPEATS = 3
_TODO = {"name": "todo", "arguments": {"todos": [{"id": "$i", "content": "count", "status": "pending"}]}}
"""A tool of its own without effect on anything outside the session."""


def home_for(folder: Path, url: str) -> Path:
    """A fresh home, configured for the endpoint as its documentation says for a custom one."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["model:", f"  default: {MODEL}", "  provider: custom", f"  base_url: {url}", f"  api_key: {KEY}", ""]
    (folder / "config.yaml").write_text("\n".join(lines))
    return folder


def measure_incumbent(environment: Environment, scratch: Path) -> tuple[Incumbent, tuple[str, ...]]:
    """All figures that could be taken, and what failed."""
    failures: list[str] = []

    def attempt(what: str, work: Callable[[Environment, Path], Result]) -> Result | None:
        try:
            return work(environment, scratch / what.replace(" ", "-"))
        except RunFailed as error:
            failures.append(f"{what}: {error}")
            return None

    one_shot = attempt("one-shot command", _one_shot)
    return Incumbent(
        one_shot_command=one_shot[0] if one_shot else None,
        first_request_bytes=one_shot[1] if one_shot else None,
        version_command=attempt("version command", _version),
        eight_sessions_in_one_process=attempt("eight sessions in one process", _one_process),
        eight_sessions_in_eight_commands=attempt("eight sessions in eight commands", _eight_commands),
    ), tuple(failures)


def median_cost(costs: list[Cost]) -> Cost:
    """The median of each figure by itself."""
    return Cost(
        cpu_s=median(cost.cpu_s for cost in costs),
        wall_s=median(cost.wall_s for cost in costs),
        peak_rss_mb=median(cost.peak_rss_mb for cost in costs),
    )


def _command(environment: Environment) -> str:
    return str(environment.folder / "bin" / "hermes")


def _one_shot(environment: Environment, home: Path) -> tuple[Cost, int]:
    """A question without tools through its command; the first, unmeasured, run sets up its home."""
    with endpoint({"type": "loop", "turns": 0, "call": {"name": "todo"}}) as server:
        env = clean_environment(home, HERMES_HOME=str(home_for(home, server.url)))
        runs = [run_measured([_command(environment), "-z", QUESTION], env=env, cwd=home) for _ in range(REPEATS + 1)]
        sizes = server.request_sizes()
    if any(run.output.strip().splitlines()[-1:] != ["done"] for run in runs):
        raise RunFailed(f"unexpected answer: {runs[-1].output.strip()[-200:]!r}")
    return median_cost([run.cost for run in runs[1:]]), sizes[0]


def _version(environment: Environment, home: Path) -> Cost:
    home.mkdir(parents=True, exist_ok=True)
    env = clean_environment(home, HERMES_HOME=str(home))
    runs = [run_measured([_command(environment), "--version"], env=env, cwd=home) for _ in range(REPEATS + 1)]
    return median_cost([run.cost for run in runs[1:]])


def _one_process(environment: Environment, home: Path) -> Cost:
    """Eight agents of its library in eight threads of one process, start-up included."""
    script = {"type": "loop", "turns": CALLS, "call": {"name": TOOL, "arguments": {"text": "$i"}}, "marker": RESULT}
    with endpoint(script) as server:
        env = clean_environment(home, HERMES_HOME=str(home_for(home, server.url)))
        driver = str(Path(__file__).with_name("drive_hermes.py"))
        command = [str(environment.python), driver, "--url", server.url, "--iterations", str(CALLS), "--json"]
        run = run_measured([*command, "--sessions", str(SESSIONS), "--default-tools"], env=env, cwd=home)
    last_line(run.output, calls=SESSIONS * CALLS)
    return run.cost


def _eight_commands(environment: Environment, home: Path) -> Cost:
    """Eight of its commands at once, as in eight terminals with one home."""
    with endpoint({"type": "loop", "turns": CALLS, "call": _TODO}) as server:
        env = clean_environment(home, HERMES_HOME=str(home_for(home, server.url)))
        command = [_command(environment), "-z", QUESTION]
        run_measured(command, env=env, cwd=home)
        asked = len(server.request_sizes())
        cost, outputs = run_together(command, [env] * SESSIONS, cwd=home)
        answered = len(server.request_sizes()) - asked
    if [output.strip() for output in outputs] != ["done"] * SESSIONS or answered < SESSIONS * (CALLS + 1):
        raise RunFailed(f"{answered} requests, answers {outputs!r}"[:400])
    return cost


class _Report(msgspec.Struct):
    answer: str
    calls: int


def last_line(output: str, *, calls: int) -> None:
    """Refuses a run that did not do what was scripted."""
    lines = output.strip().splitlines() or [""]
    try:
        said = msgspec.json.decode(lines[-1], type=_Report)
    except msgspec.MsgspecError:
        raise RunFailed(f"no report: {lines[-1][-300:]}") from None
    if said != _Report(answer="done", calls=calls):
        raise RunFailed(f"{said.calls} of {calls} calls, answer {said.answer[:200]!r}")
