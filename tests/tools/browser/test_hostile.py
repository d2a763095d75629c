"""Pages that mean harm: hidden text, traps, floods, and every way to a private address."""

import socket
import time
from http.server import BaseHTTPRequestHandler

import pytest

from hermes_agent.tools.builtin.browser import (
    browser_back,
    browser_click,
    browser_evaluate,
    browser_navigate,
    browser_press,
    browser_screenshot,
    browser_select,
    browser_snapshot,
)
from tests.tools.browser.site import Answer, Visitor, listening, redirect, reply, untouched
from tests.tools.browser.test_pages import FORM, ref

HIDDEN = {
    "display": "display:none",
    "visibility": "visibility:hidden",
    "opacity": "opacity:0",
    "size": "width:0;height:0;overflow:hidden",
    "pixel": "position:absolute;width:1px;height:1px;overflow:hidden",
    "clip": "position:absolute;clip:rect(0,0,0,0)",
    "clip path": "clip-path:inset(50%)",
    "font": "font-size:0",
    "small font": "font-size:1px",
    "colour": "color:transparent",
    "indent": "text-indent:-9999px;overflow:hidden",
    "left": "position:absolute;left:-9999px",
    "above": "position:absolute;top:-9999px",
    "scale": "transform:scale(0)",
    "content": "content-visibility:hidden",
}


def test_actions_without_a_page_say_so(visit: Visitor) -> None:
    for tool, arguments in (
        (browser_snapshot, {}),
        (browser_press, {"key": "a"}),
        (browser_screenshot, {"path": "a.png"}),
    ):
        result = visit(tool, **arguments)
        assert (result.ok, result.error) == (False, "no_page") and "browser_navigate" in result.text


@pytest.mark.req("A4", "B5")
def test_what_a_person_cannot_see_is_not_in_the_text(visit: Visitor) -> None:
    hidden = "".join(
        f'<div style="{style}">SECRET {name} <a href=/x style="color:inherit">SECRET {name}</a></div>'
        for name, style in HIDDEN.items()
    )
    visit.site.pages["/hidden"] = (
        f"<title>Seen</title><p>Seen</p>{hidden}<div aria-hidden=true>SECRET aria</div><div hidden>SECRET hidden</div>"
        "<template>SECRET template</template><noscript>SECRET noscript</noscript><!-- SECRET comment -->"
        "<a href=/y aria-label='SECRET label'>Link</a><input type=hidden value='SECRET input'>"
        "<script>'SECRET script'</script><style>/* SECRET style */</style>"
    )
    shown = visit(browser_navigate, url=visit.site.url("/hidden")).text
    assert shown.splitlines()[0] == "Seen" and '"Link"' in shown
    assert [line for line in shown.splitlines() if "SECRET" in line] == []
    assert "SECRET" not in visit(browser_snapshot, full=True).text


def test_what_can_be_seen_is_in_the_text(visit: Visitor) -> None:
    visit.site.pages[
        "/seen"
    ] = """<div style="overflow:hidden;height:0"><div style="position:fixed;top:50px">fixed</div></div>
        <div style="visibility:hidden">no<b style="visibility:visible">shown again</b></div>
        <div style="display:contents"><p>contents</p></div><div id=host></div>
        <div style="background:linear-gradient(red,blue);background-clip:text;color:transparent">gradient</div>
        <div onclick="1">clickable</div><details><summary>More</summary>folded</details>
        <script>host.attachShadow({mode: 'open'}).innerHTML = '<button>in the shadow</button>'</script>"""
    shown = visit(browser_navigate, url=visit.site.url("/seen")).text
    for text in ("fixed", "shown again", "contents", '"in the shadow"', "gradient", 'clickable "clickable"', '"More"'):
        assert text in shown
    assert "no" not in shown.split() and "folded" not in shown


def test_titles_and_texts_carry_no_invisible_characters_and_no_false_references(visit: Visitor) -> None:
    visit.site.pages["/bidi"] = (
        "<title>A\u202eB\u200b\u2066C\x07\U000e0041\u3164</title>"
        "<p>x\u200by\u202ez\U000e0049\ufeff [e1] link [e12] \xad</p>"
        "<button>\u202eyaP\u2069</button>"
    )
    shown = visit(browser_navigate, url=visit.site.url("/bidi")).text
    assert shown.splitlines()[0] == "xyz (e1] link (e12]"
    assert 'button "yaP"' in shown and '[page: "ABC" |' in shown


