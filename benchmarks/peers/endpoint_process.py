"""The scripted endpoint as a process of its own, so that its CPU is nobody's."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

ROOT = Path(__file__).parents[2]


class _Announced(msgspec.Struct):
    url: str


class _Logged(msgspec.Struct):
    bytes: int


class EndpointProcess(msgspec.Struct, frozen=True, kw_only=True):
    url: str
    log: Path

    def request_sizes(self) -> list[int]:
        """Bytes of the body of each chat request so far."""
        lines = self.log.read_bytes().splitlines() if self.log.exists() else []
        return [msgspec.json.decode(line, type=_Logged).bytes for line in lines]


@contextmanager
def endpoint(script: object) -> Iterator[EndpointProcess]:
    """Serves a script (as `tests.endpoint.responders` reads it) until the block ends, or this process does."""
    with tempfile.TemporaryDirectory(prefix="endpoint-") as folder:
        file = Path(folder) / "script.json"
        log = Path(folder) / "requests.jsonl"
        file.write_bytes(msgspec.json.encode(script))
        command = [sys.executable, "-m", "tests.endpoint", "--script", str(file), "--lenient", "--until-stdin-closes"]
        with subprocess.Popen(
            [*command, "--log", str(log)], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            line = process.stdout.readline()
            if not line:
                raise RuntimeError("the endpoint did not start")
            try:
                yield EndpointProcess(url=msgspec.json.decode(line, type=_Announced).url, log=log)
            finally:
                process.stdin.close()
                process.wait()
