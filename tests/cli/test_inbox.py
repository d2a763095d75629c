"""`hermes inbox`: what the agent left for people."""

import asyncio

import pytest

from hermes_agent.store.open import open_store
from tests.cli.command import Hermes
from tests.store.samples import new_session


def post(hermes: Hermes, *messages: tuple[str, str, bool]) -> list[str]:
    """Messages in the outbox of this home; returns their ids."""
    hermes.home.mkdir(mode=0o700, exist_ok=True)
    store = open_store("", hermes.home)

    async def write() -> list[str]:
        session = await new_session(store)
        return [
            await store.outbox.put(session_id=session, run_id="r", key=str(n), to=to, text=text, urgent=urgent)
            for n, (to, text, urgent) in enumerate(messages)
        ]

    ids = asyncio.run(write())
    store.close()
    return ids


@pytest.mark.req("A4")
@pytest.mark.slow
def test_list_show_and_read(hermes: Hermes) -> None:
    assert "there are no messages" in hermes.run("inbox").stderr
    first, second, third = post(hermes, ("Ann", "hello", False), ("user", "fire", True), ("Bob", "long\ntext", False))
    assert [one["id"] for one in hermes.json("inbox")] == [second, third, first]
    lines = hermes.run("inbox").stdout.splitlines()
    assert lines[0].split() == ["id", "when", "to", "text"]
    assert [line.split()[0] for line in lines[1:]] == [second, third, first]
    assert "urgent" in lines[1] and "new" in lines[2] and "long text" in lines[2]
    shown = hermes.run("inbox", "show", third[-8:]).stdout
    assert shown.startswith("to Bob, ") and shown.endswith("long\ntext\n")
    assert [one["id"] for one in hermes.json("inbox", "--unread")] == [second, first]
    assert hermes.json("inbox", "read", second) == {"read": [second], "news": 1}
    assert hermes.json("inbox", "read", "--all")["news"] == 1
    assert "there are no unread messages" in hermes.run("inbox", "--unread").stderr


def test_delete(hermes: Hermes) -> None:
    first, second = post(hermes, ("Ann", "a", False), ("Ann", "b", False))
    asked = hermes.run("inbox", "delete", first)
    assert asked.returncode == 2 and "no terminal to ask" in asked.stderr
    assert hermes.json("inbox", "delete", first, "-y") == {"deleted": [first]}
    assert [one["id"] for one in hermes.json("inbox")] == [second]
    assert hermes.json("inbox", "delete", "--all", "-y") == {"deleted": [second]}


def test_bad_use(hermes: Hermes) -> None:
    (only,) = post(hermes, ("Ann", "a", False))
    for arguments in (("read",), ("read", only, "--all"), ("delete",), ("show", "zzzzzz"), ("show", "%"), ("-n", "0")):
        assert hermes.run("inbox", *arguments).returncode == 2
    assert len(hermes.json("inbox", "--unread")) == 1


def test_hostile_text_cannot_move_the_cursor(hermes: Hermes) -> None:
    (one,) = post(hermes, ("A\x1b[2J\u202e", "safe\x1b[2Jgone\u202eevil", False))
    for arguments in ((), ("show", one)):
        shown = hermes.run("inbox", *arguments).stdout
        assert "safe" in shown and "\x1b" not in shown and "\u202e" not in shown
