"""web_extract, web_download and web_request, as the harness calls them."""

import asyncio
import hashlib
import json
from pathlib import Path

import pytest

from hermes_agent.safety.paths import digest_of
from hermes_agent.tools.builtin.files import read_file
from hermes_agent.tools.builtin.web import web_download, web_extract, web_request, web_search
from hermes_agent.tools.tool import ArgumentProblem, declared_tool
from hermes_agent.types.errors import PermissionRefused
from hermes_agent.types.tools import Capability, Effect, Label, ToolResult, WebAccess
from tests.tools.context import Context
from tests.tools.web.site import Site
from tests.tools.web.test_bodies import endless

NET = frozenset({Capability.NETWORK})
NET_AND_FILES = NET | {Capability.FILES_WRITE}
STRANGE = frozenset({Label.UNTRUSTED})


@pytest.mark.req("A4", "R3", "B5")
def test_what_the_tools_declare() -> None:
    tools = (declared_tool(function) for function in (web_search, web_extract, web_download, web_request))
    specs = [tool.spec for tool in tools if tool is not None]
    assert [(s.name, s.capabilities, s.effect, s.replaces, s.destinations, s.rare, s.labels) for s in specs] == [
        ("web_search", NET, Effect.NONE, (), (), False, STRANGE | {Label.DIRECTORY}),
        ("web_extract", NET, Effect.NONE, (), ("url",), False, STRANGE),
        ("web_download", NET_AND_FILES, Effect.IDEMPOTENT, ("path",), ("url",), False, STRANGE),
        ("web_request", NET, Effect.ONCE, (), ("url",), True, STRANGE),
    ]


# web_extract


def test_a_page(site: Site, context: Context) -> None:
    site.redirect("/old", "/new")
    where = site.page(
        "/new", f"<title>Title</title><main><h1>Head</h1><p>{'Words. ' * 50}</p><p hidden>secret</p></main>"
    )
    assert context.now(web_extract, url=site.url("/old")) == ToolResult(
        text=f"[Title — {where}; html, utf-8; lines 1-3 of 3; 6 hidden characters left out]\n"
        "# Head\n\n" + "Words. " * 49 + "Words.",
        origin=where,
    )


def test_other_kinds(site: Site, context: Context) -> None:
    plain = site.page("/t", "a\nb", kind="text/plain")
    data = site.page("/j", '{"a":1}', kind="application/json")
    empty = site.page("/e", "", kind="text/plain")
    assert [context.now(web_extract, url=url) for url in (plain, data, empty)] == [
        ToolResult(text=f"[{plain}; text, utf-8; lines 1-2 of 2]\na\nb", origin=plain),
        ToolResult(text=f'[{data}; json, utf-8; lines 1-3 of 3]\n{{\n  "a": 1\n}}', origin=data),
        ToolResult(text=f"[{empty}; text, utf-8; no text]\n", origin=empty),
    ]


def test_a_page_made_by_scripts_is_said_to_be_one(site: Site, context: Context) -> None:
    url = site.page("/", "<title>App</title><div id=root></div><script>boot()</script>")
    assert context.now(web_extract, url=url).text == (
        f"[App — {url}; html, utf-8; no text; little text: browser_navigate shows pages made by scripts]\n"
    )


def test_a_long_page_is_read_on(site: Site, context: Context) -> None:
    lines = [f"line {number} {'x' * 90}" for number in range(1, 501)]
    url = site.page("/", "\n".join(lines), kind="text/plain")
    first = context.now(web_extract, url=url)
    head, *shown, more = first.text.split("\n")
    last = len(shown)
    assert (head, shown) == (f"[{url}; text, utf-8; lines 1-{last} of 500]", lines[:last])
    assert more == f"[more: offset={last + 1}, or read_file(path='blob:{first.blob[:16]}', offset={last + 1})]"
    assert len(first.text) < 16_000
    assert context.blobs.get(first.blob).decode().split("\n") == lines
    assert context.now(read_file, path=f"blob:{first.blob}", offset=last + 1, limit=1).text.endswith(lines[last])
    assert context.now(web_extract, url=url, offset=500) == ToolResult(
        text=f"[{url}; text, utf-8; lines 500-500 of 500]\n{lines[-1]}", origin=url, blob=first.blob
    )
    assert context.now(web_extract, url=url, offset=501).text == "the page has only 500 lines"
    assert context.now(web_extract, url=url, offset=0).error == "bad_argument"


