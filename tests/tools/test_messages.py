"""Messages to people, as a tool sends them and as the store keeps them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.store.open import Store
from hermes_agent.tools.builtin.messages import notify, send_message
from hermes_agent.tools.tool import declared_tool
from hermes_agent.types.tools import Capability, Effect, ToolResult
from tests.store.samples import begun
from tests.tools.context import Context


@pytest.mark.req("A4")
def test_messages_go_to_the_outbox_once_for_each_call(tmp_path: Path) -> None:
    context = Context(tmp_path)
    for _ in range(2):
        assert context.now(send_message, to=" Ann ", text="hello\n") == ToolResult(
            text="message key to Ann is in the outbox"
        )
    context.idempotency_key = "second"
    assert context.now(notify, text="done", urgent=True).ok
    assert context.outbox.messages == {"key": ("Ann", "hello", False), "second": ("user", "done", True)}


@pytest.mark.parametrize(
    "arguments",
    [
        {"to": "", "text": "x"},
        {"to": "a" * 201, "text": "x"},
        {"to": "a\nBcc: b", "text": "x"},
        {"to": "a\u202eb", "text": "x"},
        {"to": "a\x00b", "text": "x"},
        {"to": "a", "text": " "},
        {"to": "a", "text": "x" * 20_001},
    ],
)
def test_bad_and_hostile_messages(tmp_path: Path, arguments: dict[str, Any]) -> None:
    context = Context(tmp_path)
    assert context.now(send_message, **arguments).error == "bad_argument"
    assert context.outbox.messages == {}


def test_notify_needs_a_text(tmp_path: Path) -> None:
    assert Context(tmp_path).now(notify, text="\n").error == "bad_argument"


def test_through_the_real_outbox(store: Store, tmp_path: Path) -> None:
    async def scenario() -> None:
        context = Context(tmp_path)
        run = await begun(store)
        context.outbox = store.outbox.of_run(run.session_id, run.id)  # type: ignore[assignment]
        for _ in range(2):
            await context.call(send_message, to="Ann", text="hi \ud800 \x00 there")
        (message,) = await store.outbox.messages(10)
        assert (message.to, message.text, message.run_id, message.urgent) == ("Ann", "hi \ufffd   there", run.id, False)

    asyncio.run(scenario())


@pytest.mark.req("R3", "R4")
def test_what_they_declare() -> None:
    sending, telling = declared_tool(send_message), declared_tool(notify)
    assert sending is not None and telling is not None
    assert (sending.spec.capabilities, sending.spec.effect, sending.spec.destinations) == (
        frozenset((Capability.MESSAGES,)),
        Effect.ONCE,
        ("to",),
    )
    assert (telling.spec.capabilities, telling.spec.effect) == (frozenset(), Effect.ONCE), "the user is no stranger"
