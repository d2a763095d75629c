"""The simple commands of a script, wherever they stand in it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from .parsing import broken
from .words import Variables, Word, literal, word, words

if TYPE_CHECKING:
    from tree_sitter import Node

_LITERAL = ("raw_string", "ansi_c_string", "heredoc_body", "heredoc_content", "heredoc_start", "`", "$(", "$((")
_WORDS = ("word", "number", "string", "raw_string", "ansi_c_string", "concatenation", "simple_expansion", "expansion")
_REDIRECTS = ("file_redirect", "heredoc_redirect", "herestring_redirect")
_BEFORE_COMMENT = b" \t\n;&|()"
_UNSETTLED = re.compile(
    rb"\b(?:read|mapfile|readarray|getopts|printf|eval|source|unset|let)\b|\(\(|(?:^|[\s;&|])\.\s|\+="
)
_SUBSTITUTES = re.compile(r"(?<!\\)(?:\\\\)*(?:`|\$\()")
_BACKTICK = re.compile(r"\\([`\\$])")
_EXECUTING = re.compile(rb"@[PAa]\}$")


class Redirect(NamedTuple):
    """One redirection. `body` is what a here-document or here-string feeds in; `fixed` says that it is literal."""

    operator: str
    target: Word | None = None
    body: str | None = None
    fixed: bool = True


class Simple(NamedTuple):
    """One simple command with its surroundings. `source` is what feeds its standard input through a pipe."""

    argv: tuple[Word, ...]
    assignments: tuple[tuple[str, Word], ...]
    redirects: tuple[Redirect, ...]
    start: int
    end: int
    through: tuple[str, ...] = ()
    source: tuple[Word, ...] | None = None


class Unread(NamedTuple):
    """A part that nobody can vouch for."""

    text: str
    why: str


class Nested(NamedTuple):
    """A script inside the script that must be read on its own."""

    text: str
    label: str
    start: int
    end: int


Item = Simple | Unread | Nested


class _Around(NamedTuple):
    redirects: tuple[Redirect, ...] = ()
    source: Node | None = None
    through: tuple[str, ...] = ()
    extra: tuple[Word, ...] = ()


def read(root: Node) -> Iterator[Item]:
    """Every simple command of the tree, and everything in it that is not understood. Never recurses."""
    variables = _variables(root)
    source = root.text or b""
    offset = root.start_byte
    stack: list[tuple[Node, _Around]] = [(root, _Around())]
    while stack:
        node, around = stack.pop()
        if broken(node):
            yield Unread(_shown(node), "it cannot be parsed")
        match node.type:
            case "command" | "declaration_command" | "unset_command":
                simple = _simple(node, around, variables)
                yield simple
                if simple.argv and f"function {simple.argv[0].text}" in around.through:
                    yield Unread(_shown(node), "a function calls itself without end")
                stack.extend((child, _Around(through=around.through)) for child in reversed(node.children))
            case "redirected_statement":
                stack.extend(_redirected(node, around, variables))
                if node.child_by_field_name("body") is None:
                    own = tuple(_redirects(node, variables))
                    yield Simple((), (), own, node.start_byte, node.end_byte, around.through)
            case "pipeline":
                stack.extend(_pipeline(node, around))
            case "function_definition":
                name = _shown(node.child_by_field_name("name"))
                inner = _Around((), node, (*around.through, f"function {name}"))
                stack.extend((child, inner) for child in reversed(node.children))
            case "heredoc_redirect":
                yield from _here_document(node)
                piped = around._replace(source=node)
                stack.extend((child, piped) for child in reversed(node.children))
            case "variable_assignment":
                name, value = _assignment(node, variables)
                yield Simple((), ((name, value),), (), node.start_byte, node.end_byte, around.through)
                stack.extend((child, _Around(through=around.through)) for child in node.children)
            case _:
                if around.extra and node.type != "list" and node.child_count:
                    yield Unread(_shown(node), "words after a redirection belong to another command")
                    around = around._replace(extra=())
                yield from _peculiar(node, source, offset)
                stack.extend((child, around) for child in reversed(node.children))


def _peculiar(node: Node, source: bytes, offset: int) -> Iterator[Item]:
    """Parts that mean more than their children."""
    if node.type == "comment":
        at = node.start_byte - offset
        before = source[max(0, at - 1) : at]
        if before and before not in _BEFORE_COMMENT:
            yield Unread(_shown(node), "it is only a comment to a careless reader")
    elif not node.child_count and node.type not in _LITERAL and _SUBSTITUTES.search(_shown(node, whole=True)):
        yield Unread(_shown(node), "it may run a command that was not found")
    elif node.type == "expansion" and _EXECUTING.search(node.text or b""):
        yield Unread(_shown(node), "it runs what a variable holds")
    elif node.type == "command_substitution":
        inner = _shown(node, whole=True)
        if inner.startswith("`") and "\\" in inner:
            yield Nested(_BACKTICK.sub(r"\1", inner[1:-1]), "`…`", node.start_byte, node.end_byte)


def _simple(node: Node, around: _Around, variables: Variables) -> Simple:
    argv: list[Word] = []
    assignments: list[tuple[str, Word]] = []
    for child in node.children:
        if child.type in _REDIRECTS:
            continue
        if child.type == "variable_assignment":
            assignments.append(_assignment(child, variables))
            if node.type == "declaration_command":
                argv.append(literal(_shown(child, whole=True)))
        elif child.type == "$":
            continue
        elif child.type == "subshell":
            argv.append(Word(_shown(child), known=False, dashable=True))
        else:
            argv.extend([literal(child.type)] if not child.is_named else words(child, variables))
    argv += [*_strays(node, variables), *around.extra]
    redirects = (*_redirects(node, variables), *around.redirects)
    feeding = None
    if around.source is not None:
        feeding = _feeding(around.source, variables)
    return Simple(tuple(argv), tuple(assignments), redirects, node.start_byte, node.end_byte, around.through, feeding)


def _feeding(source: Node, variables: Variables) -> tuple[Word, ...]:
    """The words of the command before the pipe, empty when it is not a simple one."""
    if source.type != "command":
        return ()
    return tuple(made for child in source.children if child.type not in _REDIRECTS for made in words(child, variables))


def _redirected(node: Node, around: _Around, variables: Variables) -> Iterator[tuple[Node, _Around]]:
    within = around._replace(
        redirects=(*_redirects(node, variables), *around.redirects),
        extra=(*around.extra, *_strays(node, variables)),
    )
    for child in reversed(node.children):
        yield child, (_Around(through=around.through) if child.type in _REDIRECTS else within)


def _pipeline(node: Node, around: _Around) -> Iterator[tuple[Node, _Around]]:
    pairs: list[tuple[Node, _Around]] = []
    before = around.source
    for child in node.children:
        pairs.append((child, around._replace(source=before, extra=())))
        if child.is_named:
            before = child
    if pairs:
        pairs[-1] = (pairs[-1][0], pairs[-1][1]._replace(extra=around.extra))
    return reversed(pairs)


def _strays(node: Node, variables: Variables) -> Iterator[Word]:
    """Arguments that stand after a redirection: the grammar counts them to the redirection, a shell does not."""
    for child in node.children:
        if child.type in ("file_redirect", "herestring_redirect"):
            named = [part for part in child.children if part.is_named and part.type != "file_descriptor"]
            for part in named[1:]:
                yield from words(part, variables)
        elif child.type == "heredoc_redirect":
            for part in child.children:
                if part.is_named and not part.type.startswith("heredoc") and part.type in _WORDS:
                    yield from words(part, variables)
            yield from _strays(child, variables)


def _redirects(node: Node, variables: Variables) -> Iterator[Redirect]:
    """The redirections of a statement; a here-document may hold more of them."""
    waiting = [child for child in node.children if child.type in _REDIRECTS]
    while waiting:
        current = waiting.pop(0)
        if current.type == "heredoc_redirect":
            waiting.extend(child for child in current.children if child.type in _REDIRECTS)
            body = next((child for child in current.children if child.type == "heredoc_body"), None)
            text = _shown(body, whole=True)
            yield Redirect("<<", body=text, fixed=_quoted(current) or not ("$" in text or "`" in text))
            continue
        operator = next((child.type for child in current.children if not child.is_named), "")
        destinations = [child for child in current.children if child.is_named and child.type != "file_descriptor"]
        for destination in destinations[:1]:
            target = word(destination, variables)
            if operator == "<<<":
                yield Redirect(operator, body=target.text, fixed=target.known and not target.computed)
            else:
                yield Redirect(operator, target)


def _quoted(heredoc: Node) -> bool:
    start = next((child for child in heredoc.children if child.type == "heredoc_start"), None)
    return any(char in _shown(start, whole=True) for char in "'\"\\")


def _here_document(node: Node) -> Iterator[Item]:
    """Where the grammar and a shell may disagree about a here-document, nobody vouches for it."""
    parts = {child.type: child for child in node.children}
    start, end = parts.get("heredoc_start"), parts.get("heredoc_end")
    wanted = re.sub(r"['\"\\]", "", _shown(start, whole=True))
    if end is None or _shown(end, whole=True).strip() != wanted:
        yield Unread(_shown(node), "its here-document does not end where it seems to")
    body = parts.get("heredoc_body")
    if body is None or _quoted(node):
        return
    text = _shown(body, whole=True)
    seen = sum(1 for child in body.children if child.type == "command_substitution")
    if len(_SUBSTITUTES.findall(text)) > seen:
        yield Unread(_shown(body), "its here-document runs commands")


def _assignment(node: Node, variables: Variables) -> tuple[str, Word]:
    name = re.split(r"[\[+=]", _shown(node.child_by_field_name("name"), whole=True))[0]
    value = node.child_by_field_name("value")
    return name, literal("") if value is None else word(value, variables)


def _variables(root: Node) -> dict[str, str]:
    """Variables that certainly hold one literal: assigned once, unconditionally, by nothing cleverer than `=`."""
    text = root.text or b""
    if b"=" not in text or b"$" not in text or _UNSETTLED.search(text):
        return {}
    held: dict[str, str] = {}
    unsettled: set[str] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        stack.extend(reversed(node.children))
        if node.type in ("for_statement", "select_statement"):
            unsettled.add(_shown(node.child_by_field_name("variable")))
        elif node.type == "variable_assignment":
            name, value = _assignment(node, held)
            if name in held or not value.known or not _unconditional(node):
                unsettled.add(name)
            held[name] = value.text
    return {name: value for name, value in held.items() if name not in unsettled}


def _unconditional(node: Node) -> bool:
    below, above = node, node.parent
    for _ in range(16):
        if above is None or above.type not in ("list", "variable_assignments", "declaration_command"):
            break
        if above.type == "list" and (above.children[0] != below):
            return False
        below, above = above, above.parent
    return above is not None and above.type == "program"


def _shown(node: Node | None, *, whole: bool = False) -> str:
    text = b"" if node is None else node.text or b""
    return (text if whole else text[:200]).decode("utf-8", "replace")
