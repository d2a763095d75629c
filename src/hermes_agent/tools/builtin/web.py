"""The web: search, read, download, and calls to its interfaces."""

from __future__ import annotations

import hashlib
import os
from typing import Annotated, BinaryIO, Literal

import msgspec

from ...safety.paths import Scope, digest
from ...safety.urls import AddressRefused, HostUnknown
from ...types.base import Value
from ...types.text import one_line
from ...types.tools import ToolContext, ToolResult
from ..failures import failed, file_failure
from ..tool import in_thread, tool
from ..web.client import Limits, Reply, WebClient, WebRequest
from ..web.failure import WebFailure, visit_failure
from ..web.page import Page, kind_of, wrapped
from ..web.reader import read_page
from ..web.search.engines import Answers, answers

_PAGE_BYTES = 5 << 20
_ERROR_BYTES = 256 << 10
_FILE_BYTES = 512 << 20
_SHOWN = 14_000
_DOWNLOAD = Limits(seconds=570.0)
_RESULTS = 20
_QUERY = 500
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})
_TELLING = frozenset(
    {"content-type", "content-length", "etag", "last-modified", "link", "location", "retry-after", "set-cookie"}
    | {"www-authenticate", "x-ratelimit-remaining", "x-ratelimit-reset", "x-request-id", "allow"}
)
_VISIT_FAILURES = (WebFailure, AddressRefused, HostUnknown)


@tool(capabilities=("network",), effect="none", timeout=60, labels=("untrusted", "directory"))
async def web_search(query: str, context: ToolContext, limit: int = 5) -> ToolResult:
    """Search the web: titles, addresses, excerpts. Read a page with web_extract."""
    words = " ".join(query.split())
    if not words or len(words) > _QUERY:
        return failed("bad_argument", f"query has between 1 and {_QUERY} characters")
    if not 1 <= limit <= _RESULTS:
        return failed("bad_argument", f"limit is between 1 and {_RESULTS}")
    try:
        found = await answers(words, limit, context.web)
    except WebFailure as error:
        return visit_failure(error)
    return ToolResult(text=_listed(found), origin=found.host)


@tool(capabilities=("network",), effect="none", timeout=90, labels=("untrusted",), destinations=("url",))
async def web_extract(
    url: str,
    context: ToolContext,
    offset: Annotated[int, "first line"] = 1,
    full: Annotated[bool, "with menus and sidebars"] = False,
) -> ToolResult:
    """Read a web page, feed, JSON or text file as text."""
    if offset < 1:
        return failed("bad_argument", "offset counts from 1")
    try:
        async with WebClient(context.web).visit(WebRequest(url=url)) as reply:
            if reply.status >= 400:
                return _http_error(reply, await _error_text(reply))
            kind_of(b"", reply.header("content-type"))
            body, whole = await reply.beginning(_PAGE_BYTES)
        page = await read_page(body, reply.header("content-type"), reply.address.url, full=full)
    except _VISIT_FAILURES as error:
        return visit_failure(error)
    return _passage(reply, page, offset, context, whole=whole and not page.cut)


@tool(
    capabilities=("network", "files.write"),
    effect="idempotent",
    timeout=600,
    replaces=("path",),
    labels=("untrusted",),
    destinations=("url",),
)
async def web_download(url: str, path: str, context: ToolContext) -> ToolResult:
    """Save what is behind an address as a file of the workspace."""
    scope = Scope(context.workspace)
    target = scope.resolve(path)
    held = digest(target) if context.rerun else ""
    changed = context.rerun and held != context.before.get(path)
    try:
        async with WebClient(context.web, limits=_DOWNLOAD).visit(WebRequest(url=url)) as reply:
            if reply.status >= 400:
                return _http_error(reply, "")
            with scope.open_write(path) as file:
                saved = await _save(reply, file)
                if changed and held != saved.content:
                    raise WebFailure("changed", f"{path} was changed since this call began; read it before you decide")
    except _VISIT_FAILURES as error:
        return visit_failure(error)
    except OSError as error:
        return file_failure(error, path, scope)
    where = reply.address.url
    kind = one_line(reply.header("content-type"), 60) or "no type given"
    text = f"saved {path}: {saved.size} bytes, {kind}, sha256 {saved.sha256}, from {where}"
    return ToolResult(text=text, origin=where)