def test_an_endless_page_is_cut(site: Site, context: Context) -> None:
    result = context.now(web_extract, url=site.raw("/", endless))
    assert result.ok
    assert "; cut: the page is larger than can be read]" in result.text.split("\n")[0]


@pytest.mark.parametrize(
    ("status", "transient"), [("404 Gone", False), ("403 No", False), ("429 Slow", True), ("503 Down", True)]
)
def test_errors_of_the_server(site: Site, context: Context, status: str, transient: bool) -> None:
    url = site.page("/", "<p>The reason</p>", status=status)
    code = status[:3]
    assert context.now(web_extract, url=url) == ToolResult(
        ok=False,
        error=f"http_{code}",
        text=f"{url} answers HTTP {code}: The reason",
        transient=transient,
        origin=url,
    )
    picture = site.page("/picture", b"\x89PNG\r\n\x1a\n", kind="image/png", status=status)
    assert context.now(web_extract, url=picture).text == f"{picture} answers HTTP {code}"


@pytest.mark.req("A12", "B5")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:1/",
        "http://169.254.169.254/latest/",
        "http://[::1]/",
        "http://localhost:1/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://user:pass@example.com/",
        "http://2130706433/",
        "example.com",
        "http://example.com/\r\nX-Evil: 1",
        "",
    ],
)
def test_addresses_that_are_refused(context: Context, tmp_path: Path, url: str) -> None:
    results = [
        context.now(web_extract, url=url),
        context.now(web_download, url=url, path="f"),
        context.now(web_request, url=url, method="POST", body="x"),
    ]
    assert [(result.ok, result.error) for result in results] == [(False, "address_refused")] * 3
    assert list(context.workspace.iterdir()) == []


def test_a_pdf_is_pointed_to_the_download(site: Site, context: Context) -> None:
    url = site.page("/", b"%PDF-1.7", kind="application/pdf")
    assert context.now(web_extract, url=url) == ToolResult(
        ok=False, error="not_text", text="this is a PDF, not text; web_download saves it as a file"
    )


def test_arguments_are_checked(context: Context) -> None:
    with pytest.raises(ArgumentProblem):
        context.now(web_extract)
    with pytest.raises(ArgumentProblem):
        context.now(web_request, url="http://example.com/", method="TRACE")


# web_download


def test_a_file(site: Site, context: Context) -> None:
    data = bytes(range(256)) * 5000
    url = site.page("/f.bin", data, kind="application/octet-stream")
    known = hashlib.sha256(data).hexdigest()
    assert context.now(web_download, url=url, path="new/f.bin") == ToolResult(
        text=f"saved new/f.bin: 1280000 bytes, application/octet-stream, sha256 {known}, from {url}", origin=url
    )
    assert (context.workspace / "new" / "f.bin").read_bytes() == data


@pytest.mark.req("R3", "L11")
@pytest.mark.parametrize("path", ["../f", "/etc/f", "a/../../f", "", "link/f", "f\0"])
def test_a_file_stays_in_the_workspace(site: Site, context: Context, tmp_path: Path, path: str) -> None:
    (context.workspace / "link").symlink_to(tmp_path)
    url = site.page("/", "x")
    with pytest.raises(PermissionRefused):
        context.now(web_download, url=url, path=path)
    assert site.connections == 0


