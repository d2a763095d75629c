"""What a confined command sees of the machine, and the plan from which the launcher sets it up."""

from __future__ import annotations

import marshal
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ...config.settings import SandboxSettings
from ...types.errors import UsageError
from .base import Boundary

if TYPE_CHECKING:
    from .plan import Plan

_PACKAGE = Path(__file__).resolve().parents[2]
_FOLDER = Path(__file__).resolve().parent
_BOOT = """\
import sys
package = type(sys)("sandbox")
package.__path__ = [sys.argv.pop(1)]
sys.modules["sandbox"] = package
from sandbox.launch import main
main()
"""
_NEVER = (Path("/"), Path("/proc"), Path("/sys"), Path("/dev"), Path("/etc"), Path("/usr"))
_SYSTEM = (
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "alternatives",
    "localtime",
    "timezone",
    "os-release",
    "debian_version",
    "lsb-release",
    "locale.alias",
    "locale.conf",
    "mime.types",
    "magic",
    "inputrc",
    "bash.bashrc",
    "terminfo",
    "fonts",
    "nsswitch.conf",
    "protocols",
    "services",
    "host.conf",
    "gai.conf",
    "login.defs",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates",
    "ca-certificates.conf",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
    "crypto-policies",
    "python3",
    "python3.11",
    "python3.12",
    "python3.13",
    "java",
    "perl",
    "R",
)
_NETWORK = ("resolv.conf", "hosts")
_SECRETS = (
    ".ssh",
    ".aws",
    ".azure",
    ".gnupg",
    ".kube",
    ".docker",
    ".config/gcloud",
    ".config/gh",
    ".config/op",
    ".netrc",
    ".pgpass",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".password-store",
    ".local/share/keyrings",
    ".mozilla",
    ".config/google-chrome",
    ".config/chromium",
    ".bash_history",
    ".zsh_history",
    ".python_history",
)
_KEPT = frozenset(("PATH", "LANG", "LANGUAGE", "TZ"))
_FIXED = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "SHELL": "/bin/bash"}
_PATH = "/usr/local/bin:/usr/bin:/bin"


class View:
    """The files of a command: the system read-only, its own folders writable, secrets in them covered.

    `hidden` are folders such as the agent's own home; like the well-known places of keys in the user's home they are
    covered where a writable or readable folder contains them.
    """

    def __init__(self, settings: SandboxSettings, environment: Mapping[str, str], hidden: Sequence[Path] = ()) -> None:
        self.settings = settings
        home = Path(environment.get("HOME") or "/")
        self._hidden = (*hidden, *(home / name for name in _SECRETS if home != Path("/")))
        self._readable = (
            *(Path(path).expanduser() for path in settings.readable),
            Path(sys.prefix),
            Path(sys.base_prefix),
            _PACKAGE,
        )
        kept = {name: value for name, value in environment.items() if name in _KEPT or name.startswith("LC_")}
        self._environment = {"PATH": _PATH, **kept, **_FIXED, "USER": "agent", "LOGNAME": "agent"}

    def environment(self, **more: str) -> dict[str, str]:
        """What a command finds in its environment: nothing of the agent's."""
        return {**self._environment, **more}

    def mounts(self, boundary: Boundary) -> list[tuple[str, str]]:
        """What is put over the bare system, outer folders first: `write`, `read`, `empty` folders, `void` files."""
        write = {_usable(path) for path in (boundary.workspace, *boundary.shared)}
        read = {
            path
            for path in (Path(os.path.realpath(path)) for path in self._readable)
            if path.exists() and not path.is_relative_to("/usr") and not any(map(path.is_relative_to, write))
        }
        covered = {path: "empty" if path.is_dir() else "void" for path in self._covered(write | read)}
        kinds = {**covered, **dict.fromkeys(read, "read"), **dict.fromkeys(write, "write")}
        return [(kinds[path], str(path)) for path in sorted(kinds, key=lambda path: (len(path.parts), path))]

    def _covered(self, shown: set[Path]) -> set[Path]:
        paths = {Path(os.path.realpath(path)) for path in self._hidden}
        return {path for path in paths if path.exists() and any(map(path.is_relative_to, shown)) and path not in shown}

    def system(self, *, network: bool) -> list[str]:
        """The files of /etc a command may read: none of them holds a secret."""
        return [f"/etc/{name}" for name in (*_SYSTEM, *(_NETWORK if network else ()))]

    def launch(self, plan: Plan, boundary: Boundary, command: Sequence[str]) -> list[str]:
        """The argv of the launcher that carries out `plan` and then becomes `command`."""
        settings = self.settings
        whole: Plan = {
            "mounts": self.mounts(boundary),
            "system": self.system(network=boundary.network),
            "directory": os.path.realpath(boundary.directory),
            "network": boundary.network,
            "memory": settings.memory_mb << 20,
            "scratch": max(settings.memory_mb << 19, 1 << 20),
            "processes": settings.processes,
            "cpu": settings.cpu_seconds,
            "file": settings.file_mb << 20,
            "scratch_place": tempfile.gettempdir(),
            **plan,
        }
        python = sys.executable or "python3"
        packed = marshal.dumps(dict(whole)).hex()
        return [python, "-I", "-S", "-c", _BOOT, str(_FOLDER), packed, *command]


def _usable(path: Path) -> Path:
    """A folder that may be given to commands for writing."""
    real = Path(os.path.realpath(path))
    if real in _NEVER or any(real.is_relative_to(never) for never in _NEVER[1:4]):
        raise UsageError(f"{real} cannot be given to sandboxed commands", remedy="work in a folder of your own")
    return real


def shell() -> str:
    """The shell commands are written for."""
    return "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