@tool(capabilities=("network",), effect="once", timeout=60, labels=("untrusted",), destinations=("url",), rare=True)
async def web_request(
    url: str,
    context: ToolContext,
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET",
    headers: dict[str, str] | None = None,
    body: str = "",
) -> ToolResult:
    """Call an HTTP interface: status, headers and body of its answer."""
    data = body.encode("utf-8", "replace")
    request = WebRequest(url=url, method=method, headers=_headers(headers or {}, body), body=data)
    try:
        async with WebClient(context.web).visit(request) as reply:
            answered, whole = (b"", True) if method == "HEAD" else await reply.beginning(_PAGE_BYTES)
        text = await _answer_text(reply, answered)
    except _VISIT_FAILURES as error:
        return visit_failure(error)
    lines = [f"HTTP {reply.status} {reply.address.url}"]
    lines += [f"{name}: {one_line(value, 300)}" for name, value in reply.headers if name in _TELLING]
    answer = "\n".join(lines) + f"\n\n{text}" + ("" if whole else "\n[the body goes on]")
    ok = reply.status < 400
    return ToolResult(
        ok=ok,
        error="" if ok else f"http_{reply.status}",
        text=answer,
        transient=reply.status in _PASSING,
        origin=reply.address.url,
    )


class Saved(Value, frozen=True, kw_only=True):
    """A file that was written: `content` is its digest as the journal knows it."""

    size: int
    sha256: str
    content: str


async def _save(reply: Reply, file: BinaryIO) -> Saved:
    """Write the body, and bring it to the disk in a thread: that can take long, and others share the loop."""
    size, known, content = 0, hashlib.sha256(), hashlib.blake2b(digest_size=16)
    async for chunk in reply.chunks(_FILE_BYTES):
        size += len(chunk)
        known.update(chunk)
        content.update(chunk)
        file.write(chunk)
    file.flush()
    await in_thread(lambda: os.fsync(file.fileno()))
    return Saved(size=size, sha256=known.hexdigest(), content=content.hexdigest())


async def _error_text(reply: Reply) -> str:
    """What a page says about an error, if it says anything."""
    try:
        body, _ = await reply.beginning(_ERROR_BYTES)
        return (await read_page(body, reply.header("content-type"), reply.address.url)).text
    except WebFailure:
        return ""


async def _answer_text(reply: Reply, data: bytes) -> str:
    kind = reply.header("content-type")
    try:
        return (await read_page(data, kind, reply.address.url, full=True)).text or "(empty body)"
    except WebFailure as error:
        return f"({len(data)} bytes of {one_line(kind, 60) or 'no type'}: {error})"


def _headers(given: dict[str, str], body: str) -> tuple[tuple[str, str], ...]:
    """The headers of a request; what kind of body it has is said where the caller did not."""
    pairs = tuple(given.items())
    if not body or any(name.lower() == "content-type" for name in given):
        return pairs
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return (*pairs, ("Content-Type", "text/plain; charset=utf-8"))
    return (*pairs, ("Content-Type", "application/json"))


def _http_error(reply: Reply, text: str) -> ToolResult:
    status, where = reply.status, reply.address.url
    said = f": {one_line(text, 500)}" if text.strip() else ""
    return ToolResult(
        ok=False,
        error=f"http_{status}",
        text=f"{where} answers HTTP {status}{said}",
        transient=status in _PASSING,
        origin=where,
    )


def _passage(reply: Reply, page: Page, offset: int, context: ToolContext, *, whole: bool) -> ToolResult:
    """The lines from `offset` on that fit, with a first line that says what they are and how to read on."""
    lines = page.text.split("\n") if page.text.strip() else []
    if offset > max(len(lines), 1):
        return failed("bad_argument", f"the page has only {len(lines)} lines")
    last, size = offset - 1, 0
    while last < len(lines) and (size + len(lines[last]) <= _SHOWN or last < offset):
        size += len(lines[last]) + 1
        last += 1
    facts = [f"{page.kind}, {page.charset}", f"lines {offset}-{last} of {len(lines)}" if lines else "no text"]
    if page.hidden:
        facts.append(f"{page.hidden} hidden characters left out")
    if not whole:
        facts.append("cut: the page is larger than can be read")
    if page.kind == "html" and len(page.text) < 200:
        facts.append("little text: browser_navigate shows pages made by scripts")
    title = f"{page.title} — " if page.title else ""
    head = f"[{title}{reply.address.url}; {'; '.join(facts)}]"
    shown = "\n".join(lines[offset - 1 : last])
    where = reply.address.url
    if offset == 1 and last == len(lines):
        return ToolResult(text=f"{head}\n{shown}", origin=where)
    blob = context.blobs.put(page.text.encode())
    if last < len(lines):
        shown += f"\n[more: offset={last + 1}, or read_file(path='blob:{blob[:16]}', offset={last + 1})]"
    return ToolResult(text=f"{head}\n{shown}", origin=where, blob=blob)


def _listed(found: Answers) -> str:
    count = len(found.found)
    failures = f"; {'; '.join(found.failures)}" if found.failures else ""
    head = f"[{count or 'no'} result{'s' if count != 1 else ''} from {found.engine}{failures}]"
    items = [
        "\n".join(filter(None, (f"{number}. {one.title}", f"   {one.url}", f"   {one.text}" if one.text else "")))
        for number, one in enumerate(found.found, 1)
    ]
    return wrapped("\n".join([head, *items]))
