"""Who may talk to the page, and with which headers it answers.

Three things keep strangers out: the address must be one that we serve under (a name that somebody else's DNS points
here is none), a request that a browser sends for another site's page is refused, and everything needs the token.
Changes need a second word in a header that only our own page can read.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
from collections.abc import Iterable
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...types.base import Value

CSRF_HEADER = "x-hermes-csrf"
HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; "
    "object-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_READS = ("GET", "HEAD")
_METHODS = (*_READS, "POST", "DELETE")
_ENTERED = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><meta http-equiv="refresh" content="0;url=/">'
    '<title>Hermes</title><p><a href="/">Go on to the page</a></p></html>'
)
_NO_TOKEN = "this needs the token: open the address that `hermes dashboard` printed, or send it as a bearer token\n"


class Access(Value, frozen=True, kw_only=True):
    """What a request must bring. `hosts` are the names we are served under, with their port; `any_address` lets every
    bare address in, for a server that listens on all of them."""

    token: str
    hosts: frozenset[str]
    port: int
    any_address: bool = False

    @property
    def cookie(self) -> str:
        """Cookies do not tell ports apart, so the name does."""
        return f"hermes_dashboard_{self.port}"

    @property
    def csrf(self) -> str:
        """What changes must name; made from the token, and of no use for anything else."""
        return hmac.new(self.token.encode(), b"csrf", hashlib.sha256).hexdigest()


class Gate:
    """Lets requests through to `inner`, or answers them itself."""

    def __init__(self, inner: ASGIApp, access: Access) -> None:
        self._inner = inner
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = self._refusal(scope)
        await (answer or self._inner)(scope, receive, _guarded(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = _Headers(scope["headers"])
        host = headers.only("host")
        if host is None or not self._known(host.lower()):
            return PlainTextResponse("this server is not known under that name\n", 421)
        origins = headers.all("origin")
        if any(origin.lower() != f"http://{host.lower()}" for origin in origins):
            return PlainTextResponse("requests from other sites are refused\n", 403)
        if scope["method"] not in _METHODS:
            return PlainTextResponse("that method is not served\n", 405)
        given = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20).get("token", [])
        if scope["path"] == "/" and scope["method"] == "GET" and given:
            return self._enter(given[-1], headers)
        if not self._has_token(headers):
            return PlainTextResponse(_NO_TOKEN, 401, {"www-authenticate": "Bearer"})
        if scope["method"] in _READS:
            return None
        word = headers.only(CSRF_HEADER)
        if not origins or word is None or not _same(word, self._access.csrf):
            return PlainTextResponse("changes are made from the page itself\n", 403)
        return None

    def _known(self, host: str) -> bool:
        if host in self._access.hosts:
            return True
        name, _, port = host.rpartition(":")
        if not self._access.any_address or port != str(self._access.port):
            return False
        try:
            ipaddress.ip_address(name.strip("[]"))
        except ValueError:
            return False
        return True

    def _enter(self, token: str, headers: _Headers) -> Response:
        """Trade the token in the address for a cookie. A page elsewhere that linked here would keep a strict cookie
        from the redirect, so that then our own page leads on."""
        if not _same(token, self._access.token):
            return PlainTextResponse("that token is not the one of this server\n", 401)
        elsewhere = headers.only("sec-fetch-site") in ("cross-site", "same-site")
        answer: Response = HTMLResponse(_ENTERED) if elsewhere else RedirectResponse("/", 303)
        answer.set_cookie(self._access.cookie, self._access.token, httponly=True, samesite="strict", path="/")
        return answer

    def _has_token(self, headers: _Headers) -> bool:
        bearer = headers.only("authorization") or ""
        if bearer[:7].lower() == "bearer " and _same(bearer[7:].strip(), self._access.token):
            return True
        for text in headers.all("cookie"):
            try:
                morsel = SimpleCookie(text).get(self._access.cookie)
            except CookieError:
                continue
            if morsel is not None and _same(morsel.value, self._access.token):
                return True
        return False


class _Headers:
    """Headers as they came, so that one sent twice is seen twice."""

    def __init__(self, raw: Iterable[tuple[bytes, bytes]]) -> None:
        self._raw = [(name.decode("latin-1").lower(), value.decode("latin-1")) for name, value in raw]

    def all(self, name: str) -> list[str]:
        return [value for known, value in self._raw if known == name]

    def only(self, name: str) -> str | None:
        found = self.all(name)
        return found[0] if len(found) == 1 else None


def _same(given: str, wanted: str) -> bool:
    """Compared in a time that does not tell how much was right."""
    return secrets.compare_digest(given.encode("utf-8", "surrogatepass"), wanted.encode())


def _guarded(send: Send) -> Send:
    """Adds the headers that every answer carries."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name.lower() for name, _ in message.get("headers", [])}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
            message = {**message, "headers": [*message.get("headers", []), *more]}
        await send(message)

    return guarded
