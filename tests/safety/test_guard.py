"""A registered function is held to its declaration: sockets, processes and files beyond it are refused and logged."""

import asyncio
import functools
import http.server
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import CallFinished
from hermes_agent.types.tools import ToolContext, ToolResult
from hermes_agent.types.trace import CallStatus
from tests.harness.rig import Rig, call, calling, events, of, saying


class Page(http.server.BaseHTTPRequestHandler):
    """One page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>hello</html>")

    def log_message(self, format: str, *args: Any) -> None:
        return None


@pytest.fixture
def address() -> Iterator[tuple[str, int]]:
    """A web server on loopback."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield ("127.0.0.1", server.server_address[1])
        server.shutdown()


def ended(
    rig: Rig, function: Callable[..., Any], capabilities: Sequence[str] = (), effect: str = "none"
) -> CallFinished:
    """How one call of a function ends, after which the agent goes on."""
    agent = rig.agent(
        [calling(call("act")), saying("went on")], [Tool("act", function, capabilities=capabilities, effect=effect)]
    )
    result = agent.run("act")
    assert result.answer == "went on"
    (done,) = of(CallFinished, events(agent, result))
    return msgspec.structs.replace(done, duration_ms=0.0, labels=())


def refused(reason: str) -> CallFinished:
    return CallFinished(
        call_id="call_0_0",
        tool="act",
        status=CallStatus.REFUSED,
        text=msgspec.json.encode({"error": reason}).decode(),
        error="undeclared",
        refusals=(reason,),
    )


def ok(text: str) -> CallFinished:
    return CallFinished(call_id="call_0_0", tool="act", status=CallStatus.OK, text=text)


def later(function: Callable[[], Any]) -> Callable[[], Any]:
    """The same as a coroutine function."""

    async def run() -> Any:
        await asyncio.sleep(0)
        return function()

    return run


def at_once(function: Callable[[], Any]) -> Callable[[], Any]:
    """The same as a plain function."""

    def run() -> Any:
        return function()

    return run


BOTH = pytest.mark.parametrize("form", [at_once, later], ids=["thread", "async"])
Form = Callable[[Callable[[], Any]], Callable[[], Any]]


@BOTH
@pytest.mark.req("R3")
def test_a_socket_needs_network(rig: Rig, address: tuple[str, int], form: Form) -> None:
    def reach() -> str:
        with socket.create_connection(address, timeout=5):
            return "reached"

    reason = "act tried to use the network without declaring 'network'"
    assert ended(rig, form(reach)) == refused(reason)
    assert ended(rig, form(reach), ["files.read", "files.write", "shell"]) == refused(reason)
    assert ended(rig, form(reach), ["network"]) == ok("reached")


@BOTH
@pytest.mark.req("R3")
def test_a_process_needs_shell(local_rig: Rig, form: Form) -> None:
    def start() -> str:
        return subprocess.run(["echo", "started"], capture_output=True, text=True, check=True).stdout

    def system() -> int:
        return os.system("true")

    reason = "act tried to start a process without declaring 'shell'"
    assert ended(local_rig, form(start)) == refused(reason)
    assert ended(local_rig, form(system), ["network"]) == refused(reason)
    assert ended(local_rig, form(start), ["shell"]) == ok("started\n")


@BOTH
@pytest.mark.req("R3")
def test_files_need_a_declaration_and_stay_in_the_workspace(rig: Rig, tmp_path: Path, form: Form) -> None:
    inside, outside = rig.workspace / "in.txt", tmp_path / "out.txt"
    inside.write_text("inside")
    outside.write_text("outside")

    def read(path: Path) -> Callable[[], Any]:
        return form(path.read_text)

    def write(path: Path) -> Callable[[], Any]:
        return form(functools.partial(path.write_text, "changed"))

    assert ended(rig, read(inside)) == refused(f"act tried to read {inside} without declaring 'files.read'")
    assert ended(rig, read(inside), ["files.read"]) == ok("inside")
    beyond = f"act tried to read {outside} which is outside its folder"
    assert ended(rig, read(outside), ["files.read"]) == refused(beyond)
    undeclared = f"act tried to write {inside} without declaring 'files.write'"
    assert ended(rig, write(inside), ["files.read"]) == refused(undeclared)
    beyond = f"act tried to write {outside} which is outside its folder"
    assert ended(rig, write(outside), ["files.write"]) == refused(beyond)
    assert (inside.read_text(), outside.read_text()) == ("inside", "outside")
    assert ended(rig, write(inside), ["files.write"]) == ok("7")
    assert inside.read_text() == "changed"


