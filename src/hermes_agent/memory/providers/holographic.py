"""Holographic: a memory in one SQLite file of the home, without a service and without a model.

A text becomes a trace, a holographic reduced representation with sparse codes: each word is a few signed places in a
wide vector, neighbouring words are bound by circular convolution (which for sparse codes is adding places), and all of
it is superposed by adding up. Two texts are alike as the cosine of their traces. This is plain arithmetic on words: it
finds what uses the same words, better if in the same order, and knows nothing of meaning. "Car" does not recall
"automobile". Long texts are kept in pieces of a few sentences.

Words are cut to their beginnings, which takes the place of a grammar; an index of them picks the texts worth comparing.

Options: `memories`, how many are kept; the oldest go first.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import math
import os
import re
import sqlite3
import time
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

from ...types.errors import ConfigError
from ...types.text import clean
from ...types.tools import Label
from ..external import ExternalMemory, MemoryFailed, ProviderOptions, Recalled, Said

FILE = "memory-holographic.db"
VERSION = 1
LONGEST = 8_000
LEAST = 0.12
_WIDTH, _PLACES = 1 << 16, 4
_PAIR_WEIGHT = 0.5
_ROOT = 5
_CANDIDATES = 200
_OFTEN = 2_000
_FEWEST_WORDS = 3
_PIECE = 400
_SENTENCE = re.compile(r"[^.!?\n。！？]*[.!?\n。！？]+|[^.!?\n。！？]+")
_WORD = re.compile(r"[^\W_]+")
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SILENT_WORDS = """
a an and are as at be but by can could did do does for from had has have he her him his how i if in into is it its just
me my no not now of on one or our out please she should so that the their them then there they this to up us was we were
what when where which who why will with would you your
"""
_SILENT = frozenset(_SILENT_WORDS.split())
_SCHEMA = """
CREATE TABLE IF NOT EXISTS memories (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, role TEXT NOT NULL, text TEXT NOT NULL UNIQUE,
    tainted INTEGER NOT NULL, at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS words (
    word TEXT NOT NULL, memory INTEGER NOT NULL REFERENCES memories(id) ON DELETE CASCADE,
    PRIMARY KEY (word, memory)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS memories_by_age ON memories(at);
CREATE INDEX IF NOT EXISTS words_of_memory ON words(memory);
"""
_WHERE = "SELECT memory FROM words WHERE word = ? ORDER BY memory DESC LIMIT ?"
_HOW_OFTEN = f"SELECT COUNT(*) FROM ({_WHERE})"
Trace = dict[int, float]
T = TypeVar("T")


class Holographic:
    """Keeps what was said, one text each, and recalls from other sessions: this one's words the model has anyway.

    What was said while a stranger's text was in the conversation is labelled so when it comes back."""

    def __init__(self, file: Path, memories: int) -> None:
        self.name = "holographic"
        self._file = file
        self._memories = memories

    async def remember(self, session_id: str, messages: Sequence[Said], *, tainted: bool = False) -> None:
        pieces = [(role, piece) for role, text in messages for piece in pieces_of(clean(text))]
        await asyncio.to_thread(self._keep, session_id, pieces, tainted=tainted)

    async def recall(self, query: str, session_id: str, limit: int) -> Sequence[Recalled]:
        return await asyncio.to_thread(self._find, query, session_id, limit)

    async def check(self) -> str:
        try:
            await asyncio.to_thread(self._count)
        except MemoryFailed as failed:
            return failed.explain()
        return ""

    async def close(self) -> None:
        """Nothing stays open between calls."""

    def _keep(self, session: str, pieces: Sequence[Said], *, tainted: bool) -> None:
        with self._opened("IMMEDIATE") as database:
            for role, kept in pieces:
                roots = set(roots_of(kept))
                if len(roots) < _FEWEST_WORDS:
                    continue
                found = database.execute("SELECT id, tainted FROM memories WHERE text = ?", (kept,)).fetchone()
                if found is not None:
                    marked = tainted and bool(found[1])
                    database.execute("UPDATE memories SET at = ?, tainted = ? WHERE id = ?", (_now(), marked, found[0]))
                    continue
                made = database.execute(
                    "INSERT INTO memories (session, role, text, tainted, at) VALUES (?, ?, ?, ?, ?)",
                    (session, role, kept, tainted, _now()),
                )
                rows = [(root, made.lastrowid) for root in sorted(roots)]
                database.executemany("INSERT INTO words (word, memory) VALUES (?, ?)", rows)
            many = database.execute("SELECT COUNT(*) FROM memories").fetchone()[0] - self._memories
            oldest = "SELECT id FROM memories ORDER BY at, id LIMIT ?"
            database.execute(f"DELETE FROM memories WHERE id IN ({oldest})", (max(0, many),))

    def _find(self, query: str, session: str, limit: int) -> list[Recalled]:
        roots = list(dict.fromkeys(roots_of(query)))
        if not roots or not self._file.exists():
            return []
        with self._opened() as database:
            best = _candidates(database, roots)
            marks = ", ".join("?" * len(best))
            chosen = f"SELECT id, session, role, text, tainted FROM memories WHERE id IN ({marks}) AND session <> ?"
            rows = database.execute(chosen, [*best, session]).fetchall()
        asked = trace_of(query)
        scored = sorted(
            ((alike(asked, trace_of(row[3])), row) for row in rows), key=lambda pair: (-pair[0], -pair[1][0])
        )
        return [
            Recalled(
                text=f"the {role} said: {text}",
                score=score,
                origin=origin,
                labels=frozenset({Label.UNTRUSTED}) if tainted else frozenset(),
            )
            for score, (_, origin, role, text, tainted) in scored[:limit]
            if score >= LEAST
        ]

    def _count(self) -> int:
        with self._opened() as database:
            return int(database.execute("SELECT COUNT(*) FROM memories").fetchone()[0])

    @contextlib.contextmanager
    def _opened(self, mode: str = "DEFERRED") -> Iterator[sqlite3.Connection]:
        """A connection in a transaction of its own. The file is for its owner only: it holds conversations."""
        try:
            os.close(os.open(self._file, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
            with contextlib.closing(sqlite3.connect(self._file, timeout=5, isolation_level=None)) as database:
                database.execute("PRAGMA foreign_keys = ON")
                database.execute(f"BEGIN {mode}")
                self._prepare(database)
                yield database
                database.execute("COMMIT")
        except (OSError, sqlite3.Error) as error:
            remedy = f"move {self._file} away if it is damaged; the next turn begins a new one"
            raise MemoryFailed(f"holographic: {error}", remedy=remedy) from error

    def _prepare(self, database: sqlite3.Connection) -> None:
        version = database.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise MemoryFailed(f"{self._file} was written by a newer version", remedy="upgrade hermes")
        if version < VERSION:
            for statement in filter(str.strip, _SCHEMA.split(";")):
                database.execute(statement)
            database.execute(f"PRAGMA user_version = {VERSION}")


def _candidates(database: sqlite3.Connection, roots: Sequence[str]) -> list[int]:
    """The memories worth comparing: those that share the rarest words of a question. Words that hardly tell one text
    from another are looked up only while few have been found."""
    total = database.execute("SELECT COUNT(*) FROM memories").fetchone()[0]
    counts = {root: database.execute(_HOW_OFTEN, (root, _OFTEN)).fetchone()[0] for root in roots}
    shared: dict[int, float] = {}
    for root in sorted((root for root in roots if counts[root]), key=lambda root: counts[root]):
        if counts[root] >= _OFTEN and len(shared) >= _CANDIDATES:
            break
        weight = math.log(1 + total / counts[root])
        for (memory,) in database.execute(_WHERE, (root, _OFTEN)):
            shared[memory] = shared.get(memory, 0.0) + weight
    return sorted(shared, key=lambda memory: (-shared[memory], -memory))[:_CANDIDATES]


def pieces_of(text: str) -> list[str]:
    """A text as pieces of a few sentences each: a trace holds only so many words before they drown each other."""
    pieces: list[str] = []
    for sentence in _SENTENCE.findall(text[:LONGEST]):
        for begin in range(0, len(sentence), _PIECE):
            part = sentence[begin : begin + _PIECE]
            if pieces and len(pieces[-1]) + len(part) <= _PIECE:
                pieces[-1] += part
            else:
                pieces.append(part)
    return [piece.strip() for piece in pieces if piece.strip()]


def roots_of(text: str) -> list[str]:
    """The words of a text that say something, cut to their beginnings, in order. Scripts without spaces are cut into
    pairs of characters."""
    folded = unicodedata.normalize("NFKC", text[:LONGEST]).casefold()
    roots: list[str] = []
    for word in _WORD.findall(folded):
        if _DENSE.search(word):
            roots += [word[place : place + 2] for place in range(max(1, len(word) - 1))]
        elif word not in _SILENT and len(word) > 1:
            roots.append((word[:-1] if word.endswith("s") and len(word) > 3 else word)[:_ROOT])
    return roots


def trace_of(text: str) -> Trace:
    """A text as one superposition of its words and its bound pairs of neighbours."""
    roots = roots_of(text)
    trace: Trace = {}
    for root in dict.fromkeys(roots):
        for place, sign in _code(root):
            trace[place] = trace.get(place, 0.0) + sign
    for one, other in dict.fromkeys(pairwise(roots)):
        for place, sign in _bound(one, other):
            trace[place] = trace.get(place, 0.0) + sign * _PAIR_WEIGHT
    return trace


def alike(one: Trace, other: Trace) -> float:
    """The cosine of two traces, from 0 to 1."""
    few, many = (one, other) if len(one) <= len(other) else (other, one)
    product = sum(weight * many.get(place, 0.0) for place, weight in few.items())
    lengths = math.sqrt(sum(w * w for w in one.values()) * sum(w * w for w in other.values()))
    return round(min(1.0, max(0.0, product / lengths)), 6) if lengths else 0.0


@lru_cache(maxsize=20_000)
def _code(root: str) -> tuple[tuple[int, float], ...]:
    """The places of a word, from its digest: the same everywhere and always."""
    digest = hashlib.blake2b(root.encode("utf-8", "replace"), digest_size=_PLACES * 3).digest()
    pieces = [digest[begin : begin + 3] for begin in range(0, len(digest), 3)]
    return tuple((int.from_bytes(piece[:2], "big") % _WIDTH, 1.0 if piece[2] & 1 else -1.0) for piece in pieces)


def _bound(one: str, other: str) -> Iterator[tuple[int, float]]:
    """Circular convolution of two sparse codes, of equal length to one of them. The second is turned by one place, so
    that a pair and its reverse differ."""
    scale = 1 / math.sqrt(_PLACES)
    for place, sign in _code(one):
        for second, turned in _code(other):
            yield (place + 2 * second + 1) % _WIDTH, sign * turned * scale


def _now() -> float:
    return time.time()


def connect(options: ProviderOptions) -> ExternalMemory:
    chosen = options.filled({"memories": "20000"})
    if not chosen["memories"].isdecimal() or not 0 < int(chosen["memories"]) <= 1_000_000:
        raise ConfigError(
            f"memory.options: memories is {chosen['memories']!r}", remedy="give a number from 1 to 1000000"
        )
    return Holographic(options.home / FILE, int(chosen["memories"]))
