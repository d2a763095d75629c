"""A shell command as a tree, within limits.

The grammar recovers from errors at a cost that can grow with the square of the input and cannot be interrupted, so what
is long, deep or endlessly repeated is not parsed at all. Whatever cannot be parsed cleanly is not understood.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser, Tree

LONGEST = 8 << 10
_DEEPEST = 120
_SHORT = 1024
_REPEATED = 12
_HEREDOCS = 24
_OPENING = re.compile(rb"\$\(|\$\{|[<>]\(|[({`]")
_DEPTH = re.compile(rb"[(){}]")
_JOINED = re.compile(r"[^\s\\](?:\\\\)*\\\n(?=\S)|(?:^|\n)[ \t]*\\\n")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_PLAIN = re.compile(r"[\n\t\x20-\x7e]*")
_SPACES = frozenset("\x0b\x0c\r\x1c\x1d\x1e\x1f\x85")


@lru_cache(maxsize=1)
def _parser() -> Parser:
    import tree_sitter
    import tree_sitter_bash

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def parse(source: bytes) -> Tree | None:
    """The tree of a command, or None where reading it costs too much: hostile or not a command.

    The grammar's scanner reads outside its tables for letters beyond ASCII, so each of their bytes becomes '_'.
    """
    if len(source) > LONGEST or _depth(source) > _DEEPEST or source.count(b"<<") > _HEREDOCS or b"<<<<" in source:
        return None
    if len(source) > _SHORT and len(source) > _REPEATED * len(zlib.compress(source, 1)):
        return None
    return _parser().parse(_NOT_ASCII.sub(b"_", source))


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