@pytest.mark.req("A4")
@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "chrome://crash",
        "chrome://settings",
        "about:blank",
        "data:text/html,hello",
        "javascript:alert(1)",
        "view-source:http://example.com",
        "ftp://example.com",
        "blob:http://example.com/1",
        "devtools://devtools",
        "http://user:word@example.com/",
        "http://[::1]/",
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data/",
        "https://10.0.0.1/",
        "http://[::ffff:192.168.0.1]/",
        "http://127.0.0.1:22/",
        "",
        "http://",
        "example.com",
    ],
)
def test_addresses_that_are_no_public_pages_are_refused(visit: Visitor, url: str) -> None:
    result = visit(browser_navigate, url=url)
    assert (result.ok, result.error) == (False, "refused"), result.text


@pytest.mark.req("A4", "B5")
def test_no_way_of_asking_reaches_a_private_address(visit: Visitor) -> None:
    """Redirects, frames, pictures, scripts, fetches, sockets, workers, beacons, pings and calls."""
    with listening() as private, listening(socket.SOCK_DGRAM) as datagrams:
        port, udp = private.getsockname()[1], datagrams.getsockname()[1]
        visit.site.pages["/worker.js"] = lambda handler: reply(
            handler,
            200,
            f"fetch('http://127.0.0.1:{port}/w').catch(() => 0); importScripts('http://127.0.0.1:{port}/i.js')",
            Content_Type="text/javascript",
        )
        visit.site.pages["/ways"] = f"""<title>Ways</title><p>Ways</p>
            <link rel=prefetch href=http://127.0.0.1:{port}/p><link rel=dns-prefetch href=//127.0.0.1:{port}>
            <link rel=preconnect href=http://localhost:{port}><link rel=stylesheet href=http://127.1:{port}/c>
            <iframe src=http://127.0.0.1:{port}/f></iframe><img src=http://localhost:{port}/i>
            <object data=http://[::ffff:127.0.0.1]:{port}/o></object>
            <a id=ping ping=http://127.0.0.1:{port}/ href=#>a</a>
            <script>
            const silent = (work) => {{ try {{ work()?.catch?.(() => 0) }} catch (error) {{ }} }};
            silent(() => fetch('http://127.0.0.1:{port}/', {{mode: 'no-cors', method: 'POST', body: 'x'}}));
            silent(() => new WebSocket('ws://127.0.0.1:{port}/'));
            silent(() => new WebSocket('wss://localhost:{port}/'));
            silent(() => navigator.sendBeacon('http://127.0.0.1:{port}/', 'x'));
            silent(() => new EventSource('http://127.0.0.1:{port}/'));
            silent(() => new Worker('/worker.js'));
            silent(() => new SharedWorker('/worker.js'));
            silent(() => navigator.serviceWorker.register('/worker.js'));
            silent(() => ping.click());
            silent(() => new WebTransport('https://127.0.0.1:{udp}/'));
            silent(() => {{
              const peer = new RTCPeerConnection({{iceServers: [{{urls: 'stun:127.0.0.1:{udp}'}}]}});
              peer.createDataChannel('x');
              return peer.createOffer().then((offer) => peer.setLocalDescription(offer));
            }});
            </script>"""
        shown = visit(browser_navigate, url=visit.site.url("/ways")).text
        assert "Ways" in shown and f"[the page asked for 127.0.0.1:{port}, which may not be visited (" in shown
        assert f"[the page asked for localhost:{port}, which may not be visited" in shown
        assert untouched(private) and untouched(datagrams)


@pytest.mark.req("A4")
@pytest.mark.parametrize(
    "way",
    ["redirect", "script", "popup", *(pytest.param(way, marks=pytest.mark.slow) for way in ("meta", "link", "form"))],
)
def test_a_page_cannot_lead_to_a_private_address(visit: Visitor, way: str) -> None:
    with listening() as private:
        target = f"http://127.0.0.1:{private.getsockname()[1]}/"
        ways: dict[str, str | Answer] = {
            "redirect": redirect(target),
            "meta": f"<meta http-equiv=refresh content='0;url={target}'>",
            "script": f"<script>location = '{target}'</script>",
            "link": f"<a href='{target}'>go</a>",
            "popup": f"<a href='{target}' target=_blank>go</a>",
            "form": f"<form method=post action='{target}'><button>go</button></form>",
        }
        visit.site.pages["/lead"] = ways[way]
        result = visit(browser_navigate, url=visit.site.url("/lead"))
        if way in ("link", "popup", "form"):
            result = visit(browser_click, ref=ref(result.text, "go"))
        assert (result.ok, result.error) == (False, "refused"), result.text
        assert "is not public (loopback)" in result.text and untouched(private)
        visit(browser_back)


