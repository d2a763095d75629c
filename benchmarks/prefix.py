"""Whether requests only ever grow at their end: within a run, and across kill and resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

from benchmarks.peers.measure import clean_environment
from tests.endpoint import Call, Endpoint, loop

COMMAND = Path(sys.executable).with_name("hermes")
_END = len(b"]}")


def unchanged(turns: int, kill_at: int = 0) -> tuple[int, int]:
    """(requests that extend the one before byte for byte, requests that have one before)."""
    call = Call(name="list_files", arguments={"path": ".", "depth": 1})
    with tempfile.TemporaryDirectory(prefix="prefix-") as folder, Endpoint(loop(turns, call)) as server:
        home = Path(folder)
        env = clean_environment(home, HERMES_HOME=str(home / "h"), HERMES_MODEL="openai:m", OPENAI_BASE_URL=server.url)
        process = subprocess.Popen(
            [str(COMMAND), "run", "-q", "list"], env=env, cwd=home, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
        )
        if kill_at:
            while len(server.requests) < kill_at:
                time.sleep(0.002)
            os.kill(process.pid, signal.SIGKILL)
        process.wait()
        if kill_at:
            subprocess.run([str(COMMAND), "resume", "--json"], env=env, cwd=home, stdout=subprocess.DEVNULL, check=True)
        bodies = [request.body for request in server.requests]
    good = sum(later.startswith(earlier[:-_END]) for earlier, later in pairwise(bodies))
    return good, len(bodies) - 1
