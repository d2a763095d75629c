"""The whole agent in front of an endpoint that speaks OpenAI's responses format and checks every request."""

from itertools import pairwise
from pathlib import Path

import pytest

from hermes_agent import Agent, tool
from hermes_agent.types.trace import RunStatus
from tests.endpoint import Call, Calls, Endpoint, Reply, Text, Thinking, by_results
from tests.models.openai_responses.conversing import settled

SCRIPT: list[Reply] = [
    Calls(
        calls=(Call(name="echo", arguments={"text": "a"}), Call(name="echo", arguments={"text": "b"})),
        text="Let me see.",
        thinking=Thinking(text="two calls"),
    ),
    Text(text="a and b", thinking=Thinking(text="easy")),
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
        agent = Agent(model="openai_responses:gpt-5.6-sol", base_url=endpoint.url, workspace=workspace, home=home)
        agent.register_tool(echo)
        first = agent.run("go")
        second = agent.run("again", session=first.session_id)
        agent.close()
        bodies = [request.body for request in endpoint.requests]
    ended = [(result.status, result.answer) for result in (first, second)]
    assert ended == [(RunStatus.DONE, "a and b")] * 2
    assert len(bodies) == 4
    for earlier, later in pairwise(bodies):
        assert later.startswith(settled(earlier))
