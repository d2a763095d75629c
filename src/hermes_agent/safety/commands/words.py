"""Words as the shell will see them: unquoted, expanded where that is certain, marked where it is not."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from tree_sitter import Node

_BRACES = 64
_GLOB = re.compile(r"[*?\[]|[@!+]\(")
_ESCAPED = re.compile(r"\\(.|\n)", re.DOTALL)
_IN_QUOTES = re.compile(r"\\([\"\\$`\n])")
_ANSI = re.compile(
    r"\\(?:([abeEfnrtv\\'\"?])|([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|c(.))",
    re.DOTALL,
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)\}?")

Variables = Mapping[str, str]


class Word(NamedTuple):
    """One argument. Where `known` is false, `text` holds the source of what is put in when it runs.

    `dashable`: it may turn out to begin with '-'. `splits`: it may turn out to be several words, or none. `computed`:
    it was put together from variables. `escaped`: it was written in escapes that hide what it says. `substituted`: the
    output of a command is part of it.
    """

    text: str
    known: bool = True
    glob: bool = False
    dashable: bool = False
    splits: bool = False
    computed: bool = False
    escaped: bool = False
    substituted: bool = False

    @property
    def scripted(self) -> bool:
        """Whether a shell that reads this text again would find something to run in it."""
        return self.known and ("$(" in self.text or "`" in self.text)


class Piece(NamedTuple):
    """A part of a word that is quoted, expanded or neither as a whole."""

    text: str
    quoted: bool = False
    known: bool = True
    computed: bool = False
    escaped: bool = False
    separates: bool = False
    substituted: bool = False


def names(text: str) -> frozenset[str]:
    """Names in a row, as a set."""
    return frozenset(text.split())


def literal(text: str) -> Word:
    """A word that is what it says."""
    return Word(text)


UNKNOWN = Word("…", known=False, dashable=True, splits=True)
FOUND = Word("{}", known=False)
ANYTHING = Word("…", known=False)


def words(node: Node, variables: Variables) -> list[Word]:
    """The words that one argument becomes: several for brace expansion and `$IFS`."""
    made: list[Word] = []
    group: list[Piece] = []
    for piece in pieces(node, variables):
        if piece.separates:
            if group:
                made.append(_word(group)._replace(escaped=True))
            group = []
        else:
            group.append(piece)
    if not made:
        return [_word(chosen) for chosen in _braces(group)]
    if group:
        made.append(_word(group)._replace(escaped=True))
    return made


def word(node: Node, variables: Variables) -> Word:
    """The one word that a redirection's target or an assigned value is."""
    return _word(list(pieces(node, variables)))


def pieces(node: Node, variables: Variables) -> Iterator[Piece]:
    """The parts of a word, in order. Nothing between them is lost: gaps in the tree are taken as they are written."""
    stack: list[tuple[Node, bool] | Piece] = [(node, False)]
    while stack:
        top = stack.pop()
        if isinstance(top, Piece):
            yield top
            continue
        current, quoted = top
        match current.type:
            case "word" | "number" | "test_operator" | "variable_name" | "special_variable_name":
                yield from _unquoted(_text(current))
            case "raw_string":
                yield Piece(_text(current)[1:-1], quoted=True)
            case "ansi_c_string":
                source = _text(current)
                yield Piece(ansi(source[2:-1]), quoted=True, escaped="\\" in source)
            case "string_content":
                yield Piece(_IN_QUOTES.sub(_unescaped, _text(current)), quoted=True)
            case "string" | "translated_string":
                stack.extend(reversed(list(_inside(current))))
                if current.child_count <= 2:
                    yield Piece("", quoted=True)
            case "concatenation" | "command_name":
                stack.extend((child, quoted) for child in reversed(current.children))
            case '"':
                continue
            case "simple_expansion" | "expansion":
                yield _expanded(current, quoted, variables)
            case _:
                substituted = current.type in ("command_substitution", "process_substitution")
                yield Piece(_text(current), quoted=quoted, known=False, substituted=substituted)


