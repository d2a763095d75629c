"""The container back end: the command line it would give to an engine, and a real engine where there is one."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.tools.sandbox.base import Boundary
from hermes_agent.tools.sandbox.container import Container
from hermes_agent.types.errors import ConfigError
from tests.tools.context import ENVIRONMENT

SETTINGS = SandboxSettings(image="registry.example/tools:1", memory_mb=512, processes=64, cpu_seconds=60, file_mb=100)
ENGINE = """#!/bin/sh
case $1 in
  info) exit 0 ;;
  kill) echo "kill $2" >> {log}; exit 0 ;;
  run) for word; do printf '%s\\0' "$word"; done > {log}.argv; env > {log}.env; exec {then} ;;
esac
"""


def engine(folder: Path, name: str, then: str = "true") -> Path:
    """A program that writes down how it is called, in the place of an engine."""
    program = folder / name
    program.write_text(ENGINE.format(log=folder / "log", then=then))
    program.chmod(0o755)
    return program


def recorded(folder: Path) -> list[str]:
    return (folder / "log.argv").read_bytes().decode().split("\0")[:-1]


@pytest.mark.req("R3")
@pytest.mark.parametrize("network", [False, True])
def test_the_recorded_command_line(tmp_path: Path, network: bool) -> None:
    workspace, shared = tmp_path / "work space", tmp_path / "shared"
    workspace.mkdir()
    shared.mkdir()
    sandbox = Container(SETTINGS, {**ENVIRONMENT, "DOCKER_HOST": "unix:///x"}, engine=str(engine(tmp_path, "docker")))
    sandbox.prove(tmp_path)
    command = "echo 'a b' \"$HOME\" `id` $(id); \\\n exit 3 # ü"
    boundary = Boundary(workspace=workspace, directory=workspace, network=network, shared=(shared,))
    subprocess.run(sandbox.wrap(command, boundary), env=sandbox.environment(), cwd=workspace, check=True)
    argv = recorded(tmp_path)
    name = argv[argv.index("--name") + 1]
    owner = workspace.stat()
    assert argv == [
        "run",
        *("--rm", "--interactive", "--init", "--name", name, "--network", "bridge" if network else "none"),
        *("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
        *("--pids-limit", "64", "--memory", "512m", "--memory-swap", "512m"),
        *("--user", f"{owner.st_uid}:{owner.st_gid}"),
        *("--tmpfs", "/tmp:rw,nosuid,nodev,mode=1777,size=256m"),
        *("--tmpfs", "/home/agent:rw,nosuid,nodev,mode=1777,size=256m"),
        *("--volume", f"{workspace}:{workspace}:rw", "--volume", f"{shared}:{shared}:rw"),
        *("--env", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
        *("--env", "TERM=dumb", "--env", "PAGER=cat", "--env", "GIT_PAGER=cat", "--env", "GIT_TERMINAL_PROMPT=0"),
        *("--env", "SHELL=/bin/bash", "--env", "USER=agent", "--env", "LOGNAME=agent"),
        *("--env", "HOME=/home/agent", "--env", "TMPDIR=/tmp"),
        *("--workdir", str(workspace), "registry.example/tools:1", "/bin/sh", "-c"),
        "ulimit -c 0; ulimit -t 60; ulimit -f 204800; " + command,
    ]
    assert "OPENAI" not in (tmp_path / "log.env").read_text()
    assert sandbox.reason.startswith("docker with registry.example/tools:1: each command has a container of its own")


def test_secrets_in_the_workspace_are_covered(tmp_path: Path) -> None:
    workspace = tmp_path / "home"
    (workspace / ".ssh").mkdir(parents=True)
    (workspace / ".netrc").write_text("password")
    sandbox = Container(SETTINGS, {"HOME": str(workspace)}, engine=str(engine(tmp_path, "docker")))
    argv = sandbox.wrap("true", Boundary(workspace=workspace, directory=workspace))
    at = argv.index(f"{workspace}:{workspace}:rw") + 1
    assert argv[at : at + 4] == [
        "--volume",
        f"/dev/null:{workspace}/.netrc:ro",
        "--tmpfs",
        f"{workspace}/.ssh:ro,size=1m",
    ]


def test_the_container_is_ended_when_its_client_is(tmp_path: Path) -> None:
    sandbox = Container(SETTINGS, ENVIRONMENT, engine=str(engine(tmp_path, "podman", then="sleep 60")))
    argv = sandbox.wrap("sleep 60", Boundary(workspace=tmp_path, directory=tmp_path))
    client = subprocess.Popen(argv, env=sandbox.environment(), cwd=tmp_path, start_new_session=True)
    while not (tmp_path / "log.env").exists():
        os.sched_yield()
    os.killpg(client.pid, 9)
    client.wait()
    argv = recorded(tmp_path)
    limit = time.monotonic() + 30
    while time.monotonic() < limit and not ((tmp_path / "log").exists() and (tmp_path / "log").read_text()):
        time.sleep(0.01)
    assert (tmp_path / "log").read_text() == f"kill {argv[argv.index('--name') + 1]}\n"


def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has a colon in it"):
        colon = tmp_path / "a:b"
        colon.mkdir()
        Container(SETTINGS, ENVIRONMENT, engine="docker").wrap("true", Boundary(workspace=colon, directory=colon))
    broken = tmp_path / "podman"
    broken.write_text("#!/bin/sh\necho no engine runs >&2; exit 1\n")
    broken.chmod(0o755)
    with pytest.raises(ConfigError, match="podman does not work here: no engine runs"):
        Container(SETTINGS, ENVIRONMENT, engine=str(broken)).prove(tmp_path)


def test_a_real_engine(tmp_path: Path) -> None:
    try:
        sandbox = Container(SandboxSettings(), dict(os.environ))
        sandbox.prove(tmp_path)
    except ConfigError as error:
        pytest.skip(f"no container engine runs here: {error}")
    boundary = Boundary(workspace=tmp_path, directory=tmp_path)
    done = subprocess.run(
        sandbox.wrap("echo x > made; id -u; cat /proc/net/route | wc -l; touch /escaped", boundary),
        env=sandbox.environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    if "pull" in done.stderr.lower() or "image" in done.stderr.lower():
        pytest.skip(f"the image cannot be had here: {done.stderr[:200]}")
    assert (tmp_path / "made").read_text() == "x\n"
    assert done.returncode != 0
