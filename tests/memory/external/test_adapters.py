"""Every adapter against a fake that the official client of its service, where there is one, understood first."""

from pathlib import Path
from typing import Any

import pytest

from hermes_agent.memory.external import MemoryFailed, Recalled
from hermes_agent.memory.service import LONGEST_MESSAGE
from tests.memory.external.asking import FACT, QUESTION, SERVICES, TURN, ask, memory_at, told_and_asked
from tests.memory.external.server import KEY, Fault, MemoryServer

BOTH = f"user: {FACT}\n\nassistant: Noted."
FOUND = {
    "honcho": Recalled(text=FACT, score=0.0, origin="c-0"),
    "mem0": Recalled(text=FACT, score=1.0, origin="m-0"),
    "hindsight": Recalled(text=BOTH, score=1.0, origin="f-0"),
    "supermemory": Recalled(text=BOTH, score=1.0, origin="m-0"),
    "openviking": Recalled(text=FACT, score=1.0, origin="viking://user/memories/events/0.md"),
    "retaindb": Recalled(text=BOTH, score=1.0, origin="m-0"),
    "byterover": Recalled(text=FACT, score=1.0, origin=""),
    "http": Recalled(text=BOTH, score=1.0, origin=""),
}
SAID = [{"role": "user", "content": FACT}, {"role": "assistant", "content": "Noted."}]
REQUESTS: dict[str, list[tuple[str, str, Any]]] = {
    "honcho": [
        ("POST", "/v3/workspaces", {"id": "hermes"}),
        ("POST", "/v3/workspaces/hermes/sessions", {"id": "first-session", "peers": {"user": {}, "hermes": {}}}),
        (
            "POST",
            "/v3/workspaces/hermes/sessions/first-session/messages",
            {"messages": [{"content": FACT, "peer_id": "user"}, {"content": "Noted.", "peer_id": "hermes"}]},
        ),
        (
            "POST",
            "/v3/workspaces/hermes/conclusions/query",
            {"query": QUESTION, "top_k": 5, "filters": {"observer_id": "user", "observed_id": "user"}},
        ),
    ],
    "mem0": [
        (
            "POST",
            "/v3/memories/add/",
            {"messages": SAID, "user_id": "hermes", "metadata": {"session": "first/session"}},
        ),
        ("POST", "/v3/memories/search/", {"query": QUESTION, "filters": {"user_id": "hermes"}, "top_k": 5}),
    ],
    "hindsight": [
        (
            "POST",
            "/v1/default/banks/hermes/memories",
            {
                "items": [
                    {
                        "content": BOTH,
                        "context": "conversation with an assistant",
                        "metadata": {"session": "first/session"},
                    }
                ],
                "async": True,
            },
        ),
        (
            "POST",
            "/v1/default/banks/hermes/memories/recall",
            {"query": QUESTION, "budget": "low", "max_tokens": 1024},
        ),
    ],
    "supermemory": [
        (
            "POST",
            "/ns/hermes/document",
            {"content": BOTH, "metadata": {"session": "first/session"}, "taskType": "memory"},
        ),
        ("POST", "/ns/hermes/search", {"query": QUESTION, "searchMode": "memories", "limit": 5}),
    ],
    "openviking": [
        ("POST", "/api/v1/sessions/first%2Fsession/messages/batch", {"messages": SAID}),
        ("POST", "/api/v1/sessions/first%2Fsession/commit", {"keep_recent_count": 0}),
        (
            "POST",
            "/api/v1/search/find",
            {"query": QUESTION, "target_uri": "", "limit": 5, "context_type": "memory"},
        ),
    ],
    "retaindb": [
        ("POST", "/v1/memory", {"project": "hermes", "content": BOTH, "memory_type": "event"}),
        (
            "POST",
            "/v1/memory/search",
            {"project": "hermes", "query": QUESTION, "top_k": 5, "include_pending": True},
        ),
    ],
    "byterover": [
        ("POST", "/memories", {"messages": SAID, "userId": "hermes"}),
        ("POST", "/memories/search", {"query": QUESTION, "limit": 5}),
    ],
    "http": [
        ("PUT", "/spaces/my%20space%2F../note", {"words": BOTH, "session": "first/session"}),
        (
            "POST",
            "/spaces/my%20space%2F../look?who=hermes",
            {"find": {"text": QUESTION, "top": 5}, "in": ["second", 1, None]},
        ),
    ],
}
FAILURES = {
    Fault.UNAUTHORIZED: "401 from {url}: no such key (check MEM0_API_KEY)",
    Fault.TOO_MANY: "429 from {url}: slower (the service asks to wait; it is left alone for a while)",
    Fault.BROKEN: "500 from {url} (",
    Fault.HTML: "the answer is no JSON: <!doctype html><title>Sign in</title> (check memory.address",
    Fault.NOT_JSON: 'the answer is no JSON: {{"results": [',
    Fault.CUT: "{url}: peer closed connection",
    Fault.HUGE: "the answer is longer than 1000000 bytes",
    Fault.PACKED: "the answer is packed (gzip)",
    Fault.DEEP: "the answer is no JSON: [[[",
    Fault.INVALID_UTF8: "the answer is no JSON:",
    Fault.WRONG_SHAPE: "the answer has another shape than expected",
    Fault.REDIRECT: "307 from {url} (put the address that it redirects to into memory.address)",
    Fault.HANG_UP: "{url}: Server disconnected",
}