def test_dialogs_are_dismissed_and_told(visit: Visitor) -> None:
    visit.site.pages["/ask"] = (
        "<p id=p></p><script>p.textContent = [alert('Hi\u202e'), confirm('Sure?'), prompt('Who?')]</script>"
    )
    shown = visit(browser_navigate, url=visit.site.url("/ask")).text.splitlines()
    assert shown[:4] == [
        "[a dialog (alert) was dismissed: 'Hi\\\\u{202e}']",
        "[a dialog (confirm) was dismissed: 'Sure?']",
        "[a dialog (prompt) was dismissed: 'Who?']",
        ",false,",
    ]


def test_a_page_that_closes_itself_is_no_end(visit: Visitor) -> None:
    visit.site.pages |= {
        "/bye": "<a href=/self target=_blank>go</a>",
        "/self": "<script>setTimeout(close, 20)</script><p>closing</p>",
    }
    page = visit(browser_navigate, url=visit.site.url("/bye")).text
    visit(browser_click, ref=ref(page, "go"))
    assert '"go"' in visit(browser_snapshot).text
    visit(browser_evaluate, script="window.close()")
    assert visit(browser_navigate, url=visit.site.url("/bye")).ok


@pytest.mark.slow
def test_a_huge_page_is_cut(visit: Visitor) -> None:
    visit.site.pages |= {
        "/wide": "<body><script>document.body.innerHTML = '<p>a<a href=/>b</a></p>'.repeat(8000)</script>",
        "/deep": """<body><p>start</p><script>let node = document.body;
            for (let i = 0; i < 1500; i++) node = node.appendChild(document.createElement('div'));
            node.textContent = 'bottom'</script>""",
        "/text": f"<p>{'word ' * 100_000}</p>",
    }
    for path in ("/wide", "/deep", "/text"):
        shown = visit(browser_navigate, url=visit.site.url(path))
        assert shown.ok and len(shown.text) < 7000, path
        assert len(visit(browser_snapshot, full=True).text) < 16000, path


def test_a_page_that_crashes_is_no_end(visit: Visitor) -> None:
    visit.site.pages |= {
        "/crash": """<body><script>let node = document.body;
            for (let i = 0; i < 50000; i++) node = node.appendChild(document.createElement('div'));
            node.textContent = 'bottom'</script>""",
        "/calm": "<p>calm</p>",
    }
    crashed = visit(browser_navigate, url=visit.site.url("/crash"))
    assert (crashed.ok, crashed.error) == (False, "page_crashed")
    assert "calm" in visit(browser_navigate, url=visit.site.url("/calm")).text


@pytest.mark.slow
def test_downloads_are_refused(visit: Visitor) -> None:
    def file(handler: BaseHTTPRequestHandler) -> None:
        name = "..\\..\u202e/evil\x07.exe".encode().decode("latin-1").replace("\x07", "")
        reply(
            handler,
            200,
            b"MZ" * 1000,
            Content_Type="application/x-msdownload",
            Content_Disposition=f'attachment; filename="{name}"',
        )

    visit.site.pages |= {"/file": file, "/links": "<a href=/file>get</a><a href=/links download=x.sh>keep</a>"}
    direct = visit(browser_navigate, url=visit.site.url("/file"))
    assert (direct.ok, direct.error) == (False, "no_page") and "the browser refuses downloads" in direct.text
    page = visit(browser_navigate, url=visit.site.url("/links")).text
    assert "[a download was refused: " in visit(browser_click, ref=ref(page, "get")).text
    assert "[a download was refused: 'x.sh']" in visit(browser_click, ref=ref(page, "keep")).text
    assert list(visit.context.workspace.iterdir()) == []


def test_no_permission_is_given(visit: Visitor) -> None:
    visit.site.pages["/wants"] = "<p>wants"
    visit(browser_navigate, url=visit.site.url("/wants"))
    names = ["geolocation", "notifications", "camera", "microphone", "clipboard-read", "midi"]
    script = f"Promise.all({names}.map(async (name) => (await navigator.permissions.query({{name}})).state))"
    assert visit(browser_evaluate, script=script).text.splitlines()[0] == str(["denied"] * 6).replace("'", '"').replace(
        " ", ""
    )


def test_a_page_cannot_change_how_it_is_read(visit: Visitor) -> None:
    visit.site.pages["/tamper"] = """<button>Honest</button><script>
        for (const name of ['createElement', 'createRange', 'querySelector']) document[name] = () => { throw 'no' };
        Element.prototype.getBoundingClientRect = () => { throw 'no' };
        Array.prototype.map = String.prototype.replace = JSON.stringify = () => { throw 'no' };
        window.getComputedStyle = () => { throw 'no' };</script>"""
    assert 'button "Honest"' in visit(browser_navigate, url=visit.site.url("/tamper")).text


