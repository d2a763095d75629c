"""What a confined command has: its workspace, a system to work with, a bare environment, and what it was granted."""

import asyncio
import fcntl
import os
import pty
import socket
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.tools.sandbox.base import Boundary
from hermes_agent.tools.sandbox.seccomp import filter_program
from hermes_agent.types.tools import ToolResult
from tests.tools.context import ENVIRONMENT
from tests.tools.sandbox.conftest import Bench, Making, need
from tests.tools.sandbox.stage import Listener


@pytest.mark.req("R3")
def test_the_workspace_is_writable_and_stays_the_owners(confined: Making) -> None:
    bench = confined(SandboxSettings())
    (bench.workspace / "given").write_text("before")
    (bench.workspace / "given").chmod(0o600)
    result = bench.run(
        "cat given && echo after > given && mkdir sub && cd sub && pwd && ln -s ../given link && cat link"
    )
    assert result == ToolResult(text=f"before{bench.workspace}/sub\nafter")
    owners = {path.lstat().st_uid for path in (bench.workspace, *bench.workspace.rglob("*"))}
    assert owners == {os.getuid()}


def test_files_of_other_users_in_the_workspace(bubblewrap: Making) -> None:
    bench = bubblewrap(SandboxSettings())
    if os.getuid():
        pytest.skip("only root can give files away")
    for name, mode in (("open", 0o666), ("readable", 0o644), ("closed", 0o600)):
        file = bench.workspace / name
        file.write_text(name)
        file.chmod(mode)
        os.chown(file, 12345, 12345)
    result = bench.run("cat open readable closed; echo more >> open; echo more >> readable; echo more >> closed")
    assert "openreadable" in result.text
    assert [(bench.workspace / name).read_text() for name in ("open", "readable", "closed")] == [
        "openmore\n",
        "readable",
        "closed",
    ]


def test_a_command_works_as_it_would_outside(confined: Making) -> None:
    bench = confined(SandboxSettings())
    tools = "yes | head -2 | sort -u; python3 -c 'print(6*7)'; date +%Y >/dev/null; echo a | tee f >/dev/null; wc -c <f"
    assert bench.run(tools) == ToolResult(text="y\n42\n2")
    assert bench.run("cat", stdin="given\n") == ToolResult(text="given")
    assert bench.run("exit 3").error == "exit_3"
    assert bench.run("echo $0; kill -9 $$").error in ("signal_9", "exit_137")
    assert bench.run("mktemp >/dev/null && echo made").text == "made"
    assert bench.run("cd && echo x > y && cat y").text == "x"
    assert bench.run("echo 'it''s' \"$((1+1))\" 'a\nb' \\$HOME").text == "its 2 a\nb $HOME"
    assert bench.run(f"{sys.executable} -c 'import sys, msgspec; print(sys.prefix)'").text == sys.prefix


def test_the_environment_holds_nothing_of_the_agents(confined: Making) -> None:
    bench = confined(SandboxSettings())
    text = bench.run("env").text
    assert "sk-" not in text
    names = {line.partition("=")[0] for line in text.splitlines()} - {"_", "SHLVL", "PWD", "LC_CTYPE"}
    fixed = {"PATH", "TERM", "PAGER", "GIT_PAGER", "GIT_TERMINAL_PROMPT", "SHELL", "USER", "LOGNAME", "HOME", "TMPDIR"}
    assert names == fixed | {"HERMES_MARK"}


def test_what_is_not_there_or_not_allowed_is_said(bubblewrap: Making, tmp_path: Path) -> None:
    bench = bubblewrap(SandboxSettings())
    sandbox = bench.sandbox
    missing = asyncio.run(bench.processes.run("true", directory=bench.workspace / "none", timeout=9))
    assert missing.error == "not_found"
    outside = asyncio.run(bench.processes.run("pwd", directory=tmp_path, timeout=9))
    assert (outside.ok, outside.text.splitlines()[0]) == (True, str(tmp_path))
    assert bench.run("echo \0").error == "invalid"
    whole = Bench(tmp_path, sandbox)
    whole.table.workspace = Path("/")
    refused = ToolResult(
        ok=False, error="sandbox", text="/ cannot be given to sandboxed commands (work in a folder of your own)"
    )
    assert asyncio.run(whole.processes.run("true", directory=Path("/"), timeout=9)) == refused
    assert asyncio.run(whole.processes.start("true", directory=Path("/"))) == refused


def test_what_cannot_be_set_up_does_not_run(bubblewrap: Making, tmp_path: Path) -> None:
    bench = bubblewrap(SandboxSettings())
    gone = tmp_path / "gone"
    for boundary in (
        Boundary(workspace=gone, directory=bench.workspace),
        Boundary(workspace=bench.workspace, directory=gone),
        Boundary(workspace=bench.workspace, directory=bench.workspace, shared=(gone,)),
    ):
        argv = bench.sandbox.wrap("echo ran", boundary)
        done = subprocess.run(argv, env=bench.sandbox.environment(), capture_output=True, text=True, check=False)
        assert (done.stdout, done.returncode != 0, "bwrap: Can't" in done.stderr) == ("", True, True)


