"""The installed `hermes` as a real process, in a home and a workspace of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HERMES = Path(sys.executable).with_name("hermes")
_PATIENCE = 60.0


class Hermes:
    """Runs the command. Nothing of the caller's environment but the search path reaches it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.workspace = folder / "work"
        self.workspace.mkdir(parents=True, exist_ok=True)
        self._scripts = 0

    def environment(self, **more: str) -> dict[str, str]:
        """What the command sees."""
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.folder),
            "HERMES_HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm",
            **more,
        }

    def script(self, *turns: dict[str, Any]) -> str:
        """The name of a model that follows these turns."""
        self._scripts += 1
        path = self.folder / f"script{self._scripts}.json"
        path.write_text(json.dumps(turns))
        return f"scripted:{path}"

    def run(
        self, *arguments: str | bytes, stdin: bytes = b"", env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run to the end; output as text."""
        done = subprocess.run(
            [HERMES, *arguments],
            input=stdin,
            capture_output=True,
            cwd=self.workspace,
            env=self.environment(**(env or {})),
            timeout=_PATIENCE,
            check=False,
        )
        return subprocess.CompletedProcess(
            done.args, done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        )

    def json(self, *arguments: str, code: int = 0) -> Any:
        """What the command prints with `--json`."""
        done = self.run(*arguments, "--json")
        assert done.returncode == code, done
        return json.loads(done.stdout)

    def start(self, *arguments: str, stdin: bool = False) -> subprocess.Popen[bytes]:
        """Start and leave running; end it with `kill` or wait for it."""
        return subprocess.Popen(
            [HERMES, *arguments],
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.workspace,
            env=self.environment(),
        )

    def killed_in_tool(self, model: str, marker: Path, *more: str) -> None:
        """A run that was killed when its tool had written `marker`."""
        process = self.start("run", "go", "-y", "-m", model, *more)
        until(marker.exists)
        process.kill()
        process.communicate()


def until(condition: Callable[[], object]) -> None:
    """Wait for something that must happen."""
    limit = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.02)


def say(text: str, **more: Any) -> dict[str, Any]:
    """A turn that answers."""
    return {"text": text, **more}


def call(tool: str, seconds: float = 0, **arguments: Any) -> dict[str, Any]:
    """A turn that calls one tool."""
    return {"calls": [{"name": tool, "arguments": arguments}], "seconds": seconds}


def texts(events: Sequence[dict[str, Any]], kind: str) -> list[str]:
    """The texts of all events of a kind, in order."""
    return [entry["event"]["text"] for entry in events if entry["event"]["kind"] == kind]
