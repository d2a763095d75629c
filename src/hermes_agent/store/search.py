"""The full-text index over what was said and what tools answered.

A run enters the index when it finishes, in the same transaction; a search first takes in what open runs have said
so far. So a step of a running turn does not pay for the index, and nothing is missing from it.

Words are cut and folded here and not by the engines, whose own ideas of a word differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..types.errors import StoreDamaged
from ..types.events import AnyEvent, AssistantMessage, CallFinished, UserMessage
from .codec import decode
from .database import Backend, Connection, Entry, Row

_WORD = re.compile(r"[^\W_]+")
_LONGEST_WORD = 64
_MOST_WORDS = 32
_INDEXED_CHARACTERS = 4_000
_KINDS = "'user_message', 'assistant_message', 'call_finished'"


def words_of(text: str) -> list[str]:
    """The words of a text, folded, each once, in order."""
    return list(dict.fromkeys(word[:_LONGEST_WORD] for word in _WORD.findall(text.casefold())))


def said(event: AnyEvent) -> tuple[str, str]:
    """Who speaks in an event, and what; empty where nobody does."""
    match event:
        case UserMessage(text=text):
            return "user", text
        case AssistantMessage(text=text):
            return "assistant", text
        case CallFinished(text=text):
            return "tool", text
        case _:
            return "", ""


def index_run(connection: Connection, backend: Backend, run_id: str, session_id: str) -> None:
    """Take the messages of a run that are not in the index yet into it. What was said beside a session is not found.

    A damaged entry is left out here: finishing a run must not fail because of an old line; reading it says so.
    """
    if connection.run("SELECT 1 FROM sessions WHERE id = ? AND parent <> ''", (session_id,)):
        return
    rows = connection.run(
        "SELECT e.seq, e.kind, e.version, e.payload, e.crc FROM events e JOIN runs r ON r.id = e.run_id"
        f" WHERE e.run_id = ? AND e.seq > r.indexed AND e.kind IN ({_KINDS}) ORDER BY e.seq",
        (run_id,),
    )
    entries = []
    for seq, kind, version, payload, crc in rows:
        try:
            role, text = said(decode(kind, version, payload, crc))
        except StoreDamaged:
            continue
        if words := words_of(text[:_INDEXED_CHARACTERS]):
            entries.append(Entry(session_id=session_id, run_id=run_id, seq=seq, role=role, words=tuple(words)))
    backend.index(connection, entries)
    connection.run("UPDATE runs SET indexed = seq WHERE id = ?", (run_id,))


def unindexed(connection: Connection) -> list[Row]:
    """The open runs (run, session) that said something since they were last indexed."""
    return connection.run(
        "SELECT r.id, r.session_id FROM runs r JOIN sessions s ON s.id = r.session_id"
        " WHERE r.status = 'open' AND r.indexed < r.seq AND s.parent = ''"
    )


def search_words(query: str) -> Sequence[str]:
    """The words to look for. Engines' operators mean nothing: everything that is not a word separates words."""
    return words_of(query)[:_MOST_WORDS]
