"""Whatever a tool does, the run goes on: raising, hanging, returning odd things, asking the process to end."""

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import CallFinished, Decided
from hermes_agent.types.tools import ToolResult
from hermes_agent.types.trace import CallStatus
from tests.harness.rig import Rig, call, calling, events, of, results, saying

IN_DOUBT = "interrupted; the effect may have happened; verify before repeating"


class Wordless(Exception):
    """An error that cannot even be printed."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def raising(error: BaseException) -> Callable[[], Any]:
    def run() -> None:
        raise error

    return run


def raising_later(error: BaseException) -> Callable[[], Any]:
    async def run() -> None:
        raise error

    return run


def deep() -> int:
    return deep() + 1


def outcome(rig: Rig, function: Callable[..., Any], **declaration: Any) -> CallFinished:
    """How one call of a function ends, after which the agent must still answer and take another request."""
    given: dict[str, Any] = {"capabilities": [], "effect": "none", **declaration}
    agent = rig.agent([calling(call("odd")), saying("went on"), saying("and on")], [Tool("odd", function, **given)])
    result = agent.run("try it")
    assert (result.answer, agent.run("again").answer) == ("went on", "and on")
    (done,) = of(CallFinished, events(agent, result))
    return msgspec.structs.replace(done, duration_ms=0.0)


@pytest.mark.req("R14", "A13")
@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (raising(ValueError("bad value")), "ValueError", "ValueError: bad value"),
        (raising(SystemExit(3)), "RuntimeError", "RuntimeError: SystemExit: 3"),
        (raising(KeyboardInterrupt()), "RuntimeError", "RuntimeError: KeyboardInterrupt: "),
        (raising(asyncio.CancelledError()), "RuntimeError", "RuntimeError: CancelledError: "),
        (raising(StopIteration("end")), "RuntimeError", "RuntimeError: StopIteration: end"),
        (raising(Wordless()), "Wordless", "Wordless, which does not say what it means"),
        (raising(OSError("name \udcff here")), "OSError", "OSError: name � here"),
        (raising_later(ValueError("bad value")), "ValueError", "ValueError: bad value"),
        (raising_later(SystemExit(3)), "SystemExit", "SystemExit: 3"),
        (raising_later(KeyboardInterrupt()), "KeyboardInterrupt", "KeyboardInterrupt: "),
        (raising_later(asyncio.CancelledError("stop")), "CancelledError", "CancelledError: stop"),
        (raising_later(GeneratorExit()), "GeneratorExit", "GeneratorExit: "),
        (deep, "RecursionError", "RecursionError: maximum recursion depth exceeded"),
    ],
)
def test_whatever_is_raised_becomes_a_result(
    local_rig: Rig, function: Callable[..., Any], error: str, text: str
) -> None:
    assert outcome(local_rig, function) == CallFinished(
        call_id="call_0_0",
        tool="odd",
        status=CallStatus.ERROR,
        text=msgspec.json.encode({"error": text}).decode(),
        error=error,
    )


class Thing:
    """Something that is no JSON."""

    def __repr__(self) -> str:
        return "<a thing>"


@pytest.mark.req("R14", "A13")
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "done"),
        (b"\xff\x00bytes", "�\x00bytes"),
        ("NUL \x00, half a pair \ud800, a fox 🦊", "NUL \x00, half a pair �, a fox 🦊"),
        ("", ""),
        ([1, {"a": None}], '[1,{"a":null}]'),
        ({"thing": Thing()}, '{"thing":"<a thing>"}'),
        (ToolResult(text="a result"), "a result"),
    ],
)
def test_whatever_is_returned_becomes_text(rig: Rig, value: Any, text: str) -> None:
    assert outcome(rig, lambda: value) == CallFinished(call_id="call_0_0", tool="odd", status=CallStatus.OK, text=text)


@pytest.mark.req("A13")
def test_an_error_that_is_returned_is_an_error(local_rig: Rig) -> None:
    assert outcome(local_rig, lambda: {"error": "no such place"}) == CallFinished(
        call_id="call_0_0",
        tool="odd",
        status=CallStatus.ERROR,
        text='{"error":"no such place"}',
        error="tool_error",
    )


@pytest.mark.req("R14", "A13")
def test_a_result_that_is_none_is_an_error_and_no_crash(local_rig: Rig) -> None:
    broken = msgspec.structs.replace(ToolResult(), text=None)
    done = outcome(local_rig, lambda: broken)
    assert (done.status, done.error) == (CallStatus.ERROR, "TypeError")


@pytest.mark.slow
@pytest.mark.req("R14")
def test_a_hundred_megabytes_are_cut_and_can_be_read_on(local_rig: Rig) -> None:
    line = "0123456789 abcdef\n"
    size = 100_000_000
    agent = local_rig.agent(
        [calling(call("huge")), saying("read")],
        [Tool("huge", lambda: (line * (size // len(line) + 1))[:size], capabilities=[], effect="none")],
    )
    result = agent.run("read it all")
    (done,) = of(CallFinished, events(agent, result))
    blob = agent.app.store.blobs(agent.session_id).path(done.blob)
    assert blob.stat().st_size == size
    assert len(done.text) < 17_000
    assert f"characters left out; read_file(path='blob:{done.blob[:16]}') reads on" in done.text


@pytest.mark.req("R14")
@pytest.mark.parametrize("kind", ["thread", "async"])
def test_a_once_call_that_hangs_is_in_doubt_and_never_repeated(rig: Rig, kind: str) -> None:
    begun: list[int] = []
    release = threading.Event()

    def hang() -> None:
        begun.append(1)
        release.wait(30)

    async def hang_too() -> None:
        begun.append(1)
        await asyncio.sleep(30)

    done = outcome(rig, hang if kind == "thread" else hang_too, effect="once", timeout=0.05)
    release.set()
    text = f"odd did not finish within 0.05 seconds; {IN_DOUBT}"
    assert done == CallFinished(
        call_id="call_0_0",
        tool="odd",
        status=CallStatus.IN_DOUBT,
        text=msgspec.json.encode({"error": text}).decode(),
        error="timeout",
    )
    assert begun == [1]


@pytest.mark.req("R14")
@pytest.mark.parametrize("kind", ["thread", "async"])
@pytest.mark.parametrize("effect", ["none", "idempotent"])
def test_a_repeatable_call_that_hangs_is_tried_again(local_rig: Rig, kind: str, effect: str) -> None:
    begun: list[int] = []
    release = threading.Event()

    def hang() -> str:
        begun.append(1)
        if len(begun) < 3:
            release.wait(30)
        return "at last"

    async def hang_too() -> str:
        begun.append(1)
        if len(begun) < 3:
            await asyncio.sleep(30)
        return "at last"

    done = outcome(local_rig, hang if kind == "thread" else hang_too, effect=effect, timeout=0.05)
    release.set()
    assert done == CallFinished(call_id="call_0_0", tool="odd", status=CallStatus.OK, text="at last", attempts=3)


@pytest.mark.req("R14")
def test_retries_end_with_the_calls_own_limit(local_rig: Rig) -> None:
    local_rig.configure(limits={"call_retries": 1})
    done = outcome(local_rig, raising(ConnectionResetError("reset")), effect="idempotent")
    assert (done.status, done.attempts, done.error) == (CallStatus.ERROR, 2, "ConnectionResetError")


@pytest.mark.req("R14")
def test_retries_are_shared_by_all_calls_of_a_request(rig: Rig) -> None:
    rig.configure(limits={"retries": 3, "call_retries": 2, "same_failure": 50})

    def down(number: int) -> str:
        """Never up."""
        raise ConnectionError("down")

    script = [calling(call("down", number=1)), calling(call("down", number=2)), calling(call("down", number=3))]
    agent = rig.agent([*script, saying("gave up")], [Tool("down", down, capabilities=[], effect="none")])
    result = agent.run("try")
    journal = events(agent, result)
    assert [done.attempts for done in of(CallFinished, journal)] == [3, 2, 1]
    assert [(item.choice, item.reason) for item in of(Decided, journal)] == [
        ("retry", "down: ConnectionError: a passing failure of a repeatable call"),
        ("retry", "down: ConnectionError: a passing failure of a repeatable call"),
        ("skip", "down: ConnectionError: tried 3 times"),
        ("retry", "down: ConnectionError: a passing failure of a repeatable call"),
        ("skip", "down: ConnectionError: no retries left for this request"),
        ("skip", "down: ConnectionError: no retries left for this request"),
    ]


@pytest.mark.req("R14")
def test_a_once_call_that_raises_is_not_repeated(local_rig: Rig) -> None:
    done = outcome(local_rig, raising(ConnectionError("gone")), effect="once")
    assert (done.status, done.attempts) == (CallStatus.ERROR, 1)


@pytest.mark.req("R14", "A13")
def test_calls_the_model_got_wrong(local_rig: Rig) -> None:
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    script = [
        calling(call("ad", a=1, b=2), call("add", a=1), call("add", a="x", b=2), call("add", a=1, b=2, c=3)),
        saying("done"),
    ]
    agent = local_rig.agent(script, [Tool("add", add, capabilities=[], effect="none")])
    result = agent.run("add")
    assert results(agent, result) == [
        ("call_0_0", "error", "unknown_tool"),
        ("call_0_1", "error", "bad_arguments"),
        ("call_0_2", "error", "bad_arguments"),
        ("call_0_3", "error", "bad_arguments"),
    ]
    texts = [msgspec.json.decode(done.text)["error"] for done in of(CallFinished, events(agent, result))]
    assert texts == [
        "there is no tool 'ad'; did you mean add?",
        "add: Object missing required field `b`",
        "add: Expected `int`, got `str` - at `$.a`",
        "add: Object contains unknown field `c`",
    ]