@pytest.mark.req("R3")
def test_a_link_out_of_the_workspace_leads_nowhere(local_rig: Rig, tmp_path: Path) -> None:
    outside = tmp_path / "secret.txt"
    outside.write_text("secret")
    (local_rig.workspace / "link").symlink_to(outside)
    done = ended(local_rig, (local_rig.workspace / "link").read_text, ["files.read", "files.write"])
    assert done == refused(f"act tried to read {outside} which is outside its folder")


@BOTH
@pytest.mark.req("R3")
def test_deleting_moving_and_making_need_a_declaration(local_rig: Rig, tmp_path: Path, form: Form) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("keep me")
    actions: list[tuple[Callable[[], Any], Path]] = [
        ((kept / "file").unlink, kept / "file"),
        (functools.partial(os.rename, kept / "file", local_rig.workspace / "file"), kept / "file"),
        (functools.partial(shutil.rmtree, kept), kept),
        ((kept / "new").mkdir, kept / "new"),
        (functools.partial(os.truncate, kept / "file", 0), kept / "file"),
        (functools.partial(os.chmod, kept / "file", 0), kept / "file"),
        (functools.partial(sqlite3.connect, kept / "data.db"), kept / "data.db"),
        (functools.partial(sqlite3.connect, f"file:{kept}/data.db?mode=rwc", uri=True), kept / "data.db"),
    ]
    for action, path in actions:
        reason = f"act tried to write {path} which is outside its folder"
        assert ended(local_rig, form(action), ["files.read", "files.write"], "once") == refused(reason)
    assert {path.name: path.read_text() for path in kept.iterdir()} == {"file": "keep me"}


