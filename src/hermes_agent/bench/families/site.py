"""The local site that is researched: four sections, each built in its own way, with facts about towns."""

from __future__ import annotations

import random
from html import escape
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from ...types.base import Value
from ..serving import Served

SECTIONS = ("gazette", "registry", "almanac", "observatory")
TOWNS = tuple(
    f"{first}{last}"
    for first in ("ash", "brim", "crow", "dun", "elm", "fen", "gold", "heath")
    for last in ("bury", "ford", "ham", "ley", "mere", "ton")
)
_FIRST = ("Ada", "Bela", "Cora", "Dilan", "Emil", "Frida", "Goran", "Hana")
_LAST = ("Archer", "Berg", "Castell", "Dorn", "Eklund", "Faber", "Greve", "Holt")
_COOKIE = "visitor=welcome"
_PARTS = 3


class Facts(Value, frozen=True, kw_only=True):
    """What a section says about a town. Sections do not agree: each is asked about its own."""

    population: int
    founded: int
    mayor: str


class Page(Value, frozen=True, kw_only=True):
    """An answer of the site."""

    status: int
    text: str
    cookie: str = ""


def facts_of(seed: int, section: str, town: str) -> Facts:
    """The same for the same seed, section and town."""
    rng = random.Random(f"site:{seed}:{section}:{town}")
    mayor = f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
    return Facts(population=rng.randrange(800, 90_000), founded=rng.randrange(900, 1900), mayor=mayor)


def _rows(facts: Facts) -> str:
    pairs = (("Population", facts.population), ("Founded", facts.founded), ("Mayor", facts.mayor))
    return "<table>" + "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in pairs) + "</table>"


def _sentences(town: str, facts: Facts) -> tuple[str, ...]:
    return (
        f"<p>The town of {town} was founded in {facts.founded}.</p>",
        f"<p>Today {facts.population} people live there.</p>",
        f"<p>Its mayor is {facts.mayor} since the last election.</p>",
    )


def page(seed: int, target: str, cookie: str) -> Page:
    """What the site answers to a request."""
    try:
        address = urlsplit(target)
    except ValueError:
        return Page(status=404, text="there is no such page")
    section, _, rest = unquote(address.path).strip("/").partition("/")
    town, _, feed = rest.partition("/")
    if section not in SECTIONS or feed not in ("", "feed") or (rest and town not in TOWNS):
        return Page(status=404, text="there is no such page")
    if not rest:
        return Page(status=200, text=f"<h1>{section}</h1>", cookie=_COOKIE)
    facts = facts_of(seed, section, town)
    if feed:
        entry = escape(_rows(facts))
        known = section == "observatory"
        return Page(status=200, text=f"<feed>{entry}</feed>") if known else Page(status=404, text="there is no feed")
    match section:
        case "gazette":
            pairs = (("Population", facts.population), ("Founded", facts.founded), ("Mayor", facts.mayor))
            inner = "".join(f"<dt>{name}</dt> <dd>{value}</dd>" for name, value in pairs)
            return Page(status=200, text=f"<h1>{town}</h1><dl>{inner}</dl>")
        case "registry":
            if cookie != _COOKIE:
                return Page(status=403, text="come in through the front page")
            return Page(status=200, text=f"<h1>{town}</h1>{_rows(facts)}")
        case "almanac":
            wanted = parse_qs(address.query).get("part", ["1"])[0]
            if wanted not in ("1", "2", "3"):
                return Page(status=404, text="there is no such part")
            return Page(
                status=200, text=f"<nav>part {wanted} of {_PARTS}</nav>{_sentences(town, facts)[int(wanted) - 1]}"
            )
        case _:
            return Page(status=200, text='<div id="app"></div><script src="/app.js"></script>')


def serve(seed: int) -> Served:
    """The site of a seed."""
    return Served(_handler(seed), "research-site")


def _handler(seed: int) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 30
        wbufsize = -1

        def do_GET(self) -> None:
            answer = page(seed, self.path, self.headers.get("Cookie", ""))
            data = answer.text.encode()
            self.send_response(answer.status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            if answer.cookie:
                self.send_header("Set-Cookie", f"{answer.cookie}; Path=/")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: Any) -> None:
            """Nothing is logged: every request is in the journal of the run that made it."""

    return Handler