@pytest.mark.req("A6")
@pytest.mark.parametrize("name", SERVICES)
def test_a_turn_is_remembered_and_recalled(name: str, home: Path) -> None:
    with MemoryServer(SERVICES[name][0]) as server:
        recalled = ask(told_and_asked(memory_at(name, server.url, home)))
        assert [(asked.method, asked.path, asked.body) for asked in server.asked] == REQUESTS[name]
    assert recalled == [FOUND[name]]


@pytest.mark.parametrize("name", SERVICES)
def test_the_service_is_checked_and_a_wrong_key_named(name: str, home: Path) -> None:
    with MemoryServer(SERVICES[name][0]) as server:
        assert ask(memory_at(name, server.url, home).check()) == ""
        wrong = memory_at(name, server.url, home, key="another-key-5678")
        assert ask(wrong.check()).startswith(f"{name}: 401 from {server.url}")
        with pytest.raises(MemoryFailed, match="401 from") as failed:
            ask(wrong.recall(QUESTION, "s", 5))
        with pytest.raises(MemoryFailed, match="401 from"):
            ask(wrong.remember("s", TURN))
    assert failed.value.advice == f"check {name.upper()}_API_KEY"


@pytest.mark.parametrize("fault", FAILURES)
def test_every_fault_is_a_failure_with_its_reason(fault: Fault, home: Path) -> None:
    with MemoryServer(SERVICES["mem0"][0]) as server:
        server.fault = fault
        with pytest.raises(MemoryFailed) as failed:
            ask(memory_at("mem0", server.url, home).recall(QUESTION, "s", 5))
        assert failed.value.explain().startswith("mem0: " + FAILURES[fault].format(url=server.url))
        assert [asked.path for asked in server.asked] == ["/v3/memories/search/"], "asked once, redirects not followed"


@pytest.mark.parametrize("name", [name for name in SERVICES if name != "mem0"])
@pytest.mark.parametrize("fault", [Fault.BROKEN, Fault.HTML, Fault.WRONG_SHAPE])
def test_no_adapter_takes_a_fault_for_an_empty_memory(name: str, fault: Fault, home: Path) -> None:
    with MemoryServer(SERVICES[name][0]) as server:
        server.fault = fault
        with pytest.raises(MemoryFailed):
            ask(memory_at(name, server.url, home).recall(QUESTION, "s", 5))


def test_nobody_listening_is_said_with_the_address(home: Path) -> None:
    with MemoryServer(SERVICES["mem0"][0]) as server:
        url = server.url
    memory = memory_at("mem0", url, home)
    assert ask(memory.check()).startswith(f"mem0: {url}: ")


@pytest.mark.parametrize("name", ["honcho", "openviking", "supermemory", "hindsight", "http"])
@pytest.mark.parametrize("hostile", ["../../admin", "..", "a?b=c#d", "x\r\nEvil: yes", "ü/…"])
def test_a_name_of_a_session_or_place_stays_one_piece_of_the_path(name: str, hostile: str, home: Path) -> None:
    place = {"honcho": "workspace", "supermemory": "namespace", "hindsight": "bank", "http": "project"}.get(name)
    options = {place: hostile} if place else {}
    with MemoryServer(SERVICES[name][0]) as server:
        ask(memory_at(name, server.url, home, **options).remember(hostile, TURN))
        depths = {asked.path.partition("?")[0].count("/") for asked in server.asked}
        assert all("evil" not in asked.headers for asked in server.asked)
        assert depths <= {request[1].partition("?")[0].count("/") for request in REQUESTS[name]}


def test_long_messages_are_cut_and_many_are_sent_in_parts(home: Path) -> None:
    turn = [("user", "x" * 100_000)] + [("assistant", f"answer {number}") for number in range(120)]
    with MemoryServer(SERVICES["honcho"][0]) as server:
        ask(memory_at("honcho", server.url, home).remember("s", turn))
        sent = [asked.body["messages"] for asked in server.asked if asked.path.endswith("/messages")]
    assert [len(part) for part in sent] == [100, 21]
    assert LONGEST_MESSAGE < len(sent[0][0]["content"]) < LONGEST_MESSAGE + 100


def test_items_without_text_are_passed_over_and_odd_scores_are_none(home: Path) -> None:
    answer = {
        "results": [
            {"memory": "kept", "score": "high", "id": 7},
            {"memory": "  "},
            {"memory": None},
            "text",
            None,
            {"memory": "also \ud83d\ude00", "score": 10**30},
            {"memory": "last", "score": True},
        ]
    }
    with MemoryServer(lambda asked, kept: answer) as server:
        recalled = ask(memory_at("mem0", server.url, home).recall("q", "s", 9))
    assert recalled == [Recalled(text="kept"), Recalled(text="also 😀"), Recalled(text="last")]


def test_a_turn_that_is_an_address_is_never_sent_bare(home: Path) -> None:
    with MemoryServer(SERVICES["supermemory"][0]) as server:
        ask(memory_at("supermemory", server.url, home).remember("s", [("user", "http://internal.example/secret")]))
        assert server.asked[0].body["content"] == "user: http://internal.example/secret"


def test_what_is_filled_into_a_template_is_never_a_template_again(home: Path) -> None:
    with MemoryServer(SERVICES["http"][0]) as server:
        ask(memory_at("http", server.url, home).recall('{session} {key} "}, "x": "{user}', "s", 3))
        assert server.asked[0].body["find"] == {"text": '{session} {key} "}, "x": "{user}', "top": 3}
        assert server.asked[0].headers["x-secret"] == KEY
