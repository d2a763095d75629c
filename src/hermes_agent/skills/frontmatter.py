"""Front matter: the YAML above a skill's text, read without trust and written so that strict readers take it too.

Reading builds nothing but strings, lists and mappings from the parser's events, so that a bomb is seen before it is
big. Anchors, aliases, tags and repeated keys are refused. Writing uses block style only, and never the three hyphens
that end front matter, for some readers look for them anywhere in a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from .problem import SkillProblem

if TYPE_CHECKING:
    from yaml.events import Event

Node: TypeAlias = "str | list[Node] | dict[str, Node]"
Writable: TypeAlias = "str | bool | int | Sequence[Writable] | Mapping[str, Writable]"
Place = tuple[str | int, ...]
MAX_DEPTH = 8
MAX_NODES = 4000
MAX_KEY = 120
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_NOT_PLAIN = frozenset(("true", "false", "yes", "no", "on", "off", "null", "none", "y", "n"))
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./,()+'@=-]*[\w./,()+'@=-])?")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


class Front:
    """Front matter that was read: its data, and the line on which each part of it begins."""

    def __init__(self, data: dict[str, Node], lines: Mapping[Place, int], problems: Sequence[tuple[int, str]]) -> None:
        self.data = data
        self.problems = problems
        self._lines = lines

    def line(self, place: Place) -> int:
        """The line of a place, or of the nearest one around it that has one."""
        while place and place not in self._lines:
            place = place[:-1]
        return self._lines.get(place, 1)


def load(text: str, first_line: int) -> Front:
    """Read front matter that begins on line `first_line` of its file. Raises `SkillProblem` where reading cannot go on;
    what can be passed over, such as a repeated key, is in the answer's `problems`."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    growing = _Growing(first_line)
    try:
        for event in yaml.parse(text, Loader=loader):
            growing.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = first_line + (mark.line if mark is not None else 0)
        raise SkillProblem(f"line {line}: the front matter is no valid YAML: {error.problem or error}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        told = " ".join(str(error).split())
        raise SkillProblem(f"line {first_line}: the front matter is no valid YAML: {told}") from error
    if not isinstance(growing.root, dict):
        raise SkillProblem(f"line {first_line}: the front matter must be a mapping such as `name: my-skill`")
    return Front(growing.root, growing.lines, growing.problems)


class _Open:
    """A list or mapping whose end has not come yet; `key` is what the next value of a mapping belongs to."""

    def __init__(self, holder: list[Node] | dict[str, Node], place: Place) -> None:
        self.holder = holder
        self.place = place
        self.key: str | None = None
        self.ignored = False


class _Growing:
    """The tree that events build, within its limits."""

    def __init__(self, first_line: int) -> None:
        self.root: Node | None = None
        self.lines: dict[Place, int] = {}
        self.problems: list[tuple[int, str]] = []
        self._first = first_line
        self._open: list[_Open] = []
        self._nodes = 0

    def take(self, event: Event) -> None:
        """Take one event of the parser in."""
        from yaml import events

        line = self._first + (event.start_mark.line if event.start_mark is not None else 0)
        match event:
            case events.AliasEvent():
                raise SkillProblem(f"line {line}: YAML aliases (*{event.anchor}) are refused; write the value out")
            case events.ScalarEvent():
                self._admit(event, line)
                absent = not event.style and event.value in _NULLS
                self._add("" if absent else _sound(event.value, line), line)
            case events.SequenceStartEvent():
                self._admit(event, line)
                self._begin([], line)
            case events.MappingStartEvent():
                self._admit(event, line)
                self._begin({}, line)
            case events.SequenceEndEvent() | events.MappingEndEvent():
                self._open.pop()
            case events.DocumentStartEvent() if self.root is not None:
                raise SkillProblem(f"line {line}: the front matter must be one YAML document")

    def _admit(self, event: Event, line: int) -> None:
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor:
            raise SkillProblem(f"line {line}: YAML anchors (&{anchor}) are refused; write the value out")
        if tag and tag != "!":
            raise SkillProblem(f"line {line}: YAML tags ({tag}) are refused; write a plain value")
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise SkillProblem(f"line {line}: the front matter has more than {MAX_NODES} values")
        if len(self._open) > MAX_DEPTH:
            raise SkillProblem(f"line {line}: the front matter is nested more than {MAX_DEPTH} deep")

    def _begin(self, holder: list[Node] | dict[str, Node], line: int) -> None:
        self._open.append(_Open(holder, self._add(holder, line)))

    def _add(self, value: Node, line: int) -> Place:
        """Put a value where it belongs; its place in the tree."""
        if not self._open:
            self.root = value
            return ()
        around = self._open[-1]
        if isinstance(around.holder, list):
            place = (*around.place, len(around.holder))
            around.holder.append(value)
            self.lines[place] = line
        elif around.key is None:
            place = (*around.place, self._key(around, value, line))
        else:
            place = (*around.place, around.key)
            if not around.ignored:
                around.holder[around.key] = value
            around.key = None
        return place

    def _key(self, around: _Open, key: Node, line: int) -> str:
        if not isinstance(key, str):
            raise SkillProblem(f"line {line}: a key must be a word, not a list or a mapping")
        if len(key) > MAX_KEY:
            raise SkillProblem(f"line {line}: a key is longer than {MAX_KEY} characters")
        around.key, around.ignored = key, key in around.holder
        if around.ignored:
            self.problems.append((line, f"'{key}' is given twice; keep one of them"))
        else:
            self.lines[(*around.place, key)] = line
        return key


def _sound(text: str, line: int) -> str:
    if "\0" in text or any("\ud800" <= char <= "\udfff" for char in text):
        raise SkillProblem(f"line {line}: the front matter holds a NUL or half a character; remove it")
    return text


def emit(data: Mapping[str, Writable]) -> str:
    """A mapping as block YAML, readable by people and by strict parsers. Empty lists and mappings have no block form:
    leave them out."""
    return "".join(f"{line}\n" for line in _mapping(data, ""))


def _mapping(data: Mapping[str, Writable], pad: str) -> Iterator[str]:
    for key, value in data.items():
        yield from _member(f"{pad}{_scalar(key, '')}:", value, pad)


def _member(head: str, value: Writable, pad: str) -> Iterator[str]:
    inner = pad + "  "
    if isinstance(value, str):
        yield f"{head} {_scalar(value, inner)}"
    elif isinstance(value, (bool, int)):
        yield f"{head} {str(value).lower()}"
    else:
        yield head
        yield from _mapping(value, inner) if isinstance(value, Mapping) else _sequence(value, inner)


def _sequence(items: Sequence[Writable], pad: str) -> Iterator[str]:
    for item in items:
        if isinstance(item, Mapping):
            lines = _mapping(item, pad + "  ")
            yield f"{pad}- {next(lines).lstrip(' ')}"
            yield from lines
        else:
            yield from _member(f"{pad}-", item, pad)


def _scalar(text: str, pad: str) -> str:
    """Plain where that cannot be misread, a literal block where lines stay readable, else in double quotes."""
    if _PLAIN.fullmatch(text) and text.lower() not in _NOT_PLAIN and text.isprintable() and "---" not in text:
        return text
    if pad and _may_be_block(text):
        mark = "|" if text.endswith("\n") else "|-"
        lines = text.removesuffix("\n").split("\n")
        return "\n".join([mark, *(f"{pad}{line}" if line else "" for line in lines)])
    quoted = "".join(_ESCAPES.get(char) or (char if char.isprintable() else _escaped(char)) for char in text)
    return '"' + quoted.replace("--", "-\\x2d") + '"'


def _may_be_block(text: str) -> bool:
    lines = text.removesuffix("\n").split("\n")
    return (
        len(lines) > 1
        and "---" not in text
        and bool(lines[-1])
        and not lines[0][:1].isspace()
        and bool(lines[0])
        and all(line.isprintable() and (not line or not line.isspace()) for line in lines)
    )


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
