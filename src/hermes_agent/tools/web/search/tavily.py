"""Tavily's search, with a key."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ....types.base import Value
from ..client import WebClient, WebRequest
from .base import Found, Need, Question, ask, shaped

ADDRESS = "https://api.tavily.com/search"
NEEDS: Need = "key"


class _Result(Value, frozen=True, kw_only=True):
    url: str = ""
    title: str = ""
    content: str | None = ""


class _Answer(Value, frozen=True, kw_only=True):
    results: tuple[_Result, ...]


async def search(client: WebClient, question: Question) -> Sequence[Found]:
    """Results by the engine's score."""
    body = msgspec.json.encode({"query": question.text, "max_results": min(question.limit, 20)})
    headers = (("Content-Type", "application/json"), ("Authorization", f"Bearer {question.key}"))
    request = WebRequest(url=question.address, method="POST", headers=headers, body=body)
    answer = shaped(await ask(client, request), _Answer)
    return [Found(title=one.title, url=one.url, text=one.content or "") for one in answer.results]
