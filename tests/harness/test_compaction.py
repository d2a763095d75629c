"""Long conversations: old turns become a summary, recent ones stay, the journal keeps all, and no turn is lost."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent import Agent, Tool
from hermes_agent.harness.compaction import apply, cut_of
from hermes_agent.models.client import ModelAnswer, TextListener
from hermes_agent.models.request import ModelRequest
from hermes_agent.types.errors import ModelError, ModelFailure
from hermes_agent.types.events import (
    AssistantMessage,
    CallFinished,
    Compacted,
    Fragment,
    Message,
    PrefixFrozen,
    UserMessage,
)
from hermes_agent.types.tools import Label, ToolCall
from hermes_agent.types.trace import CallStatus, RunStatus
from tests.harness.rig import events

FACTS = "models:\n  'talker:m': {context_window: 8000, max_output: 100}\n"
BIG = "x" * 1800


class Talker:
    """Calls a tool with long results a number of times, then answers; summarises when asked to."""

    provider = "talker"
    model = "m"

    def __init__(self, calls: int, *, summary: str = "SUMMARY", too_long_at: int = -1) -> None:
        self._calls = calls
        self._summary = summary
        self._too_long_at = too_long_at
        self.requests: list[list[Message]] = []
        self.summarised: list[str] = []

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        if not request.prefix.tools:
            self.summarised += [message.text for message in request.transcript]
            if not self._summary:
                raise ModelError(ModelFailure.REFUSED, "no summaries today")
            return ModelAnswer(text=self._summary, stop="stop")
        self.requests.append(list(request.transcript))
        if len(self.requests) == self._too_long_at:
            raise ModelError(ModelFailure.CONTEXT_TOO_LONG, "too long")
        if len(self.requests) > self._calls:
            return ModelAnswer(text="done", stop="stop")
        call = ToolCall(id=f"c{len(self.requests)}", name="look", arguments={"n": len(self.requests)})
        return ModelAnswer(text="", calls=(call,), stop="tool_calls")

    async def close(self) -> None:
        return None


def agent_with(home: Path, model: Talker, share: float = 0.75, labels: frozenset[Label] | None = None) -> Agent:
    prompt = f"prompt: {{compact_share: {share}, keep_share: 0.25, identity: Brief.}}\n"
    (home / "config.yaml").write_text(f"{prompt}skills: {{mode: off}}\nmemory: {{mode: off}}\n")
    (home / "models.yaml").write_text(FACTS)
    agent = Agent(name="long", model=model, home=home, workspace=home)
    look = Tool("look", lambda n: f"{n} {BIG}", capabilities=[], effect="none", parameters={})
    agent.register_tool(look.with_spec(labels=labels))
    return agent


def test_a_long_run_is_shortened_and_finishes(home: Path) -> None:
    model = Talker(14)
    agent = agent_with(home, model)
    result = agent.run("look fourteen times at MARKER")
    journal = events(agent, result)
    found = agent.wait(agent.app.store.sessions.search("MARKER", 5))
    compacted = [event for event in journal if isinstance(event, Compacted)]
    epochs = [event.reason for event in journal if isinstance(event, PrefixFrozen)]
    results = [event for event in journal if isinstance(event, CallFinished)]
    agent.close()
    assert result.status is RunStatus.DONE
    assert compacted and all(event.by == "model" and "SUMMARY" in event.summary for event in compacted)
    assert epochs == ["new session"] + ["compaction"] * len(compacted)
    assert len(results) == 14, "the journal keeps what is no longer sent"
    assert [hit.role for hit in found] == ["user"]
    last = model.requests[-1]
    assert isinstance(last[0], Fragment) and "look fourteen times at MARKER" in last[0].text
    assert len(last) < 14


def test_every_request_keeps_calls_with_their_results(home: Path) -> None:
    model = Talker(20)
    agent = agent_with(home, model)
    agent.run("look")
    agent.close()
    for messages in model.requests:
        asked = [call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls]
        answered = [message.call_id for message in messages if isinstance(message, CallFinished)]
        assert asked == answered


def test_another_process_reads_the_shortened_conversation(home: Path) -> None:
    first = Talker(14)
    agent = agent_with(home, first)
    session = agent.run("look").session_id
    agent.close()
    second = Talker(0)
    agent = agent_with(home, second)
    agent.run("and now?", session=session)
    agent.close()
    before, after = first.requests[-1], second.requests[0]
    assert after[: len(before)] == before
    assert [type(message) for message in after[len(before) :]] == [AssistantMessage, UserMessage]


@pytest.mark.req("B5", "R9")
def test_what_strangers_wrote_is_summed_up_apart(home: Path) -> None:
    model = Talker(14)
    agent = agent_with(home, model, labels=frozenset((Label.UNTRUSTED,)))
    result = agent.run("look fourteen times")
    compacted = [event for event in events(agent, result) if isinstance(event, Compacted)]
    agent.close()
    assert result.status is RunStatus.DONE and compacted
    own, strangers = model.summarised[0], model.summarised[1]
    assert BIG not in own and "Result of look (ok): (a stranger's text; summed up apart)" in own
    assert BIG[:500] in strangers and "look fourteen times" not in strangers
    assert all("SUMMARY" in event.summary and "SUMMARY" in event.aside for event in compacted)
    first, second = model.requests[-1][:2]
    assert [one.source for one in (first, second) if isinstance(one, Fragment)] == ["summary", "strangers"]


def test_a_summariser_that_fails_never_costs_the_turn(home: Path) -> None:
    agent = agent_with(home, Talker(14, summary=""))
    result = agent.run("look carefully")
    compacted = [event for event in events(agent, result) if isinstance(event, Compacted)]
    agent.close()
    assert result.status is RunStatus.DONE
    assert compacted[0].by == "list (no summaries today)"
    assert "Result of look (ok)" in compacted[0].summary
    assert "- look carefully" in compacted[0].summary


def test_a_model_that_says_too_long_is_asked_again_with_less(home: Path) -> None:
    model = Talker(8, too_long_at=7)
    agent = agent_with(home, model, share=1.0)
    result = agent.run("look")
    agent.close()
    assert result.status is RunStatus.DONE
    assert len(model.requests[7]) < len(model.requests[6])


def test_what_cannot_be_cut_fails_with_the_models_own_words(home: Path) -> None:
    agent = agent_with(home, Talker(0, too_long_at=1))
    result = agent.run("look")
    agent.close()
    assert (result.status, result.reason) == (RunStatus.FAILED, "too long")


CALL = ToolCall(id="c", name="t")
TURNS: list[list[Message]] = [
    [UserMessage(text="u")],
    [AssistantMessage(text="a")],
    [Fragment(source="f", text="f")],
    [
        AssistantMessage(text="", calls=(CALL,)),
        CallFinished(call_id="c", tool="t", status=CallStatus.OK, text="r" * 50),
    ],
]


@given(st.lists(st.sampled_from(TURNS), max_size=30), st.integers(1, 3000))
def test_a_cut_never_parts_a_call_from_its_result(turns: list[list[Message]], keep: int) -> None:
    messages = [message for turn in turns for message in turn]
    cut = cut_of(messages, keep)
    if cut is None:
        return
    assert len(cut.old) + cut.kept == len(messages)
    kept = messages[len(cut.old) :]
    assert not isinstance(kept[0], CallFinished)
    after = apply(messages, Compacted(summary="s", dropped=len(cut.old)))
    assert after == [Fragment(source="summary", text="s"), *kept]


@pytest.mark.parametrize("messages", [[], [UserMessage(text="only")]])
def test_there_must_be_something_to_cut(messages: list[Message]) -> None:
    assert cut_of(messages, 1) is None