def test_folders_that_are_shared_read_only_or_hidden(tmp_path: Path) -> None:
    for name in ("shared", "library", "workspace/.agent", "workspace/deep"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_text(name)
    (tmp_path / "workspace" / ".netrc").write_text("password")
    environment = {**ENVIRONMENT, "HOME": str(tmp_path / "workspace")}
    settings = SandboxSettings(readable=(str(tmp_path / "library"), str(tmp_path / "none")))
    hidden = [tmp_path / "workspace" / ".agent", tmp_path / "elsewhere"]
    sandbox = need("bubblewrap", environment, hidden)(settings)
    bench = Bench(tmp_path, sandbox)
    command = f"cat {tmp_path}/shared/file {tmp_path}/library/file deep/file; cat .agent/file .netrc"
    assert bench.run(command, shared=[tmp_path / "shared"]).text.splitlines() == [
        "sharedlibraryworkspace/deepcat: .agent/file: No such file or directory",
        "cat: .netrc: Permission denied",
        "[exit code 1]",
    ]
    write = f"echo x > {tmp_path}/shared/new; echo x > {tmp_path}/library/new; echo x > .agent/new; echo x > .netrc"
    assert not bench.run(write, shared=[tmp_path / "shared"]).ok
    assert bench.run(f"ls {tmp_path}").text == "library\nworkspace"
    assert (tmp_path / "workspace" / ".netrc").read_text() == "password"
    found = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("new")}
    assert found == {"shared/new"}


@pytest.mark.req("R3")
def test_the_network_is_there_only_when_granted(confined: Making) -> None:
    bench = confined(SandboxSettings())
    listener = Listener(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0))
    hidden = Listener(socket.AF_UNIX, socket.SOCK_STREAM, f"\0hermes-{os.getpid()}")
    try:
        command = f"exec 3<>/dev/tcp/127.0.0.1/{listener.address[1]} && echo reached"
        assert bench.run(command).ok is False
        assert listener.arrived == 0
        assert bench.run(command, network=True).text == "reached"
        code = f"import socket; socket.socket(socket.AF_UNIX).connect('\\0hermes-{os.getpid()}')"
        (bench.workspace / "abstract.py").write_text(code)
        assert not bench.run("python3 abstract.py", network=True).ok
        assert (listener.arrived, hidden.arrived) == (1, 0)
    finally:
        listener.close()
        hidden.close()


def test_a_socket_in_a_shared_folder_can_be_used(confined: Making, tmp_path: Path) -> None:
    bench, shared = confined(SandboxSettings()), tmp_path / "shared"
    shared.mkdir()
    listener = Listener(socket.AF_UNIX, socket.SOCK_STREAM, str(shared / "s"))
    try:
        (bench.workspace / "call.py").write_text(
            f"import socket; socket.socket(1).connect('{shared}/s'); print('called')"
        )
        assert bench.run("python3 call.py", shared=[shared]).text == "called"
        assert listener.wait_for(1)
    finally:
        listener.close()


def test_nothing_can_be_typed_into_the_users_terminal(confined: Making) -> None:
    """With a terminal as its input, as no command of the agent has one: the worst case."""
    bench = confined(SandboxSettings())
    keeper, terminal = pty.openpty()
    code = (
        "import fcntl, os\n"
        "for path in ('/dev/tty', '/dev/stdin'):\n"
        "    try:\n"
        "        fd = os.open(path, os.O_RDWR)\n"
        "        for c in b'escaped\\n': fcntl.ioctl(fd, 0x5412, bytes([c]))\n"
        "    except OSError as error: print(error)\n"
    )
    (bench.workspace / "type.py").write_text(code)
    argv = bench.sandbox.wrap("python3 type.py", Boundary(workspace=bench.workspace, directory=bench.workspace))
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import os, fcntl, sys; os.setsid(); fcntl.ioctl(0, 0x540E, 0); os.execv(sys.argv[1], sys.argv[1:])",
            *argv,
        ],
        stdin=terminal,
        capture_output=True,
        env=bench.sandbox.environment(),
        cwd=bench.workspace,
        timeout=30,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    waiting = int.from_bytes(fcntl.ioctl(terminal, termios.FIONREAD, bytes(4)), sys.byteorder)
    os.close(keeper)
    os.close(terminal)
    assert waiting == 0


def test_the_filter_is_whole() -> None:
    program = filter_program(sockets=())
    assert len(program) % 8 == 0
    assert 0 < len(program) // 8 < 4096
    assert program[-8] == 0x06
    targets = [at // 8 + 1 + max(program[at + 2 : at + 4]) for at in range(0, len(program) - 8, 8)]
    assert max(targets) < len(program) // 8
