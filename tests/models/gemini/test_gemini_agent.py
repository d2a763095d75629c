"""The whole agent in front of an endpoint that speaks Gemini's format and checks every request."""

from itertools import pairwise
from pathlib import Path

import pytest

from hermes_agent import Agent, tool
from hermes_agent.types.trace import RunStatus
from tests.endpoint import Endpoint, Reply, by_results, call, calls, text

SCRIPT: list[Reply] = [
    calls(call("echo", text="a"), call("echo", text="b"), text="Let me see.", thinking="two calls"),
    text("a and b", thinking="easy"),
]


@pytest.mark.req("R9")
def test_two_runs_of_a_session_are_one_growing_conversation(tmp_path: Path) -> None:
    home, workspace = tmp_path / "home", tmp_path / "workspace"
    home.mkdir()
    workspace.mkdir()

    @tool(capabilities=(), effect="once")
    def echo(text: str) -> str:
        """Say it again."""
        return text

    with Endpoint(by_results(SCRIPT)) as endpoint:
        url = f"{endpoint.origin}/v1beta"
        agent = Agent(model="gemini:gemini-3-pro", base_url=url, workspace=workspace, home=home)
        agent.register_tool(echo)
        first = agent.run("go")
        second = agent.run("again", session=first.session_id)
        agent.close()
        bodies = [request.body for request in endpoint.requests]
    assert [(result.status, result.answer) for result in (first, second)] == [(RunStatus.DONE, "a and b")] * 2
    assert len(bodies) == 4
    for earlier, later in pairwise(bodies):
        assert later.startswith(earlier[: earlier.rindex(b"]}]")])
    assert bodies[-1].count(b'"thoughtSignature"') == 3