@pytest.mark.req("R3")
def test_a_path_relative_to_an_open_folder_is_seen_through(local_rig: Rig, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("keep me")
    folder = os.open(kept, os.O_RDONLY)
    try:
        done = ended(local_rig, lambda: os.remove("file", dir_fd=folder), ["files.write"])
    finally:
        os.close(folder)
    assert done == refused(f"act tried to write {kept / 'file'} which is outside its folder")
    assert (kept / "file").exists()


@pytest.mark.req("R3")
def test_a_function_with_the_capability_can_do_its_work(local_rig: Rig) -> None:
    folder = local_rig.workspace

    def work() -> str:
        with tempfile.NamedTemporaryFile("w+", dir=folder) as file, sqlite3.connect(folder / "data.db") as data:
            file.write("text")
            data.execute("CREATE TABLE t (x)")
        (folder / "sub").mkdir()
        (folder / "sub" / "a").write_text("a")
        os.rename(folder / "sub" / "a", folder / "sub" / "b")
        (folder / "sub" / "b").unlink()
        (folder / "sub").rmdir()
        return "worked"

    assert ended(local_rig, work, ["files.read", "files.write"], "once") == ok("worked")


@pytest.mark.trunk
@pytest.mark.req("R3", "R12")
def test_requests_imported_inside_the_function_works(rig: Rig, address: tuple[str, int]) -> None:
    def fetch_url() -> str:
        import requests

        return requests.get(f"http://{address[0]}:{address[1]}/", timeout=10).text

    assert ended(rig, fetch_url, ["network"]) == ok("<html>hello</html>")
    done = ended(rig, fetch_url, [], "idempotent")
    assert (done.status, done.error, done.attempts) == (CallStatus.REFUSED, "undeclared", 1)
    assert set(done.refusals) == {"act tried to use the network without declaring 'network'"}


@pytest.mark.req("R3")
def test_a_refusal_the_function_hides_is_still_logged(local_rig: Rig, address: tuple[str, int]) -> None:
    def sly() -> str:
        try:
            socket.create_connection(address, timeout=5)
        except OSError:
            return "nothing to see"
        return "reached"

    reason = "act tried to use the network without declaring 'network'"
    assert ended(local_rig, sly) == msgspec.structs.replace(ok("nothing to see"), refusals=(reason,))


@pytest.mark.req("R3")
def test_two_functions_at_once_keep_their_own_watch(local_rig: Rig, address: tuple[str, int]) -> None:
    together = threading.Barrier(2, timeout=30)

    def reach() -> str:
        """Reach out."""
        together.wait()
        with socket.create_connection(address, timeout=5):
            return "reached"

    tools = [
        Tool("may", reach, capabilities=["network"], effect="none"),
        Tool("may_not", reach, capabilities=[], effect="none"),
    ]
    agent = local_rig.agent([calling(call("may"), call("may_not")), saying("done")], tools)
    result = agent.run("both")
    found = {done.tool: (done.status, done.refusals) for done in of(CallFinished, events(agent, result))}
    assert found == {
        "may": (CallStatus.OK, ()),
        "may_not": (CallStatus.REFUSED, ("may_not tried to use the network without declaring 'network'",)),
    }


@pytest.mark.req("R3")
def test_two_coroutines_at_once_keep_their_own_watch(local_rig: Rig) -> None:
    (local_rig.workspace / "a").write_text("a")
    together = asyncio.Barrier(2)

    async def read() -> str:
        """Read."""
        await together.wait()
        return (local_rig.workspace / "a").read_text()

    tools = [
        Tool("may", read, capabilities=["files.read"], effect="none"),
        Tool("may_not", read, capabilities=[], effect="none"),
    ]
    agent = local_rig.agent([calling(call("may"), call("may_not")), saying("done")], tools)
    found = {done.tool: done.status for done in of(CallFinished, events(agent, agent.run("both")))}
    assert found == {"may": CallStatus.OK, "may_not": CallStatus.REFUSED}


@pytest.mark.req("R3")
def test_outside_a_tool_nobody_is_watched(local_rig: Rig, tmp_path: Path, address: tuple[str, int]) -> None:
    ended(local_rig, lambda: "watched once, so that the hook is there")
    (tmp_path / "free").write_text("free")
    assert (tmp_path / "free").read_text() == "free"
    socket.create_connection(address, timeout=5).close()
    assert subprocess.run(["true"], check=True).returncode == 0


@pytest.mark.req("R3")
def test_what_the_runtime_offers_works_under_the_watch(rig: Rig) -> None:
    def keep(context: ToolContext) -> str:
        return context.blobs.get(context.blobs.put(b"kept")).decode()

    async def command(context: ToolContext) -> ToolResult:
        return await context.processes.run("echo ran", directory=context.workspace, timeout=30)

    async def remember(context: ToolContext) -> str | None:
        await context.values.set("key", "value")
        return await context.values.get("key")

    assert ended(rig, keep) == ok("kept")
    assert ended(rig, command, ["shell"]) == ok("ran")
    assert ended(rig, command) == refused("act tried to start a process without declaring 'shell'")
    assert ended(rig, remember) == ok("value")


@pytest.mark.req("R3")
def test_reading_code_is_importing_and_a_folder_with_a_similar_name_is_not(local_rig: Rig, tmp_path: Path) -> None:
    neighbour = Path(f"{os.path.realpath(sys.prefix)}-neighbour-{os.getpid()}")
    if not os.access(neighbour.parent, os.W_OK):
        pytest.skip("the folder beside the environment cannot be written")
    neighbour.mkdir()
    try:
        (neighbour / "data").write_text("private")
        done = ended(local_rig, (neighbour / "data").read_text, ["files.read"])
        assert done == refused(f"act tried to read {neighbour / 'data'} which is outside its folder")
    finally:
        shutil.rmtree(neighbour)
