"""The `hermes` command in a process forked from one that has loaded it: a start costs a sixth of a fresh one.

For tests that call the command often. That a fresh process behaves the same is what the tests with `Hermes` prove.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.cli.command import Hermes

_LOADED = [
    "hermes_agent.surfaces.cli.main",
    "hermes_agent.surfaces.cli.opening",
    "hermes_agent.app",
    "hermes_agent.store.open",
    "hermes_agent.learning.advisor",
    "rich.table",
    "yaml",
]
_servers = multiprocessing.get_context("forkserver")
_servers.set_forkserver_preload(_LOADED)
_PATIENCE = 60.0


def _command(arguments: list[str], environment: dict[str, str], workspace: str, folder: str, stdin: bytes) -> None:
    """What the forked process does: the installed command's own `main`, on files in the place of a terminal."""
    from hermes_agent.surfaces.cli.main import main

    place = Path(folder)
    (place / "stdin").write_bytes(stdin)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        os.dup2(os.open(place / name, flags), number)
    sys.stdin = open(0, encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(workspace)
    sys.argv = ["hermes", *arguments]
    main()


class ForkedHermes:
    """Runs the command as `Hermes` does, in the same home."""

    def __init__(self, hermes: Hermes) -> None:
        self._hermes = hermes
        self.home = hermes.home
        self.folder = hermes.folder
        self.workspace = hermes.workspace

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
        """Run to the end; output as text."""
        order = (list(arguments), self._hermes.environment(), str(self.workspace), str(self.folder), stdin)
        process = _servers.Process(target=_command, args=order)
        process.start()
        process.join(_PATIENCE)
        if process.exitcode is None:
            process.kill()
            raise AssertionError(f"hermes {arguments} did not end")
        said = [(self.folder / name).read_bytes().decode("utf-8", "replace") for name in ("stdout", "stderr")]
        return subprocess.CompletedProcess(arguments, process.exitcode, *said)

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What the command prints with `--json`."""
        done = self.run(*arguments, "--json")
        assert done.returncode == code, done
        return json.loads(done.stdout)