def ansi(text: str) -> str:
    """What `$'…'` stands for."""

    def decoded(match: re.Match[str]) -> str:
        letter, octal, pair, short, long, control = match.groups()
        if letter:
            return _LETTERS.get(letter, letter)
        if control:
            return chr(ord(control) & 0x1F)
        number = int(octal, 8) & 0xFF if octal else int(pair or short or long, 16)
        return chr(number) if number < 0x110000 else "\N{REPLACEMENT CHARACTER}"

    return _ANSI.sub(decoded, text)


def _inside(string: Node) -> Iterator[tuple[Node, bool] | Piece]:
    at = string.start_byte
    source = string.text or b""
    for child in string.children:
        if child.start_byte > at:
            gap = source[at - string.start_byte : child.start_byte - string.start_byte]
            yield Piece(gap.decode("utf-8", "replace"), quoted=True)
        yield child, True
        at = child.end_byte


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _unescaped(match: re.Match[str]) -> str:
    return "" if match[1] == "\n" else match[1]


def _unquoted(text: str) -> Iterator[Piece]:
    """An unquoted word; an escaped character counts as quoted."""
    at = 0
    for match in _ESCAPED.finditer(text):
        if match.start() > at:
            yield Piece(text[at : match.start()])
        if match[1] != "\n":
            yield Piece(match[1], quoted=True)
        at = match.end()
    if at < len(text):
        yield Piece(text[at:])


def _expanded(node: Node, quoted: bool, variables: Variables) -> Piece:
    source = _text(node)
    match = _VARIABLE.fullmatch(source)
    name = match[1] if match else ""
    if (name == "IFS" or source.startswith("${IFS")) and not quoted:
        return Piece("", separates=True)
    if name in variables:
        return Piece(variables[name], quoted=quoted, computed=True)
    return Piece(source, quoted=quoted, known=False, computed=True)


def _word(parts: list[Piece]) -> Word:
    text = "".join(part.text for part in parts)
    open_parts = [part for part in parts if not part.quoted]
    glob = any(part.known and _GLOB.search(part.text) for part in open_parts)
    first = next((part for part in parts if part.text), None)
    unsure = first is not None and (not first.known or (not first.quoted and bool(_GLOB.match(first.text))))
    return Word(
        text,
        known=all(part.known for part in parts),
        glob=glob,
        dashable=unsure,
        splits=any((not part.known or (part.computed and " " in part.text)) for part in open_parts) or _many(parts),
        computed=any(part.computed for part in parts),
        escaped=any(part.escaped for part in parts),
        substituted=any(part.substituted for part in parts),
    )


def _many(parts: list[Piece]) -> bool:
    """`"$@"` and `"${a[@]}"` become several words although they are quoted."""
    return any(not part.known and "@" in part.text for part in parts)


def _braces(parts: list[Piece]) -> list[list[Piece]]:
    """Brace expansion of the unquoted text. What would become too many words stays one that is not known."""
    if not any("{" in part.text and not part.quoted and part.known for part in parts):
        return [parts]
    atoms: list[Piece] = []
    for part in parts:
        if part.quoted or not part.known or len(part.text) > 4096:
            atoms.append(part)
        else:
            atoms.extend(Piece(char, computed=part.computed) for char in part.text)
    done: list[list[Piece]] = []
    waiting = [atoms]
    while waiting:
        current = waiting.pop()
        chosen = _first_brace(current)
        if chosen is None:
            done.append(current)
        else:
            waiting.extend(reversed(chosen))
        if len(done) + len(waiting) > _BRACES:
            return [[Piece("".join(part.text for part in parts), known=False)]]
    return done


def _first_brace(atoms: list[Piece]) -> list[list[Piece]] | None:
    """The choices of the first brace that has any, each with what stands around it."""
    opened: list[int] = []
    commas: dict[int, list[int]] = {}
    for index, atom in enumerate(atoms):
        if atom.quoted or not atom.known:
            continue
        if atom.text == "{":
            opened.append(index)
        elif atom.text == "," and opened:
            commas.setdefault(opened[-1], []).append(index)
        elif atom.text == "}" and opened:
            start = opened.pop()
            if start in commas:
                edges = [start, *commas[start], index]
                return [atoms[:start] + atoms[left + 1 : right] + atoms[index + 1 :] for left, right in pairwise(edges)]
    return None
