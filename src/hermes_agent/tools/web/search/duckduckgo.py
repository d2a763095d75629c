"""DuckDuckGo's page for browsers without scripts: no key. It may ask for a human, and then says nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import unescape
from urllib.parse import parse_qs, urlencode, urljoin, urlsplit

from ..client import WebClient, WebRequest
from ..failure import WebFailure
from .base import Found, Need, Question, ask

ADDRESS = "https://html.duckduckgo.com/html/"
NEEDS: Need = "nothing"
_TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^<>]*)>")
_ATTRIBUTE = re.compile(r"([a-zA-Z-]{1,40})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_BLOCKED = ("anomaly-modal", "challenge-form")


async def search(client: WebClient, question: Question) -> Sequence[Found]:
    """Results in the page's order, without its advertisements."""
    url = f"{question.address}?{urlencode({'q': question.text})}"
    page = (await ask(client, WebRequest(url=url, headers=(("Accept", "text/html"),)))).decode("utf-8", "replace")
    found = list(_results(page, question.address))
    if not found and any(sign in page for sign in _BLOCKED):
        raise WebFailure("rate_limit", "it asks for proof of a human", transient=True)
    if not found and "no-results" not in page:
        raise WebFailure("search", "its answer has an unknown form")
    return found


def _results(page: str, address: str) -> Iterator[Found]:
    """Each result is an element with the class `result`, and in it two links: `result__a` and `result__snippet`.

    The page is read tag by tag, which takes no longer than it is long.
    """
    advertisement = False
    title = target = ""
    wanted, begins = "", 0
    for tag in _TAG.finditer(page):
        closing, name = tag[1] == "/", tag[2].lower()
        if wanted and closing and name == "a":
            words = page[begins : tag.start()]
            if wanted == "result__a":
                title = words
            elif title:
                yield Found(title=title, url=target, text=words)
                title = ""
            wanted = ""
            continue
        if closing:
            continue
        attributes = {key.lower(): unescape(one or other) for key, one, other in _ATTRIBUTE.findall(tag[3])}
        classes = attributes.get("class", "").split()
        if "result" in classes:
            if title:
                yield Found(title=title, url=target)
                title = ""
            advertisement = "result--ad" in classes
        if name == "a" and not advertisement:
            wanted = next((one for one in ("result__a", "result__snippet") if one in classes), "")
            begins = tag.end()
            if wanted == "result__a":
                target = _target(attributes.get("href", ""), address)
    if title:
        yield Found(title=title, url=target)


def _target(link: str, address: str) -> str:
    """Links lead through a page of the engine, which names the true address in its query."""
    whole = urljoin(address, link)
    try:
        named = parse_qs(urlsplit(whole).query).get("uddg")
    except ValueError:
        return ""
    return named[0] if named else whole
