"""The library's first example, as written, in a process of its own; and processes that end as they should."""

import ast
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.endpoint import Endpoint, by_results, call, calls, text

EXAMPLE = Path(__file__).with_name("example.py.txt")


class Page(http.server.BaseHTTPRequestHandler):
    """One page."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"<html>example</html>")

    def log_message(self, format: str, *args: Any) -> None:
        return None


@pytest.fixture
def page() -> Iterator[str]:
    """The address of a page on loopback."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()


def run(program: str, home: Path, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program in a process of its own, with nothing but what a user would set."""
    given = {"HERMES_HOME": str(home), "HOME": str(folder), "PATH": os.environ["PATH"], **environment}
    return subprocess.run(
        [sys.executable, "-c", program], env=given, cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.trunk
@pytest.mark.req("R12")
def test_the_example_runs_as_written(home: Path, tmp_path: Path, page: str) -> None:
    program = EXAMPLE.read_text().replace("https://example.com", page)
    with Endpoint(by_results([calls(call("fetch_url", url=page)), text("It says example.")]), key="k-1") as endpoint:
        ended = run(
            program, home, tmp_path, OPENAI_BASE_URL=endpoint.url, OPENAI_API_KEY="k-1", HERMES_MODEL="openai:scripted"
        )
        bodies = [msgspec.json.decode(request.body) for request in endpoint.requests]
    assert (ended.returncode, ended.stderr) == (0, "")
    record = ast.literal_eval(ended.stdout)
    assert record == {
        "tool": "fetch_url",
        "input": {"url": page},
        "output": "<html>example</html>",
        "duration": record["duration"],
        "status": "ok",
        "latency_ms": record["latency_ms"],
        "error": None,
    }
    assert 0 < record["duration"] < 10
    assert bodies[0]["messages"][-1] == {"role": "user", "content": f"Fetch the content from {page}"}
    assert bodies[1]["messages"][-1]["content"] == "<html>example</html>"
    declared = {tool["function"]["name"]: tool["function"] for tool in bodies[0]["tools"]}
    assert declared["fetch_url"] == {
        "name": "fetch_url",
        "description": "Fetch content from a URL",
        "parameters": {"type": "object", "properties": {"url": {"type": "string"}}, "required": ["url"]},
    }


@pytest.mark.req("R12", "R3")
def test_the_example_without_the_capability_is_refused_and_ends_well(home: Path, tmp_path: Path, page: str) -> None:
    program = EXAMPLE.read_text().replace("https://example.com", page).replace('["network"]', "[]")
    program += "\nprint(result)\n"
    with Endpoint(by_results([calls(call("fetch_url", url=page)), text("I may not.")])) as endpoint:
        ended = run(program, home, tmp_path, OPENAI_BASE_URL=endpoint.url, HERMES_MODEL="openai:scripted")
    assert (ended.returncode, ended.stderr) == (0, "")
    history, answer = ended.stdout.splitlines()
    record = ast.literal_eval(history)
    assert (record["status"], record["error"], answer) == ("refused", "undeclared", "I may not.")
    assert record["output"] == '{"error":"fetch_url tried to use the network without declaring \'network\'"}'


@pytest.mark.req("R12")
def test_without_a_model_the_example_says_what_to_do(home: Path, tmp_path: Path) -> None:
    ended = run(EXAMPLE.read_text(), home, tmp_path)
    assert ended.returncode == 1
    assert "ConfigError: no model is configured" in ended.stderr


HANGING = """
import threading, time
from hermes_agent import Agent, Tool
from hermes_agent.models.providers.scripted import ScriptedCall, ScriptedModel, Turn

def hang() -> None:
    time.sleep(3600)

async def hang_too() -> None:
    time.sleep(0.01)
    import asyncio
    await asyncio.sleep(3600)

calls = (ScriptedCall(name="hang"), ScriptedCall(name="hang_too"))
model = ScriptedModel([Turn(calls=calls), Turn(text="gave up waiting")])
agent = Agent(name="hanging", model=model)
for function in (hang, hang_too):
    agent.register_tool(Tool(function.__name__, function, capabilities=[], effect="once", timeout=0.2))
print(agent.run("hang"), flush=True)
"""


@pytest.mark.req("R14")
def test_a_tool_that_hangs_does_not_keep_the_process_alive(home: Path, tmp_path: Path) -> None:
    ended = run(HANGING, home, tmp_path)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "gave up waiting\n", "")


LEAVING = """
import sys, threading, time
from hermes_agent import Agent, Tool
from hermes_agent.models.providers.scripted import ScriptedCall, ScriptedModel, Turn

inside = threading.Event()

def hang() -> None:
    inside.set()
    time.sleep(3600)

model = ScriptedModel([Turn(calls=(ScriptedCall(name="hang"),)), Turn(text="finished")])
agent = Agent(name="leaving", model=model)
agent.register_tool(Tool("hang", hang, capabilities=[], effect="idempotent", timeout=3600))
threading.Thread(target=agent.run, args=("hang",), daemon=True).start()
inside.wait()
sys.exit(7)
"""


@pytest.mark.req("R14", "R2")
def test_a_program_may_leave_in_the_middle_of_a_run(home: Path, tmp_path: Path) -> None:
    first = run(LEAVING, home, tmp_path)
    assert first.returncode == 7
    finishing = LEAVING.replace("time.sleep(3600)\n\n", "return None\n\n").replace(
        'threading.Thread(target=agent.run, args=("hang",), daemon=True).start()\ninside.wait()\nsys.exit(7)',
        "print([str(result) for result in agent.resume()])",
    )
    second = run(finishing, home, tmp_path)
    assert (second.returncode, second.stdout, second.stderr) == (0, "['finished']\n", "")
