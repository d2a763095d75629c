"""Commands over ssh, against a server of our own on loopback with keys that live as long as the test."""

import asyncio
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.tools.sandbox.base import Boundary
from hermes_agent.tools.sandbox.ssh import Ssh
from hermes_agent.types.errors import ConfigError
from hermes_agent.types.tools import ToolResult
from tests.tools.context import ENVIRONMENT
from tests.tools.sandbox.conftest import Bench

SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")
SERVER = """\
Port {port}
ListenAddress 127.0.0.1
HostKey {folder}/host
AuthorizedKeysFile {folder}/authorized
PidFile {folder}/pid
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
AllowAgentForwarding yes
PermitRootLogin prohibit-password
"""


class Server:
    """A server with one account: ours."""

    def __init__(self, folder: Path) -> None:
        assert SSHD is not None
        folder.mkdir()
        self.folder = folder
        for name in ("host", "client"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True)
        (folder / "authorized").write_text((folder / "client.pub").read_text())
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        (folder / "sshd_config").write_text(SERVER.format(port=self.port, folder=folder))
        key = (folder / "host.pub").read_text().split()[:2]
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {' '.join(key)}\n")
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(exist_ok=True)
        self._process = subprocess.Popen(
            [SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=subprocess.DEVNULL
        )
        self._answers()

    def _answers(self) -> None:
        for _ in range(500):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise AssertionError("sshd does not answer")

    def sandbox(self, known: str = "known", settings: SandboxSettings | None = None) -> Ssh:
        config = self.folder / f"config-{known}"
        config.write_text(
            f"Host box\n  HostName 127.0.0.1\n  Port {self.port}\n  User {getpass.getuser()}\n"
            f"  IdentityFile {self.folder}/client\n  IdentitiesOnly yes\n  UserKnownHostsFile {self.folder}/{known}\n"
            "  GlobalKnownHostsFile /dev/null\n  ForwardAgent yes\n  SendEnv *\n"
        )
        settings = settings or SandboxSettings(host="box")
        return Ssh(settings, ENVIRONMENT, options=("-F", str(config)))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    if SSHD is None:
        if os.environ.get("CI") == "true":
            pytest.fail("sshd is not installed, and CI=true promises it")
        pytest.skip("sshd is not installed")
    made = Server(tmp_path_factory.mktemp("ssh") / "server")
    yield made
    made.close()


HOSTILE = (
    'echo "it\'s" \'a "b" c\'',
    "echo '$(id)' '`id`' \\$HOME",
    "printf '%s|' 'a b' \"x\ny\" ';' '&' '|' '*' '~' '!' '#'",
    "cat <<'E'\n'\"$x`\\\nE",
    'x="\'; exit 9; \'"; echo "$x"',
    "echo '-oProxyCommand=touch escaped'; # comment '",
    "echo {a,b} $'tab' \\\\ '\\' %s %d",
    "echo ünïcödé 🜚 $((1 << 4))",
)


@pytest.mark.slow
@pytest.mark.req("R3")
def test_commands_run_there_word_for_word(server: Server, tmp_path: Path) -> None:
    bench = Bench(tmp_path, server.sandbox())
    server.sandbox().prove(tmp_path)
    for command in HOSTILE:
        here = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, cwd=tmp_path, check=False)
        assert bench.run(command) == ToolResult(text=here.stdout.rstrip("\n")), command
    assert bench.run("pwd; echo x > made; exit 4") == ToolResult(
        ok=False, error="exit_4", text=f"{bench.workspace}\n[exit code 4]"
    )
    assert (bench.workspace / "made").read_text() == "x\n"
    assert bench.run("cat; cat", stdin="given\n") == ToolResult(text="given")


def test_nothing_of_ours_goes_along(server: Server, tmp_path: Path) -> None:
    bench = Bench(tmp_path, server.sandbox())
    names = {line.partition("=")[0] for line in bench.run("env").text.splitlines()}
    expected = {
        "HOME",
        "PATH",
        "USER",
        "LOGNAME",
        "LANG",
        "TERM",
        "PAGER",
        "GIT_PAGER",
        "GIT_TERMINAL_PROMPT",
        "HERMES_MARK",
    }
    assert names - {"PWD", "_", "SHLVL", "OLDPWD"} == expected
    assert bench.run("test -t 0 || test -t 1 || echo no terminal").text == "no terminal"


def running(mark: str) -> list[int]:
    """Programs that sleep for this long."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cmdline()[-2:] == ["sleep", mark] and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (psutil.Error, IndexError):
            continue
    return found


def outlasting(mark: str) -> list[int]:
    """Those still running after the time their end may take."""
    for _ in range(200):
        if not running(mark):
            break
        time.sleep(0.05)
    return running(mark)


@pytest.mark.req("R3")
@pytest.mark.parametrize(
    "command",
    ["sleep {}", "trap '' TERM HUP; sleep {}; sleep {}", "setsid sleep {} & nohup setsid sleep {} & sleep {}"],
)
def test_a_time_out_ends_the_processes_at_the_other_end(server: Server, tmp_path: Path, command: str) -> None:
    bench, mark = Bench(tmp_path, server.sandbox()), f"61.{uuid4().int}"
    result = bench.run(command.replace("{}", mark) + "; true", timeout=0.8)
    assert result.error == "timeout"

    assert outlasting(mark) == []


@pytest.mark.req("R3")
def test_a_connection_gone_before_the_shell_began_ends_the_command(server: Server, tmp_path: Path) -> None:
    """Whoever is above the shell then is not the connection, and would live on for ever."""
    mark, boundary = f"61.{uuid4().int}", Boundary(workspace=tmp_path, directory=tmp_path)
    remote = server.sandbox().wrap(f"touch begun; sleep {mark}; true", boundary)[-1]
    subprocess.run(["/bin/sh", "-c", f"(sleep 0.2; {remote}) &"], check=True)
    for _ in range(200):
        if (tmp_path / "begun").exists():
            break
        time.sleep(0.05)
    assert (tmp_path / "begun").exists()
    assert outlasting(mark) == []


def test_a_stranger_in_the_place_of_the_host_is_refused(server: Server, tmp_path: Path) -> None:
    (server.folder / "nobody").write_text("")
    other = (server.folder / "client.pub").read_text().split()[:2]
    (server.folder / "other").write_text(f"[127.0.0.1]:{server.port} {' '.join(other)}\n")
    for known in ("nobody", "other"):
        with pytest.raises(ConfigError, match="ssh to box does not work"):
            server.sandbox(known).prove(tmp_path)
        bench = Bench(tmp_path, server.sandbox(known))
        assert bench.run("touch ran").error == "exit_255"
    assert os.listdir(tmp_path / "workspace") == []


@pytest.mark.parametrize("host", ["", "-oProxyCommand=id", "a b", "box\n-v"])
def test_a_host_that_is_an_option_is_refused(host: str) -> None:
    with pytest.raises(ConfigError, match=r"sandbox\.host is"):
        Ssh(SandboxSettings(host=host), ENVIRONMENT)


def test_a_missing_workspace_is_said(server: Server, tmp_path: Path) -> None:
    bench = Bench(tmp_path, server.sandbox())
    bench.workspace.rmdir()
    result = asyncio.run(bench.processes.run("touch ran", directory=tmp_path, timeout=20))
    assert result.ok
    argv = bench.sandbox.wrap("touch ran", bench.table.boundary(bench.workspace, network=False))
    done = subprocess.run(argv, env=bench.sandbox.environment(), capture_output=True, text=True, check=False)
    assert (done.returncode, "workspace" in done.stderr) == (125, True)
