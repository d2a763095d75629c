"""Visits as a test makes them."""

import asyncio

import pytest

from hermes_agent.tools.web.client import Limits, WebClient, WebRequest
from hermes_agent.tools.web.failure import WebFailure
from hermes_agent.types.errors import HermesError
from hermes_agent.types.tools import WebAccess
from tests.tools.web.site import Site

MOST = 1 << 20


def client(*sites: Site, limits: Limits | None = None) -> WebClient:
    return WebClient(WebAccess(allowed=frozenset(site.place for site in sites)), limits=limits)


def fetch(visitor: WebClient, request: WebRequest | str, limit: int = MOST) -> tuple[int, str, bytes]:
    """Status, last address and body."""

    async def go() -> tuple[int, str, bytes]:
        wanted = WebRequest(url=request) if isinstance(request, str) else request
        async with visitor.visit(wanted) as reply:
            return reply.status, reply.address.url, b"".join([chunk async for chunk in reply.chunks(limit)])

    return asyncio.run(go())


def failure(visitor: WebClient, request: WebRequest | str, limit: int = MOST) -> tuple[str, str]:
    """The class of the failure and its text."""
    with pytest.raises(HermesError) as raised:
        fetch(visitor, request, limit)
    error = raised.value
    return (error.error if isinstance(error, WebFailure) else type(error).__name__), error.explain()