def test_nothing_is_left_of_a_download_that_fails(site: Site, context: Context) -> None:
    context.write("kept", "old")
    broken = site.raw("/a", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
    large = site.raw("/b", b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")
    missing = site.url("/c")
    results = [context.now(web_download, url=url, path="kept") for url in (broken, large, missing)]
    assert [(result.ok, result.error) for result in results] == [
        (False, "broken_reply"),
        (False, "too_large"),
        (False, "http_404"),
    ]
    assert {path.name: path.read_text() for path in context.workspace.iterdir()} == {"kept": "old"}
    context.write("folder/x", "")
    assert context.now(web_download, url=site.page("/", "x"), path="folder").error == "is_directory"


def test_nothing_is_left_of_a_download_that_is_interrupted(site: Site, context: Context) -> None:
    begun: list[bool] = []

    async def go() -> None:
        task = asyncio.create_task(context.call(web_download, url=site.raw("/", endless), path="f"))
        for _ in range(1000):
            if any(context.workspace.iterdir()):
                begun.append(True)
                break
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(go())
    assert (begun, list(context.workspace.iterdir())) == ([True], [])


def test_a_download_that_runs_again_after_a_crash(site: Site, context: Context) -> None:
    url = site.page("/", b"new", kind="text/plain")
    context.write("f", "edited by somebody")
    context.after_crash(f=digest_of(b"old"))
    assert context.now(web_download, url=url, path="f").error == "changed"
    assert (context.workspace / "f").read_text() == "edited by somebody"
    for content in ("old", "new"):
        context.write("f", content)
        assert context.now(web_download, url=url, path="f").ok
        assert (context.workspace / "f").read_text() == "new"


# web_request


def test_a_call_to_an_interface(site: Site, context: Context) -> None:
    url = site.page("/api", '{"id":7}', "ETag: x", "Server: y", kind="application/json", status="201 Created")
    result = context.now(web_request, url=url, method="POST", headers={"Authorization": "Bearer k"}, body='{"a":1}')
    assert result == ToolResult(
        text=f'HTTP 201 {url}\ncontent-length: 8\netag: x\ncontent-type: application/json\n\n{{\n  "id": 7\n}}',
        origin=url,
    )
    (asked,) = site.asked
    assert (asked.line, asked.header("authorization"), asked.header("content-type"), json.loads(asked.body)) == (
        "POST /api HTTP/1.1",
        "Bearer k",
        "application/json",
        {"a": 1},
    )


def test_calls_of_other_kinds(site: Site, context: Context) -> None:
    url = site.page("/", "x", kind="text/plain")
    site.page("/picture", b"\x89PNG\r\n\x1a\n", kind="image/png")
    assert context.now(web_request, url=url, method="HEAD").text.endswith("\n\n(empty body)")
    assert context.now(web_request, url=url, method="PUT", body="words").ok
    assert site.asked[-1].header("content-type") == "text/plain; charset=utf-8"
    assert context.now(web_request, url=url, method="PUT", body="a=b", headers={"content-type": "x/y"}).ok
    assert site.asked[-1].header("content-type") == "x/y"
    assert context.now(web_request, url=site.url("/picture")).text.endswith(
        "(8 bytes of image/png: this is a picture, not text; web_download saves it as a file)"
    )
    wrong = context.now(web_request, url=site.url("/nothing"))
    assert (wrong.ok, wrong.error, wrong.text.split("\n")[-1]) == (False, "http_404", "nothing")


def test_headers_cannot_break_out(site: Site, context: Context) -> None:
    result = context.now(web_request, url=site.url(), headers={"X": "a\r\nHost: evil"})
    assert (result.ok, result.error) == (False, "bad_argument")
    assert site.connections == 0


def test_the_agent_s_name_can_be_chosen(site: Site, context: Context) -> None:
    context.web = WebAccess(allowed=frozenset({site.place}), user_agent="reader/1")
    context.now(web_extract, url=site.page("/", "x"))
    assert site.asked[0].header("user-agent") == "reader/1"