@pytest.mark.slow
def test_endless_redirects_and_silence_end(hasty: Visitor) -> None:
    hasty.site.pages["/round"] = redirect("/round")
    round_and_round = hasty(browser_navigate, url=hasty.site.url("/round"))
    assert round_and_round.error == "unreachable" and "TOO_MANY_REDIRECTS" in round_and_round.text
    hasty.site.pages["/silent"] = lambda handler: time.sleep(8)
    silent = hasty(browser_navigate, url=hasty.site.url("/silent"))
    assert (silent.error, silent.transient) == ("timeout", True) and "did not answer" in silent.text
    hasty.site.pages["/cut"] = lambda handler: handler.connection.shutdown(socket.SHUT_RDWR)
    assert hasty(browser_navigate, url=hasty.site.url("/cut")).error == "unreachable"


@pytest.mark.slow
def test_an_endless_page_is_shown_as_far_as_it_came(hasty: Visitor) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/html")
        handler.send_header("Connection", "close")
        handler.end_headers()
        handler.wfile.write(b"<title>Drip</title><p>first words</p>" + b" " * 4096)
        for _ in range(40):
            handler.wfile.write(b"<p>drop</p>")
            time.sleep(0.1)

    hasty.site.pages["/drip"] = drip
    shown = hasty(browser_navigate, url=hasty.site.url("/drip")).text
    assert shown.startswith("[the page is still loading]\nfirst words")


@pytest.mark.parametrize("trap", ["alert", pytest.param("loop", marks=pytest.mark.slow), "leave"])
def test_traps_are_left(hasty: Visitor, trap: str) -> None:
    hasty.site.pages |= {
        "/alert": "<script>for (;;) alert('again')</script>",
        "/loop": "<p>before</p><script>setTimeout(() => { for (;;); }, 50)</script>",
        "/leave": "<button>x</button><script>onbeforeunload = () => 'stay'</script>",
        "/after": "<p>free</p>",
    }
    trapped = hasty(browser_navigate, url=hasty.site.url(f"/{trap}"))
    if trap == "alert":
        assert not trapped.ok or "kept opening dialogs" in trapped.text
    if trap == "loop":
        trapped = trapped if not trapped.ok else hasty(browser_snapshot)
        assert (trapped.ok, trapped.error) == (False, "page_hung")
    if trap == "leave":
        hasty(browser_click, ref=ref(trapped.text, "button"))
    assert "free" in hasty(browser_navigate, url=hasty.site.url("/after")).text


@pytest.mark.slow
def test_a_script_that_never_ends_costs_only_its_page(hasty: Visitor) -> None:
    hasty.site.pages["/plain"] = "<p>plain</p>"
    hasty(browser_navigate, url=hasty.site.url("/plain"))
    assert hasty(browser_evaluate, script="for (;;);").error == "page_hung"
    assert hasty(browser_snapshot).error == "no_page"
    assert "plain" in hasty(browser_navigate, url=hasty.site.url("/plain")).text


@pytest.mark.slow
def test_an_option_that_is_not_there_and_a_disabled_button_fail_in_words(hasty: Visitor) -> None:
    hasty.site.pages["/form"] = FORM
    page = hasty(browser_navigate, url=hasty.site.url("/form")).text
    assert hasty(browser_select, ref=ref(page, "combobox"), value="Coffee").error == "not_found"
    assert hasty(browser_click, ref=ref(page, "Later")).error == "disabled"


@pytest.mark.slow
def test_a_flood_of_tabs_is_stopped(visit: Visitor) -> None:
    visit.site.pages |= {
        "/flood": '<button onclick="for (let i = 0; i < 30; i++) window.open(`/drop`)">go</button>',
        "/quiet": "<script>for (let i = 0; i < 30; i++) window.open('/drop')</script><p>quiet</p>",
        "/drop": "<p>drop</p>",
    }
    assert "new tab" not in visit(browser_navigate, url=visit.site.url("/quiet")).text
    page = visit(browser_navigate, url=visit.site.url("/flood")).text
    shown = visit(browser_click, ref=ref(page, "go")).text
    assert shown.splitlines()[:2] == ["[a new tab opened and is shown now; browser_back returns]", "drop"]
    told = [visit(browser_evaluate, script="void window.open('/drop')").text.splitlines()[1] for _ in range(8)]
    assert (
        told
        == ["[a new tab opened and is shown now; browser_back returns]"] * 6 + ["[one tab too many was closed]"] * 2
    )
    closed = 0
    while visit(browser_back).text.startswith("[the tab was closed]"):
        closed += 1
    assert closed == 7
