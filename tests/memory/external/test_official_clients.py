"""Each fake serves the official client of its service first; only then does it prove anything about our adapter.

The clients are no dependencies of the project. HERMES_TEST_MEMORY_CLIENTS names the Python that has them (`pip install
honcho-ai mem0ai hindsight-client supermemory openviking-sdk`); without it, those run that this Python has.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memory.external import fakes, official
from tests.memory.external.server import KEY, MemoryServer, Speaks

CLIENTS = {
    "honcho": ("honcho", fakes.honcho),
    "mem0": ("mem0", fakes.mem0),
    "hindsight": ("hindsight_client", fakes.hindsight),
    "supermemory": ("supermemory", fakes.supermemory),
    "openviking": ("openviking_sdk", fakes.openviking),
}
PYTHON = os.environ.get("HERMES_TEST_MEMORY_CLIENTS", sys.executable)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "package", "speaks"), [(name, *rest) for name, rest in CLIENTS.items()])
def test_the_official_client_understands_the_fake(name: str, package: str, speaks: Speaks, tmp_path: Path) -> None:
    there = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({package!r}) is None)"
    if subprocess.run([PYTHON, "-c", there], check=False).returncode:
        pytest.skip(f"the official client of {name} is not installed; see HERMES_TEST_MEMORY_CLIENTS")
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(tmp_path),
        "MEM0_DIR": str(tmp_path),
        "MEM0_TELEMETRY": "False",
    }
    with MemoryServer(speaks) as server:
        done = subprocess.run(
            [PYTHON, official.__file__, name, server.url, KEY],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env=environment,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [official.FACT]
