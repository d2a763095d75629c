"""Throw-away environments: one for each peer, from the package registry."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import msgspec


class Environment(msgspec.Struct, frozen=True, kw_only=True):
    folder: Path
    version: str

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


class InstallFailed(Exception):
    """The registry or the package refused; the message is the installer's."""


def find_uv() -> str:
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.exists() else shutil.which("uv")
    if found is None:
        raise InstallFailed("uv is missing; install it into this environment")
    return found


def install(folder: Path, requirements: tuple[str, ...]) -> Environment:
    """Makes the environment unless it is already there for these requirements; the first is the peer itself."""
    stamp = folder / "requirements.txt"
    wanted = "\n".join(requirements) + "\n"
    uv = find_uv()
    if not stamp.exists() or stamp.read_text() != wanted:
        _run(uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(folder))
        python = str(folder / "bin" / "python")
        _run(uv, "pip", "install", "--quiet", "--compile-bytecode", "--python", python, *requirements)
        stamp.write_text(wanted)
    distribution = requirements[0].split("==")[0].split("[")[0]
    code = f"import importlib.metadata as m; print(m.version({distribution!r}))"
    return Environment(folder=folder, version=_run(str(folder / "bin" / "python"), "-c", code).strip())


def installed(folder: Path) -> Environment | None:
    """The environment that an earlier `install` made, if it did."""
    stamp = folder / "requirements.txt"
    return install(folder, tuple(stamp.read_text().split())) if stamp.exists() else None


def one_certificate(environment: Environment, folder: Path) -> Path:
    """A file with the first authority that the environment's certifi trusts, and no other."""
    end = "-----END CERTIFICATE-----"
    everything = _run(str(environment.python), "-c", "import certifi; print(certifi.contents())")
    file = folder / "one.pem"
    file.write_text(everything.partition(end)[0] + end + "\n")
    return file


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise InstallFailed(" | ".join(done.stderr.strip().splitlines()[-4:])[-500:])
    return done.stdout
