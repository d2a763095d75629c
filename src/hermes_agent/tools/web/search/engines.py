"""Chooses the search engine, and another one when it fails."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol, cast

import msgspec

from ....safety.urls import Address, AddressRefused, HostUnknown, check
from ....types.base import Value
from ....types.errors import HermesError
from ....types.text import one_line
from ....types.tools import WebAccess
from ..charset import seen
from ..client import Limits, WebClient
from ..failure import WebFailure
from ..feed import plain
from .base import Found, Need, Question

_NOT_ENGINES = frozenset({"__init__", "base", "engines"})
_KEYLESS = ("duckduckgo", "wikipedia")
_LIMITS = Limits(seconds=15.0)
_TITLE, _TEXT = 160, 400


class Engine(Protocol):
    """A module of this folder."""

    ADDRESS: str
    NEEDS: Need

    async def search(self, client: WebClient, question: Question) -> Sequence[Found]: ...


class Answers(Value, frozen=True, kw_only=True):
    """What was found, by whom, and why others were not asked in the end."""

    engine: str
    host: str
    found: tuple[Found, ...]
    failures: tuple[str, ...] = ()


def names() -> tuple[str, ...]:
    """The engines there are."""
    return tuple(sorted({path.stem for path in Path(__file__).parent.glob("*.py")} - _NOT_ENGINES))


async def answers(text: str, limit: int, access: WebAccess, addresses: Mapping[str, str] | None = None) -> Answers:
    """Search with the configured engine; `auto` goes on to the next when one fails. Raises WebFailure when none works.

    `addresses` replaces the engines' own ones.
    """
    failures: list[str] = []
    transient = False
    for name in _chosen(access):
        try:
            return await _asked(name, text, limit, access, (addresses or {}).get(name, ""), tuple(failures))
        except (WebFailure, AddressRefused, HostUnknown) as error:
            failures.append(f"{name}: {_reason(error)}")
            transient = transient or not isinstance(error, WebFailure) or error.transient
    raise WebFailure("search", "no search engine answered: " + "; ".join(failures), transient=transient)


def _chosen(access: WebAccess) -> tuple[str, ...]:
    if access.search != "auto":
        return (access.search,)
    if access.search_key:
        return ("tavily" if access.search_key.startswith("tvly-") else "brave", *_KEYLESS)
    return ("searxng", *_KEYLESS) if access.search_url else _KEYLESS


async def _asked(
    name: str, text: str, limit: int, access: WebAccess, address: str, failures: tuple[str, ...]
) -> Answers:
    if name not in names():
        raise WebFailure("bad_config", f"there is no such engine; web.search is auto or one of {', '.join(names())}")
    engine = cast(Engine, importlib.import_module(f"{__package__}.{name}"))
    own = access.search_url if name == _chosen(access)[0] else ""
    where = address or own or engine.ADDRESS
    if engine.NEEDS == "key" and not access.search_key:
        raise WebFailure("bad_config", f"it needs a key; set {name.upper()}_API_KEY")
    if not where:
        raise WebFailure("bad_config", "it needs its address; set web.search_url")
    place = check(where)
    trusted = msgspec.structs.replace(access, allowed=access.allowed | {place.place})
    key = access.search_key if engine.NEEDS == "key" else ""
    question = Question(text=text, limit=limit, address=where, key=key)
    found = await engine.search(WebClient(trusted, limits=_LIMITS), question)
    return Answers(engine=name, host=place.host, found=_shown(found, limit), failures=failures)


def _shown(found: Sequence[Found], limit: int) -> tuple[Found, ...]:
    """The first answers as plain text; addresses in their one spelling, those that cannot be visited left out."""
    kept: dict[str, Found] = {}
    for one in found:
        address = _address(one.url)
        if address is not None and address.url not in kept:
            kept[address.url] = Found(
                title=one_line(seen(plain(one.title)), _TITLE) or address.host,
                url=address.url,
                text=one_line(seen(plain(one.text)), _TEXT),
            )
        if len(kept) == limit:
            break
    return tuple(kept.values())


def _address(url: str) -> Address | None:
    try:
        return check(url)
    except AddressRefused:
        return None


def _reason(error: HermesError) -> str:
    return one_line(str(error), 160)
