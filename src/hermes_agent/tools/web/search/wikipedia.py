"""Wikipedia's own search: no key, and no more than an encyclopedia knows."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote, urlencode

from ....safety.urls import check
from ....types.base import Value
from ..client import WebClient, WebRequest
from .base import Found, Need, Question, ask, shaped

ADDRESS = "https://en.wikipedia.org/w/rest.php/v1/search/page"
NEEDS: Need = "nothing"


class _Entry(Value, frozen=True, kw_only=True):
    key: str
    title: str = ""
    excerpt: str | None = ""
    description: str | None = ""


class _Answer(Value, frozen=True, kw_only=True):
    pages: tuple[_Entry, ...]


async def search(client: WebClient, question: Question) -> Sequence[Found]:
    """Articles whose text matches."""
    url = f"{question.address}?{urlencode({'q': question.text, 'limit': min(question.limit, 50)})}"
    answer = shaped(await ask(client, WebRequest(url=url, headers=(("Accept", "application/json"),))), _Answer)
    place = check(question.address)
    return [
        Found(
            title=one.title,
            url=f"{place.scheme}://{place.authority}/wiki/{quote(one.key)}",
            text=": ".join(filter(None, (one.description, one.excerpt))),
        )
        for one in answer.pages
    ]
