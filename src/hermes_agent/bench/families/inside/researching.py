"""Brings a page of the local site, and takes facts from it.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output.
"""

from __future__ import annotations

import json
import re
import sys
from html import unescape
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote

NAMES = ("population", "founded", "mayor")
_PART = re.compile(r"part (\d+) of (\d+)")
_TAGS = re.compile(r"<[^>]+>")
_LISTED = re.compile(r"<dt>(\w+)</dt>\s*<dd>([^<]+)</dd>")
_ROWS = re.compile(r"<tr><th>(\w+)</th><td>([^<]+)</td></tr>")
_SAID = {
    "population": re.compile(r"(\d+) people live"),
    "founded": re.compile(r"founded in (\d+)"),
    "mayor": re.compile(r"mayor is (\w+ \w+)"),
}
_MOST_PARTS = 20


class Refused(Exception):
    """The site does not answer as a way expects, or a page is not written as it expects."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


def _got(service: str, path: str, cookie: str = "") -> tuple[str, str]:
    """The page at a path, and the cookie that came with it."""
    connection = HTTPConnection(service, timeout=10)
    try:
        connection.request("GET", path, headers={"Cookie": cookie} if cookie else {})
        reply = connection.getresponse()
        text = reply.read(1 << 20).decode("utf-8", "replace")
    except (OSError, HTTPException) as error:
        raise Refused("unreachable", f"the site cannot be reached: {error}") from error
    finally:
        connection.close()
    if reply.status == 404:
        raise Refused("missing_page", f"the site has no {path}")
    if reply.status != 200:
        raise Refused("forbidden", f"the site answers {reply.status}: {text:.80}")
    return text, (reply.getheader("Set-Cookie") or "").partition(";")[0]


def _whole(text: str) -> str:
    """A page that is all there is."""
    if part := _PART.search(text):
        raise Refused("incomplete", f"this is {part[0]}")
    if 'id="app"' in text:
        raise Refused("empty_page", "the page is empty until its script has run")
    return text


def fetch_page(service: str, site: str, topic: str) -> str:
    """One page."""
    return _whole(_got(service, f"/{site}/{topic}")[0])


def fetch_signed(service: str, site: str, topic: str) -> str:
    """One page, with the cookie that the front page gives."""
    _, cookie = _got(service, f"/{site}/")
    return _whole(_got(service, f"/{site}/{topic}", cookie)[0])


def fetch_pages(service: str, site: str, topic: str) -> str:
    """All parts of a page, with the cookie that the front page gives."""
    _, cookie = _got(service, f"/{site}/")
    text, _ = _got(service, f"/{site}/{topic}", cookie)
    part = _PART.search(text)
    last = min(int(part[2]), _MOST_PARTS) if part else 1
    more = [_got(service, f"/{site}/{topic}?part={number}", cookie)[0] for number in range(2, last + 1)]
    whole = [_PART.sub("", one) for one in (text, *more)]
    return _whole("\n".join(whole))


def fetch_any(service: str, site: str, topic: str) -> str:
    """All parts of a page, or what its feed says where the page is empty."""
    try:
        return fetch_pages(service, site, topic)
    except Refused as error:
        if error.error != "empty_page":
            raise
    return unescape(_got(service, f"/{site}/{topic}/feed")[0])


def _listed(text: str) -> dict[str, str]:
    return {name.lower(): value for name, value in _LISTED.findall(text)}


def _in_rows(text: str) -> dict[str, str]:
    return {name.lower(): value for name, value in _ROWS.findall(text)}


def _said(text: str) -> dict[str, str]:
    plain = _TAGS.sub("", text)
    return {name: found[1] for name, pattern in _SAID.items() if (found := pattern.search(plain))}


FETCH = {
    "fetch_page": fetch_page,
    "fetch_signed": fetch_signed,
    "fetch_pages": fetch_pages,
    "fetch_any": fetch_any,
}
FACTS = {"facts_list": (_listed,), "facts_table": (_listed, _in_rows), "facts_any": (_listed, _in_rows, _said)}
"""How a way reads pages: facts in a list of terms, in a table, in sentences."""


def taken(way: str, text: str) -> dict[str, Any]:
    """The facts of a page. All of them must be there."""
    found = {name: value for read in FACTS[way] for name, value in read(text).items()}
    if missing := [name for name in NAMES if name not in found]:
        raise Refused("parse", f"the page does not say {missing[0]} in a way that is read here")
    return {"population": int(found["population"]), "founded": int(found["founded"]), "mayor": found["mayor"].strip()}


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: bring a page, or take facts from one."""
    try:
        if asked["way"] in FETCH:
            site, topic = quote(asked["site"], safe=""), quote(asked["topic"], safe="")
            written = FETCH[asked["way"]](asked["service"], site, topic)
        else:
            written = json.dumps(taken(asked["way"], Path(asked["page"]).read_text("utf-8")))
    except Refused as error:
        return {"error": error.error, "text": str(error)}
    except (OSError, UnicodeDecodeError) as error:
        return {"error": "not_found", "text": f"it cannot be read: {error}"}
    except ValueError as error:
        return {"error": "parse", "text": f"a number is none: {error}"}
    Path(asked["output"]).write_text(written, "utf-8")
    return {"text": f"wrote {asked['output']}: {len(written)} characters"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
