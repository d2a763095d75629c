"""The situation of a call as a handful of features, and the class of an error. Never raw text: shapes only.

A condition of a heuristic is one of these features or a pair of them ("this parser on files with this suffix").
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ..store.codec import plain

_MOST_FEATURES = 10
_MOST_ARGUMENTS = 6
_TOKEN = re.compile(r"[\w.+-]{1,24}")
_SUFFIX = re.compile(r"(?:^|[\w)\]])(\.[A-Za-z][A-Za-z0-9]{0,7}|\.[A-Za-z0-9]{1,7}[A-Za-z])$")
_WORD = re.compile(r"[A-Za-z_][\w.-]{0,30}")
_LONG = 200
_SHAPES = ("keys", "after")
_SIGNS = re.compile(r"[=&>.]")
_JOINTS = re.compile(r"[&>]")

_CLASSES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(pattern, re.IGNORECASE))
    for name, pattern in (
        ("timeout", r"time[d -]*out|deadline"),
        ("rate_limit", r"rate.?limit|too many requests|\b429\b|quota"),
        ("credentials", r"api.?key|credential|unauthori[sz]ed|\b401\b|not logged in|log ?in first|authenticat"),
        ("missing_program", r"command not found|no such command|not installed|\bexit(?:ed)? (?:code )?127\b"),
        ("not_found", r"not found|no such|does not exist|\b404\b|unknown"),
        ("forbidden", r"permission|forbidden|denied|\b403\b"),
        ("unreachable", r"connection|refused|unreachable|unavailable|\b50[0234]\b|network"),
        ("encoding", r"decode|encod|codec|utf-?8"),
        ("parse", r"pars|syntax|malformed|invalid (?:json|format|csv)|delimiter"),
        ("type", r"type ?error|expected .{1,20} got|must be (?:a|an) "),
        ("value", r"invalid|value ?error|out of range"),
    )
)
_GENERIC = frozenset({"", "error", "failed", "exception", "runtimeerror", "exit", "nonzero_exit"})
NEVER_LEARNED = frozenset({"credentials", "missing_program", "bad_arguments", "not_permitted", "undeclared"})
"""Failures that say nothing about a tool here: the model's slip, or something the user can simply install or allow."""

ABOUT_ARGUMENTS = frozenset(
    {
        *("bad_argument", "bad_path", "bad_pattern", "bad_name", "bad_token", "not_found", "is_directory"),
        *("not_a_directory", "exists", "changed", "too_long", "too_many", "too_large", "too_different", "ambiguous"),
        *("not_empty", "refused", "binary", "not_a_picture", "value", "type", "missing", "not_installed"),
        "nobody_there",
    }
)
"""Failures that are about what was asked for: they say nothing about the tool, which would do the same job elsewhere
with another path or command. What mended them is still worth knowing."""


def is_about_arguments(error: str) -> bool:
    """Whether a failure says nothing about its tool. A command that ends with an error ran well enough."""
    return error in ABOUT_ARGUMENTS or error.startswith("exit")


def error_class(error: str, text: str = "") -> str:
    """The class of a failure: what the tool called it, or what kind of trouble its text speaks of."""
    given = plain(error[:400]).strip().lower()
    if given not in _GENERIC:
        excused = (name for name, pattern in _CLASSES if name in NEVER_LEARNED and pattern.search(given))
        return next(excused, given[:40])
    head = text[:400]
    return next((name for name, pattern in _CLASSES if pattern.search(head)), given or "error")


def features_of(arguments: Mapping[str, Any], previous: str = "") -> tuple[str, ...]:
    """What could explain how a call ends, most general first; at most ten, the same for the same shape. Every feature
    is text that any database takes, whatever the arguments hold."""
    named = {str(name): value for name, value in arguments.items()}
    found = [f"keys={_SIGNS.sub('_', ','.join(sorted(named))[:80])}"] if named else []
    for name in sorted(named)[:_MOST_ARGUMENTS]:
        found += _argument(_named(name[:30]), named[name])
    if previous:
        found.append(f"after={_JOINTS.sub('_', previous[:60])}")
    return tuple(plain(feature) for feature in found[:_MOST_FEATURES])


def _named(name: str) -> str:
    """An argument's name in a feature. It never looks like the features of the whole call, nor like a suffix, whose
    values may be stored as they are."""
    said = _SIGNS.sub("_", name)
    return f"argument.{said}" if said in _SHAPES else said


def _argument(name: str, value: Any) -> list[str]:
    match value:
        case bool():
            return [f"{name}={str(value).lower()}"]
        case int() | float():
            return [f"{name}:{'negative' if value < 0 else 'number'}"]
        case str():
            return [_text(name, value)]
        case list() | tuple():
            return [f"{name}:{'list' if value else 'empty'}"]
        case dict():
            return [f"{name}:object"]
        case _:
            return [f"{name}:none"]


def _text(name: str, value: str) -> str:
    text = value.strip()
    if "://" in text[:12]:
        return f"{name}.host={_host(text)}"
    if "\n" not in text and (suffix := _SUFFIX.search(text[-60:])):
        return f"{name}.suffix={suffix.group(1).lower()}"
    if "/" in text and " " not in text:
        return f"{name}:path"
    if _TOKEN.fullmatch(text):
        return f"{name}={text.lower()}" if not text.isdigit() else f"{name}:digits"
    if not text:
        return f"{name}:empty"
    head = _WORD.match(text)
    if head and len(text) <= _LONG:
        return f"{name}.head={head.group().lower()}"
    return f"{name}:{'long' if len(text) > _LONG else 'text'}"


def _host(text: str) -> str:
    try:
        return (urlsplit(text).hostname or "none")[:60]
    except ValueError:
        return "none"
