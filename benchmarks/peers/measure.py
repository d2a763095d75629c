"""Runs a process to its end and says what it cost."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from benchmarks.peers.results import Cost


class Finished(msgspec.Struct, frozen=True, kw_only=True):
    cost: Cost
    output: str


class RunFailed(Exception):
    """The measured process failed or overran; the message says how, with the end of its output."""


def clean_environment(home: Path, **extra: str) -> dict[str, str]:
    """A small environment with a private home; bytecode is cached, as it is for a user."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "NO_PROXY": "127.0.0.1",
        **extra,
    }


def run_measured(command: Sequence[str], *, env: Mapping[str, str], cwd: Path, limit_s: float = 600) -> Finished:
    """CPU, wall clock and peak memory of the process and all children it waited for.

    Raises RunFailed on an exit status other than 0, and after `limit_s`, when the process group is killed.
    """
    with tempfile.TemporaryFile() as output:
        started = time.monotonic()
        process = subprocess.Popen(
            command, env=dict(env), cwd=cwd, stdin=subprocess.DEVNULL, stdout=output, stderr=output, process_group=0
        )
        overran = threading.Event()

        def end() -> None:
            overran.set()
            os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit_s, end)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except KeyboardInterrupt:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read().decode(errors="replace")
    if overran.is_set():
        raise RunFailed(f"ended after {limit_s:g} s")
    if process.returncode != 0:
        raise RunFailed(f"exit status {process.returncode}: {_last_lines(text)}")
    cost = Cost(cpu_s=usage.ru_utime + usage.ru_stime, wall_s=wall, peak_rss_mb=usage.ru_maxrss / 1024)
    return Finished(cost=cost, output=text)


def run_together(command: Sequence[str], envs: Sequence[Mapping[str, str]], *, cwd: Path) -> tuple[Cost, list[str]]:
    """One process for each environment, all at once: CPU in sum, wall clock until the last ends, the largest peak."""
    finished: dict[int, Finished | RunFailed] = {}

    def one(index: int, env: Mapping[str, str]) -> None:
        try:
            finished[index] = run_measured(command, env=env, cwd=cwd)
        except RunFailed as error:
            finished[index] = error

    started = time.monotonic()
    threads = [threading.Thread(target=one, args=(index, env)) for index, env in enumerate(envs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall = time.monotonic() - started
    costs: list[Cost] = []
    outputs: list[str] = []
    for result in finished.values():
        if isinstance(result, RunFailed):
            raise result
        costs.append(result.cost)
        outputs.append(result.output)
    cpu = sum(cost.cpu_s for cost in costs)
    return Cost(cpu_s=cpu, wall_s=wall, peak_rss_mb=max(cost.peak_rss_mb for cost in costs)), outputs


def _last_lines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-3:])[-400:]
