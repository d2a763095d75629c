"""Commands in a container of docker or podman, a new one for each."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...config.settings import SandboxSettings
from ...types.errors import ConfigError
from ...types.ids import new_id
from .base import Boundary
from .probe import attempt
from .view import View

_PLACES = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
_ENGINES = ("podman", "docker")
_CLIENT = ("PATH", "HOME", "USER", "LANG", "XDG_RUNTIME_DIR", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST")
_IMAGE_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_RUN = (
    ': "$(setsid env -u HERMES_MARK /bin/sh -c \'exec >/dev/null 2>&1; while kill -0 "$0"; do sleep 1; done; '
    'exec "$1" kill "$2"\' "$$" "$1" "$2" </dev/null &)"; shift 2; exec "$@"'
)
"""The substitution ends when the watcher has let go of its output: by then it has left the group of the client."""


class Container:
    """Runs each command in a container of its own, which is removed afterwards.

    The engine's program is only a client: when it is ended, its container is not. So a small watcher outside of the
    command's processes waits for the client to go and then ends the container.
    """

    name = "container"
    confines = True

    def __init__(
        self,
        settings: SandboxSettings,
        environment: Mapping[str, str],
        hidden: Sequence[Path] = (),
        *,
        engine: str = "",
    ) -> None:
        self._settings = settings
        self._view = View(settings, environment, hidden)
        self._client = {name: value for name, value in environment.items() if name in _CLIENT}
        found = (shutil.which(name, path=_PLACES) for name in _ENGINES)
        self._engine = engine or next((path for path in found if path), "")
        if not self._engine:
            raise ConfigError("neither podman nor docker is installed", remedy="install one, or choose another sandbox")

    @property
    def reason(self) -> str:
        """Which one it is and what it does."""
        where = f"{Path(self._engine).name} with {self._settings.image}"
        return f"{where}: each command has a container of its own with the workspace, no network unless granted"

    def wrap(self, command: str, boundary: Boundary) -> list[str]:
        """The engine's client, and a watcher that ends the container when the client is gone."""
        name = f"hermes-{new_id()}"
        argv = [*self._options(name, boundary), self._settings.image, "/bin/sh", "-c", self._limits() + command]
        return ["/bin/sh", "-c", _RUN, "sandbox", self._engine, name, self._engine, "run", *argv]

    def _options(self, name: str, boundary: Boundary) -> list[str]:
        owner = boundary.workspace.stat()
        settings = self._settings
        argv = [
            "--rm",
            "--interactive",
            "--init",
            "--name",
            name,
            "--network",
            "bridge" if boundary.network else "none",
        ]
        argv += ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        argv += ["--pids-limit", str(settings.processes), "--memory", f"{settings.memory_mb}m"]
        argv += ["--memory-swap", f"{settings.memory_mb}m", "--user", f"{owner.st_uid}:{owner.st_gid}"]
        if Path(self._engine).name == "podman" and os.geteuid() != 0:
            argv += ["--userns", "keep-id"]
        for empty in ("/tmp", "/home/agent"):
            argv += ["--tmpfs", f"{empty}:rw,nosuid,nodev,mode=1777,size={max(settings.memory_mb // 2, 1)}m"]
        for path in dict.fromkeys((boundary.workspace, *boundary.shared)):
            argv += ["--volume", f"{_plain(path)}:{path}:rw"]
        for path in (Path(path).expanduser() for path in settings.readable):
            argv += ["--volume", f"{_plain(path)}:{path}:ro"]
        for kind, hidden in self._view.mounts(boundary):
            if kind == "empty":
                argv += ["--tmpfs", f"{hidden}:ro,size=1m"]
            elif kind == "void":
                argv += ["--volume", f"/dev/null:{hidden}:ro"]
        for key, value in self._view.environment(HOME="/home/agent", TMPDIR="/tmp", PATH=_IMAGE_PATH).items():
            argv += ["--env", f"{key}={value}"]
        return [*argv, "--workdir", str(boundary.directory)]

    def _limits(self) -> str:
        blocks = (self._settings.file_mb << 20) // 512
        return f"ulimit -c 0; ulimit -t {self._settings.cpu_seconds}; ulimit -f {blocks}; "

    def environment(self) -> dict[str, str]:
        """What the engine's client needs; the command's own environment is on its command line."""
        return {"PATH": _PLACES, **self._client}

    def prove(self, workspace: Path) -> None:
        """Ask the engine. Raises ConfigError when it does not answer."""
        done = attempt([self._engine, "info"], self.environment(), workspace)
        if done.returncode:
            lines = (done.stdout + done.stderr).strip().splitlines() or ["no answer"]
            raise ConfigError(f"{Path(self._engine).name} does not work here: {lines[-1]}", remedy="start the engine")


def _plain(path: Path) -> Path:
    """A path as the engines take it: they split at colons."""
    if ":" in str(path):
        raise ConfigError(f"{path} has a colon in it, and container engines split there", remedy="rename the folder")
    return path
