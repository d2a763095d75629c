"""Brave's search, with a key."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from ....types.base import Value
from ..client import WebClient, WebRequest
from .base import Found, Need, Question, ask, shaped

ADDRESS = "https://api.search.brave.com/res/v1/web/search"
NEEDS: Need = "key"


class _Result(Value, frozen=True, kw_only=True):
    url: str = ""
    title: str = ""
    description: str | None = ""


class _Web(Value, frozen=True, kw_only=True):
    results: tuple[_Result, ...] = ()


class _Answer(Value, frozen=True, kw_only=True):
    web: _Web | None = None


async def search(client: WebClient, question: Question) -> Sequence[Found]:
    """Web results; the engine gives at most twenty."""
    url = f"{question.address}?{urlencode({'q': question.text, 'count': min(question.limit, 20)})}"
    headers = (("Accept", "application/json"), ("X-Subscription-Token", question.key))
    answer = shaped(await ask(client, WebRequest(url=url, headers=headers)), _Answer)
    results = answer.web.results if answer.web else ()
    return [Found(title=one.title, url=one.url, text=one.description or "") for one in results]
