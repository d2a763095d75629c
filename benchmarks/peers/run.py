"""Measures other agent libraries on the scripted endpoint: `python -m benchmarks.peers.run`.

Each peer has its own environment and its own driver; the endpoint is another process. CPU per iteration is the CPU of
a conversation with n tool calls less that of one with a single call, divided by n - 1: neither start-up nor what is
imported at the first call is in it.
"""

from __future__ import annotations

import argparse
import os
import platform
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec

from benchmarks.peers.conversation import RESULT, TOOL
from benchmarks.peers.endpoint_process import ROOT, endpoint
from benchmarks.peers.environments import Environment, InstallFailed, install, one_certificate
from benchmarks.peers.incumbent import REPEATS, home_for, last_line, measure_incumbent, median_cost
from benchmarks.peers.measure import RunFailed, clean_environment, run_measured
from benchmarks.peers.results import Cost, Loop, Peer, PeerResults, load_peers, save_peers
from benchmarks.peers.table import render

SIZES = (50, 200, 500)
_TEXT_END = {"type": "text", "text": "done"}
_TOOL_END = {"type": "calls", "calls": [{"name": "final_answer", "arguments": {"answer": "done"}}]}


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A peer to measure; `final` is the answer with which its conversation ends.

    `trusts="one certificate"` replaces the usual set of authorities: hermes-agent loads it anew for every request, and
    this shows what it costs without that.
    """

    name: str
    environment: str
    requirements: tuple[str, ...]
    driver: str
    arguments: tuple[str, ...] = ()
    final: object = msgspec.field(default_factory=lambda: _TEXT_END)
    commands: bool = False
    trusts: Literal["the usual", "one certificate"] = "the usual"


_HERMES = ("hermes-agent==0.19.0",)
CANDIDATES = (
    Candidate(name="hermes-agent", environment="hermes", requirements=_HERMES, driver="drive_hermes.py", commands=True),
    Candidate(
        name="hermes-agent-default-tools",
        environment="hermes",
        requirements=_HERMES,
        driver="drive_hermes.py",
        arguments=("--default-tools",),
    ),
    Candidate(
        name="hermes-agent-one-certificate",
        environment="hermes",
        requirements=_HERMES,
        driver="drive_hermes.py",
        trusts="one certificate",
    ),
    Candidate(
        name="pydantic-ai", environment="pydantic_ai", requirements=("pydantic-ai",), driver="drive_pydantic_ai.py"
    ),
    Candidate(
        name="langgraph",
        environment="langgraph",
        requirements=("langgraph", "langgraph-checkpoint-sqlite", "langchain-openai"),
        driver="drive_langgraph.py",
    ),
    Candidate(
        name="smolagents",
        environment="smolagents",
        requirements=("smolagents[openai]",),
        driver="drive_smolagents.py",
        final=_TOOL_END,
    ),
)


def converse(candidate: Candidate, environment: Environment, iterations: int) -> Cost:
    """One conversation in a fresh process with an empty home; raises RunFailed unless it went as scripted."""
    call = {"name": TOOL, "arguments": {"text": "$i"}}
    script = {"type": "loop", "turns": iterations, "call": call, "final": candidate.final, "marker": RESULT}
    driver = str(Path(__file__).with_name(candidate.driver))
    with tempfile.TemporaryDirectory(prefix="peer-") as folder, endpoint(script) as server:
        home = home_for(Path(folder), server.url)
        env = clean_environment(home, HERMES_HOME=folder)
        if candidate.trusts == "one certificate":
            env["SSL_CERT_FILE"] = str(one_certificate(environment, home))
        command = [str(environment.python), driver, "--url", server.url, "--iterations", str(iterations)]
        run = run_measured([*command, "--state", folder, "--json", *candidate.arguments], env=env, cwd=home)
    last_line(run.output, calls=iterations)
    return run.cost


def measure(candidate: Candidate, cache: Path, sizes: tuple[int, ...]) -> Peer:
    """All figures of one peer; every failure is kept with its reason and the rest goes on."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    try:
        environment = install(cache / candidate.environment, candidate.requirements)
    except InstallFailed as error:
        return Peer(name=candidate.name, taken_at=now, failures=(f"install: {error}",))
    try:
        # The first run fills the bytecode cache and is not counted.
        one_shot = median_cost([converse(candidate, environment, 0) for _ in range(REPEATS + 1)][1:])
        one_call = median_cost([converse(candidate, environment, 1) for _ in range(REPEATS)])
    except RunFailed as error:
        return Peer(name=candidate.name, taken_at=now, version=environment.version, failures=(f"one-shot: {error}",))
    loops, failures = _loops(candidate, environment, one_call, sizes)
    incumbent = None
    if candidate.commands:
        with tempfile.TemporaryDirectory(prefix="peer-") as folder:
            incumbent, failed = measure_incumbent(environment, Path(folder))
        failures += failed
    return Peer(
        name=candidate.name,
        taken_at=now,
        version=environment.version,
        one_shot=one_shot,
        one_call=one_call,
        loops=tuple(loops),
        incumbent=incumbent,
        failures=tuple(failures),
    )


def _loops(
    candidate: Candidate, environment: Environment, one_call: Cost, sizes: tuple[int, ...]
) -> tuple[list[Loop], list[str]]:
    loops: list[Loop] = []
    failures: list[str] = []
    smaller, before = 1, one_call
    for size in sorted(sizes):
        try:
            cost = converse(candidate, environment, size)
        except RunFailed as error:
            failures.append(f"{size} iterations: {error}")
            continue
        mean = (cost.cpu_s - one_call.cpu_s) / (size - 1) * 1000
        last = (cost.cpu_s - before.cpu_s) / (size - smaller) * 1000
        loops.append(Loop(iterations=size, cost=cost, cpu_ms_per_iteration=mean, last_cpu_ms_per_iteration=last))
        smaller, before = size, cost
    return loops, failures


def main() -> None:
    names = [candidate.name for candidate in CANDIDATES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers.run", description=__doc__)
    parser.add_argument("--cache", type=Path, default=ROOT / ".bench" / "peers", help="where environments are kept")
    parser.add_argument("--out", type=Path, default=ROOT / ".bench" / "peers.json")
    parser.add_argument(
        "--only",
        choices=names,
        action="append",
        help="measure this peer only and keep the others' figures; may be repeated",
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="tool iterations in one conversation")
    given = parser.parse_args()
    given.cache.mkdir(parents=True, exist_ok=True)
    (given.cache / ".gitignore").write_text("*\n")
    kept = {peer.name: peer for peer in load_peers(given.out).peers} if given.only and given.out.exists() else {}
    peers: list[Peer] = []
    for candidate in CANDIDATES:
        if given.only and candidate.name not in given.only:
            peers += [kept[candidate.name]] if candidate.name in kept else []
            continue
        print(f"measuring {candidate.name}", flush=True)
        peers.append(measure(candidate, given.cache.resolve(), tuple(given.sizes)))
    results = PeerResults(
        python=platform.python_version(),
        cores=os.cpu_count() or 1,
        peers=tuple(peers),
    )
    save_peers(given.out, results)
    print(f"\n{render(results)}\n\nwritten to {given.out}")


if __name__ == "__main__":
    main()
