"""The memory that needs no service: what was said in other sessions, found by its words."""

import asyncio
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from hermes_agent.config.settings import MemorySettings
from hermes_agent.memory.external import ExternalMemory, MemoryFailed, Recalled, Said, connect
from hermes_agent.memory.providers.holographic import FILE, alike, pieces_of, roots_of, trace_of
from hermes_agent.types.tools import Label
from tests.memory.external.asking import FACT, TURN

TEA = "I always drink green tea in the morning, never coffee."
FACTS = [
    FACT,
    TEA,
    "The invoice template lives in the finance folder of the shared drive.",
    "My daughter's birthday is on the third of May.",
    "Use pytest with xdist for the billing service tests.",
    "The staging database password rotates every month.",
]


def memory_in(home: Path, **options: str) -> ExternalMemory:
    memory = connect(MemorySettings(provider="holographic", options=options), {}, home)
    assert memory is not None
    return memory


def said(text: str, role: str = "user") -> Said:
    return (role, text)


def recall(memory: ExternalMemory, query: str, session: str = "other", limit: int = 3) -> Sequence[Recalled]:
    return asyncio.run(memory.recall(query, session, limit))


def keep(memory: ExternalMemory, *messages: Said, session: str = "first", tainted: bool = False) -> None:
    asyncio.run(memory.remember(session, messages, tainted=tainted))


@pytest.mark.req("A6")
@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("when do the deployments to Lisbon happen?", 0),
        ("what do I drink in the mornings?", 1),
        ("where is the template for invoices", 2),
        ("When is my daughter's birthday?", 3),
        ("run the tests of the billing service", 4),
        ("does the password for staging rotate", 5),
    ],
)
def test_the_fact_that_shares_the_words_comes_first(query: str, place: int, home: Path) -> None:
    memory = memory_in(home)
    keep(memory, *(said(fact) for fact in FACTS))
    found = recall(memory, query)
    assert (found[0].text, found[0].origin, found[0].labels) == (f"the user said: {FACTS[place]}", "first", frozenset())
    assert found[0].score > 0.12


def test_what_this_session_said_and_what_says_nothing_is_not_recalled(home: Path) -> None:
    memory = memory_in(home)
    keep(memory, *TURN, said("ok thanks"), session="mine")
    assert recall(memory, "lisbon deployments", session="mine") == []
    assert recall(memory, "noted thanks ok") == []
    assert recall(memory, "zebra") == []
    assert recall(memory, "the and of") == []


def test_nothing_is_written_by_asking(home: Path) -> None:
    assert recall(memory_in(home), "anything at all") == []
    assert list(home.iterdir()) == []


def test_a_stranger_in_the_conversation_labels_what_was_said_there(home: Path) -> None:
    memory = memory_in(home)
    keep(memory, said(FACT, "assistant"), tainted=True)
    [found] = recall(memory, "lisbon deployments")
    assert (found.text, found.labels) == (f"the assistant said: {FACT}", frozenset({Label.UNTRUSTED}))
    keep(memory, said(FACT), session="clean")
    [again] = recall(memory, "lisbon deployments")
    assert again.labels == frozenset()
    keep(memory, said(FACT), session="worse", tainted=True)
    assert recall(memory, "lisbon deployments")[0].labels == frozenset()


def test_the_oldest_go_first(home: Path) -> None:
    memory = memory_in(home, memories="3")
    fruits = ["apple", "berry", "cherry", "damson", "elder"]
    for fruit in fruits:
        keep(memory, said(f"{fruit} juice stains everything"))
    assert [bool(recall(memory, fruit)) for fruit in fruits] == [False, False, True, True, True]
    with sqlite3.connect(home / FILE) as database:
        assert database.execute("SELECT COUNT(*) FROM memories").fetchone() == (3,)
        assert database.execute("SELECT COUNT(DISTINCT memory) FROM words").fetchone() == (3,)


def test_the_file_is_for_its_owner_only(home: Path) -> None:
    keep(memory_in(home), *TURN)
    assert stat.S_IMODE((home / FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "hostile",
    [
        "'; DROP TABLE memories; --",
        "\0\0\0 nul bytes here",
        "\ud800 lone surrogate here",
        "x" * 1_000_000,
        "% _ * \" '",
    ],
)
def test_hostile_text_is_only_text(hostile: str, home: Path) -> None:
    memory = memory_in(home)
    keep(memory, said(hostile), *TURN, session=hostile[:50].encode("utf-8", "replace").decode())
    assert recall(memory, hostile, session="x") is not None
    assert recall(memory, "lisbon deployments")[0].text == f"the user said: {FACT}"


def test_a_damaged_file_is_a_failure_with_a_remedy(home: Path) -> None:
    (home / FILE).write_bytes(b"this is no database" * 100)
    memory = memory_in(home)
    with pytest.raises(MemoryFailed) as failed:
        recall(memory, "lisbon deployments")
    assert failed.value.advice.startswith(f"move {home / FILE} away")
    assert asyncio.run(memory.check()) == failed.value.explain()


def test_a_newer_file_and_a_link_are_left_alone(home: Path, tmp_path: Path) -> None:
    with sqlite3.connect(home / FILE) as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(MemoryFailed, match="newer version"):
        keep(memory_in(home), *TURN)
    (home / FILE).unlink()
    (tmp_path / "victim").write_text("")
    (home / FILE).symlink_to(tmp_path / "victim")
    with pytest.raises(MemoryFailed):
        keep(memory_in(home), *TURN)
    assert (tmp_path / "victim").read_text() == ""


def test_several_processes_write_at_once_and_nothing_is_lost(home: Path) -> None:
    script = f"""
import asyncio, sys
from pathlib import Path
from hermes_agent.memory.providers.holographic import FILE, Holographic
memory = Holographic(Path({str(home)!r}) / FILE, 1000)
for number in range(15):
    text = f"worker{{sys.argv[1]}} finished part{{number}} of the inventory"
    asyncio.run(memory.remember("s", [("user", text)]))
"""
    workers = [subprocess.Popen([sys.executable, "-c", script, str(number)]) for number in range(3)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0]
    with sqlite3.connect(home / FILE) as database:
        assert database.execute("SELECT COUNT(*) FROM memories").fetchone() == (45,)


def test_words_are_cut_to_their_beginnings() -> None:
    assert roots_of("The deployments were deployed; deploy!") == ["deplo", "deplo", "deplo"]
    assert roots_of("东京の天気") == ["东京", "京の", "の天", "天気"]
    assert roots_of("ＦＵＬＬ width") == ["full", "width"]


def test_a_long_text_is_found_by_one_of_its_sentences(home: Path) -> None:
    memory = memory_in(home)
    filler = "Nothing of interest happened on that particular afternoon in the office. " * 20
    keep(memory, said(f"{filler}{FACT}. {filler}"))
    [found] = recall(memory, "lisbon deployments", limit=1)
    assert FACT in found.text
    assert len(found.text) < 450
    text = "One. Two!\nThree 3.5? " + "x" * 1_000
    assert "".join("".join(pieces_of(text)).split()) == "".join(text.split())
    assert max(map(len, pieces_of(text))) <= 400


def test_a_trace_knows_the_order_of_neighbours() -> None:
    straight, same, turned = (trace_of(text) for text in ("alpha beta", "alpha beta", "beta alpha"))
    assert alike(straight, same) == 1.0
    assert 0.5 < alike(straight, turned) < 1.0
    assert alike(straight, trace_of("gamma delta")) < 0.1
    assert alike(straight, {}) == 0.0
