"""A shell command as a tree, within limits.

The grammar recovers from errors at a cost that can grow with the square of the input, so the parser reads through a
function that ends the input when too much was asked of it. Whatever cannot be parsed cleanly is not understood.
"""

from __future__ import annotations

import re
import time
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

LONGEST = 24 << 10
_DEEPEST = 120
_CHUNK = 256
_SHORT = 400
_HEREDOCS = 24
_OPENING = re.compile(rb"\$\(|\$\{|[<>]\(|[({`]")
_DEPTH = re.compile(rb"[(){}]")
_JOINED = re.compile(r"[^\s\\](?:\\\\)*\\\n(?=\S)")
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")
_SPACES = frozenset("\x0b\x0c\r\x1c\x1d\x1e\x1f\x85")


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(source: bytes) -> Tree | None:
    """The tree of a command, or None where reading it costs too much: hostile or not a command."""
    if len(source) > LONGEST or _depth(source) > _DEEPEST or source.count(b"<<") > _HEREDOCS or b"<<<<" in source:
        return None
    return _parser().parse(source) if len(source) <= _SHORT or _affordable(source) else None


def _affordable(source: bytes) -> bool:
    """Whether a parse with a limit gets through. Its tree has no text of its own, so it is not the one to use."""
    calls, allowed = 0, 200 + len(source) // 16
    until = time.thread_time() + 0.03 + len(source) * 3e-6

    def read(offset: int, _position: object) -> bytes:
        nonlocal calls
        calls += 1
        if calls > allowed or (calls > 2 and time.thread_time() > until):
            calls = allowed + 1
            return b""
        return source[offset : offset + _CHUNK]

    _parser().parse(read)
    return calls <= allowed


def broken(node: Node) -> bool:
    """Whether this node is where the grammar lost the thread."""
    return node.is_error or node.is_missing


def oddities(text: str) -> tuple[str, ...]:
    """What in the text would make a shell and a reader, or this grammar, see different things."""
    found: list[str] = []
    if "\\\n" in text and _JOINED.search(text):
        found.append("a word is continued across lines")
    if _PLAIN.fullmatch(text):
        return tuple(found)
    kinds = {"space" if char in _SPACES else unicodedata.category(char) for char in set(text)}
    if "space" in kinds or kinds & {"Zl", "Zp"} or any(_is_space(char) for char in set(text)):
        found.append("it holds white space that a shell does not take for white space")
    if "Cc" in {unicodedata.category(char) for char in set(text) - {"\n", "\t"}}:
        found.append("it holds control characters")
    if kinds & {"Cf", "Cs", "Co", "Cn"}:
        found.append("it holds invisible characters")
    return tuple(found)


def _is_space(char: str) -> bool:
    return char not in " \n\t" and (char.isspace() or unicodedata.category(char) == "Zs")


def _depth(source: bytes) -> int:
    """How deep brackets may be nested at most, counted without regard to quoting."""
    if len(_OPENING.findall(source)) <= _DEEPEST:
        return 0
    depth = deepest = 0
    for match in _DEPTH.finditer(source):
        depth = depth + 1 if match[0] in b"({" else max(0, depth - 1)
        deepest = max(deepest, depth)
    return deepest
