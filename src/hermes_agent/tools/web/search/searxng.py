"""A SearXNG of the user's own; `search_url` is its address. Its settings must allow the format `json`."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlencode

from ....types.base import Value
from ..client import WebClient, WebRequest
from .base import Found, Need, Question, ask, shaped

ADDRESS = ""
NEEDS: Need = "url"


class _Result(Value, frozen=True, kw_only=True):
    url: str = ""
    title: str | None = ""
    content: str | None = ""


class _Answer(Value, frozen=True, kw_only=True):
    results: tuple[_Result, ...]


async def search(client: WebClient, question: Question) -> Sequence[Found]:
    """The engine's own order."""
    base = question.address.rstrip("/")
    endpoint = base if base.endswith("/search") else f"{base}/search"
    url = f"{endpoint}?{urlencode({'q': question.text, 'format': 'json'})}"
    answer = shaped(await ask(client, WebRequest(url=url, headers=(("Accept", "application/json"),))), _Answer)
    return [Found(title=one.title or "", url=one.url, text=one.content or "") for one in answer.results]
