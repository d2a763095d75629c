"""Slots: `{{name}}` in a skill's text, filled from what follows `/skill-name`.

A value is data. Text is filled in one pass, so a value cannot bring in another slot; it cannot begin a command snippet
either; and where a slot stands in a snippet the value is quoted for the shell. Places where quoting would not hold
(inside quotes, arithmetic, here-documents) are refused when the skill is read, not when it is too late.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping

from ..types.text import one_line
from .problem import SkillProblem
from .skill import Skill

SLOT = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_-]{0,63})\s*\}\}")
SLOT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
SNIPPET = re.compile(r"(?<!\S)!`([^`\n]+)`")
"""A command in the text, with whitespace or nothing before it, on one line."""
_KEYED = re.compile(r"([A-Za-z_][A-Za-z0-9_-]{0,63})=(.*)", re.DOTALL)
_UNQUOTABLE = ("$'", "((", "$[", "[[", "<<", "`")
_BEFORE_A_COMMENT = frozenset(" \t\n;|&(")


def filled(skill: Skill, arguments: str) -> str:
    """The body with its slots filled from `arguments`: `name=value` words, and other words in the order of the slots.
    What is left over stands behind the body as the request. A skill without slots takes all of it as the request."""
    if not skill.slots:
        return _with_request(skill.body, arguments.strip())
    values, rest = _assigned(skill, arguments)
    return _with_request(_substituted(skill.body, values), rest)


def filled_command(command: str, values: Mapping[str, str]) -> str:
    """A shell command with its slots filled, every value quoted as one word."""
    names = frozenset(values)
    problem = command_problem(command, names)
    if problem:
        raise SkillProblem(problem)

    def quoted(found: re.Match[str]) -> str:
        name = found[1]
        if name not in names:
            return found[0]
        if any(char in values[name] for char in "`\n\r\0"):
            raise SkillProblem(f"'{name}' is used in a command: it may hold no line break and no backtick")
        return shlex.quote(values[name])

    return SLOT.sub(quoted, command)


def usage(skill: Skill) -> str:
    """How a skill is invoked, in one line."""
    words = [f"{slot.name}=…" if slot.default is None else f"[{slot.name}={slot.default}]" for slot in skill.slots]
    return one_line(" ".join((f"/{skill.name}", *words)), 200)


def snippet_problems(body: str, names: Collection[str]) -> Iterator[tuple[int, str]]:
    """What is wrong with the slots in a body's snippets, each with its line in the body, from 1."""
    for found in SNIPPET.finditer(body) if names else ():
        problem = command_problem(found[1], names)
        if problem:
            yield body.count("\n", 0, found.start()) + 1, problem


def command_problem(command: str, names: Collection[str]) -> str:
    """Why a value put into this command could be more than one word to the shell; empty when it could not."""
    slots = {found.start(): found for found in SLOT.finditer(command) if found[1] in names}
    if not slots:
        return ""
    for mark in _UNQUOTABLE:
        if mark in command:
            return f"a command with a slot may not use {mark} : values cannot be quoted safely there"
    quote, place = "", 0
    while place < len(command):
        char = command[place]
        if place in slots:
            if quote:
                return f"write {slots[place][0]} without quotes around it in a command: its value is quoted already"
            place = slots[place].end()
            continue
        if char == "\\" and quote != "'":
            if place + 1 in slots:
                return f"a backslash stands before {slots[place + 1][0]} in a command; remove it"
            place += 1
        elif quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#" and (place == 0 or command[place - 1] in _BEFORE_A_COMMENT):
            end = command.find("\n", place)
            end = len(command) if end < 0 else end
            if any(place < start < end for start in slots):
                return "a slot stands in a comment of a command; remove it"
            place = end
        place += 1
    return ""


def _assigned(skill: Skill, arguments: str) -> tuple[dict[str, str], str]:
    """The value of every slot, and the words that no slot took."""
    try:
        words = shlex.split(arguments)
    except ValueError as error:
        raise SkillProblem(
            "a quotation mark or a backslash in the arguments is not closed", remedy=f"as in {usage(skill)}"
        ) from error
    known = [slot.name for slot in skill.slots]
    values: dict[str, str] = {}
    bare: list[str] = []
    problems: list[str] = []
    for word in words:
        keyed = _KEYED.fullmatch(word)
        if keyed is None:
            bare.append(word)
        elif keyed[1] not in known:
            problems.append(f"'{one_line(keyed[1], 40)}' is no parameter of {skill.name}; it has {', '.join(known)}")
        elif keyed[1] in values:
            problems.append(f"'{keyed[1]}' is given twice")
        else:
            values[keyed[1]] = keyed[2]
    for slot in skill.slots:
        if slot.name not in values and bare:
            values[slot.name] = bare.pop(0)
        elif slot.name not in values and slot.default is not None:
            values[slot.name] = slot.default
        elif slot.name not in values:
            told = f" ({one_line(slot.description, 80)})" if slot.description else ""
            problems.append(f"'{slot.name}'{told} is missing")
    if problems:
        raise SkillProblem(*problems, remedy=f"as in {usage(skill)}")
    return values, " ".join(bare)


def _substituted(body: str, values: Mapping[str, str]) -> str:
    pieces: list[str] = []
    end = 0
    for found in SNIPPET.finditer(body):
        pieces += (_text(body[end : found.start()], values), f"!`{filled_command(found[1], values)}`")
        end = found.end()
    return "".join((*pieces, _text(body[end:], values)))


def _text(text: str, values: Mapping[str, str]) -> str:
    result = SLOT.sub(lambda found: values.get(found[1], found[0]), text)
    return result if result == text else _inert(result)


def _with_request(body: str, request: str) -> str:
    return f"{body.rstrip()}\n\nRequest: {_inert(request)}".lstrip() if request else body


def _inert(text: str) -> str:
    """`text` in which nothing begins a snippet."""
    return text.replace("!`", "!\\`")
