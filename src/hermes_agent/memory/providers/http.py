"""Any memory with an HTTP interface, described by templates in `memory.options`; no code is needed for it.

    memory:
      provider: http
      address: https://memory.example.org
      options:
        headers: "Authorization: Bearer {key}"
        recall_url: /search
        recall_body: '{"q": "{query}", "top": "{limit}"}'
        recall_path: data.items
        recall_text: body.text
        remember_url: /notes
        remember_body: '{"text": "{text}", "conversation": "{session}"}'

A body is JSON. Inside its strings stand {query}, {session}, {limit}, {text} (the turn as one text), {user} and
{project}; a string that is nothing but "{limit}" becomes the number, one that is nothing but "{messages}" the list of
messages with `role` and `content`. In a URL they are percent-encoded. {key} is HTTP_API_KEY and stands in headers only;
a header that needs a key is left out when there is none. Paths into answers are names with dots between them.
`hermes doctor` asks check_url, or recalls something where there is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from ...types.base import Value
from ...types.errors import ConfigError
from ..external import ExternalMemory, ProviderOptions, Recalled, Said
from ..service import Service, as_messages, as_text, at, found, key_of, segment, trouble

DEFAULTS = {
    "headers": "Authorization: Bearer {key}",
    "user": "hermes",
    "project": "hermes",
    "recall_method": "POST",
    "recall_url": "",
    "recall_body": '{"query": "{query}", "limit": "{limit}"}',
    "recall_path": "results",
    "recall_text": "text",
    "recall_score": "score",
    "recall_origin": "id",
    "remember_method": "POST",
    "remember_url": "",
    "remember_body": '{"text": "{text}", "session": "{session}"}',
    "check_method": "GET",
    "check_url": "",
}
METHODS = ("GET", "POST", "PUT", "PATCH")
PLACES = {
    "recall": frozenset({"query", "session", "limit", "user", "project"}),
    "remember": frozenset({"text", "messages", "session", "user", "project"}),
    "check": frozenset({"user", "project"}),
}
_PLACE = re.compile(r"\{([a-z_]+)\}")


class Request(Value, frozen=True, kw_only=True):
    """One request as a template. Made of values in one pass: what is filled in is never read as a template again."""

    method: str
    url: str
    body: Any = None

    async def send(self, service: Service, values: Mapping[str, Any]) -> Any:
        url = _PLACE.sub(lambda place: segment(str(values[place[1]])), self.url)
        body = None if self.body is None else _filled(self.body, values)
        return await service.ask(self.method, url, body)


class Templated:
    """A memory that is nothing but templates."""

    def __init__(self, service: Service, chosen: Mapping[str, str]) -> None:
        self.name = service.name
        self._service = service
        self._chosen = chosen
        self._recall = _request("recall", chosen)
        self._remember = _request("remember", chosen)
        self._check = _request("check", chosen)
        self._fixed = {"user": chosen["user"], "project": chosen["project"]}

    async def remember(self, session_id: str, messages: Sequence[Said], *, tainted: bool = False) -> None:
        if self._remember is not None:
            said = {"text": as_text(messages), "messages": as_messages(messages), "session": session_id}
            await self._remember.send(self._service, {**self._fixed, **said})

    async def recall(self, query: str, session_id: str, limit: int) -> Sequence[Recalled]:
        if self._recall is None:
            return []
        asked = {"query": query, "session": session_id, "limit": limit}
        answer = await self._recall.send(self._service, {**self._fixed, **asked})
        places = {name: self._chosen[f"recall_{name}"] for name in ("text", "score", "origin")}
        return found(at(answer, self._chosen["recall_path"]), self.name, **places)[:limit]

    async def check(self) -> str:
        if self._check is None:
            return await trouble(self.recall("hermes", "", 1))
        return await trouble(self._check.send(self._service, self._fixed))

    async def close(self) -> None:
        """Connections are shared and closed with the application."""


def templated(options: ProviderOptions, defaults: Mapping[str, str], hosted: str = "") -> ExternalMemory:
    """A memory from templates; `memory.options` go over the `defaults`."""
    chosen = options.filled({**DEFAULTS, **defaults})
    if not chosen["recall_url"] and not chosen["remember_url"]:
        raise ConfigError(
            f"{options.name} is told neither where to recall nor where to remember",
            remedy="set recall_url and remember_url in memory.options; docs/memory-providers.md has an example",
        )
    service = Service(options, _headers(chosen["headers"], key_of(options, hosted)), hosted)
    return Templated(service, chosen)


def connect(options: ProviderOptions) -> ExternalMemory:
    return templated(options, {})


def _headers(template: str, key: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in filter(None, (part.strip() for part in template.split("\n"))):
        name, colon, value = line.partition(":")
        if not colon:
            raise ConfigError(f"memory.options: {name!r} is no header", remedy="write Name: value, one on each line")
        if "{key}" in value and not key:
            continue
        headers[name.strip()] = value.strip().replace("{key}", key)
    return headers


def _request(kind: str, chosen: Mapping[str, str]) -> Request | None:
    """The template of one kind of request, checked: what is wrong with it is said when the configuration is read."""
    url, method = chosen[f"{kind}_url"], chosen[f"{kind}_method"].upper()
    if not url:
        return None
    if not url.startswith("/"):
        raise ConfigError(f"memory.options: {kind}_url must begin with a slash", remedy="the host is memory.address")
    if method not in METHODS:
        raise ConfigError(f"memory.options: {kind}_method is {method!r}", remedy=f"choose one of {', '.join(METHODS)}")
    text = chosen.get(f"{kind}_body", "") if method != "GET" else ""
    try:
        body = msgspec.json.decode(text.encode("utf-8", "replace")) if text.strip() else None
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigError(f"memory.options: {kind}_body is no JSON: {error}", remedy="quote the whole body") from error
    unknown = sorted((set(_PLACE.findall(url)) | _places(body)) - PLACES[kind])
    if unknown:
        names = ", ".join(f"{{{name}}}" for name in sorted(PLACES[kind]))
        raise ConfigError(f"memory.options: {kind} has no {{{unknown[0]}}}", remedy=f"it knows: {names}")
    return Request(method=method, url=url, body=body)


def _places(body: Any) -> set[str]:
    match body:
        case str():
            return set(_PLACE.findall(body))
        case dict():
            return {name for item in body.values() for name in _places(item)}
        case list():
            return {name for item in body for name in _places(item)}
        case _:
            return set()


def _filled(body: Any, values: Mapping[str, Any]) -> Any:
    match body:
        case "{limit}" | "{messages}":
            return values[body[1:-1]]
        case str():
            return _PLACE.sub(lambda place: str(values[place[1]]), body)
        case dict():
            return {name: _filled(item, values) for name, item in body.items()}
        case list():
            return [_filled(item, values) for item in body]
        case _:
            return body
