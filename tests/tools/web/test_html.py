"""Pages as text: what is kept, in what form, and what a reader would not see."""

import pytest

from hermes_agent.tools.web.html import Readable, readable
from hermes_agent.tools.web.page import Page, page

URL = "https://example.com/a/b.html"


def text(html: str) -> str:
    return readable(html, URL, full=True).text


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<h1>One <em>two</em></h1><h3>Three</h3>", "# One two\n\n### Three"),
        ("<p>a\n  b</p><p>c<br>d</p>", "a b\n\nc\nd"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("a <b>b</b><i>c</i> d", "a bc d"),
        ("<ul><li>a<li>b<ul><li>c</ul><li>d</ul>", "- a\n- b\n  - c\n- d"),
        ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
        ("<ol><li><p>a</p><p>b</p></ol>", "1. a\n\n   b"),
        ("x<blockquote><p>a</p><p>b</p></blockquote>y", "x\n\n> a\n>\n> b\n\ny"),
        ("<pre>a\n  b &lt;c&gt;</pre>", "```\na\n  b <c>\n```"),
        ("<pre><code class='language-rust'>fn</code></pre>", "```rust\nfn\n```"),
        ("<pre>```</pre>", "````\n```\n````"),
        ("use <code>x = 1</code> now", "use `x = 1` now"),
        ("<dl><dt>t<dd>d</dl>", "t\n  d"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("<img alt=' a  cat ' src=x>", "[image: a cat]"),
        ("<table><tr><th>A<th>B</tr><tr><td>1|2<td><p>3</p><p>4</p></table>", "| A | B |\n|---|---|\n| 1\\|2 | 3 4 |"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "| a | b |\n|---|---|\n| c |  |"),
        ("<table role=presentation><tr><td><h2>a</h2><td><ul><li>b</ul></table>", "## a\n\n- b"),
        ("<table><tr><td><table><tr><td>a<td>b</table><td>c</table>", "| a | b |\n|---|---|\n\nc"),
        ("&lt;script&gt; &amp; &#x41;", "<script> & A"),
    ],
)
def test_structure(html: str, written: str) -> None:
    assert text(html) == written


@pytest.mark.parametrize(
    ("html", "written"),
    [
        ("<a href='c?d=1#e'>x</a>", "[x](https://example.com/a/c?d=1)"),
        ("<base href='/z/'><a href=c>x</a>", "[x](https://example.com/z/c)"),
        ("<base href='javascript:1'><a href=c>x</a>", "[x](https://example.com/a/c)"),
        ("see<a href=/> x </a>now", "see [x](https://example.com/) now"),
        ("<a href='#top'>x</a> <a>y</a> <a href=''>z</a>", "x y z"),
        ("<a href='javascript:alert(1)'>x</a>", "x"),
        ("<a href='data:text/html,y'>x</a>", "x"),
        ("<a href='file:///etc/passwd'>x</a>", "x"),
        ("<a href='https://user:pass@evil.example/'>x</a>", "x"),
        ("<a href='https://аррӏе.com/'>аррӏе</a>", "[аррӏе](https://xn--80ak6aa92e.com/)"),
        ("<a href=/p><p>block</p></a>", "block\n\n(https://example.com/p)"),
        ("<a href='/" + "x" * 2000 + "'>long</a>", "long"),
        ("<a href='http://[::1'>x</a>", "x"),
    ],
)
def test_links(html: str, written: str) -> None:
    assert text(html) == written


@pytest.mark.req("A12", "B5")
@pytest.mark.parametrize(
    "hiding",
    [
        "<p style='display:none'>{}</p>",
        "<p style='DISPLAY : NONE !important'>{}</p>",
        "<p style='visibility:hidden'>{}</p>",
        "<p style='opacity:0'>{}</p>",
        "<p style='opacity:0.0'>{}</p>",
        "<p style='font-size:0'>{}</p>",
        "<p style='font-size:0px'><b>{}</b></p>",
        "<p style='font-size:1px'>{}</p>",
        "<p style='color:#fff'>{}</p>",
        "<p style='color:white'>{}</p>",
        "<p style='color:rgb(255, 255, 255)'>{}</p>",
        "<p style='color:#fefefe;background:#fff'>{}</p>",
        "<div style='background:#000'><p style='color:#010101'>{}</p></div>",
        "<font color=white>{}</font>",
        "<table bgcolor='#ffffff'><tr><td><font color='#fffffe'>{}</font></table>",
        "<p style='color:transparent'>{}</p>",
        "<p style='color:rgba(0,0,0,0)'>{}</p>",
        "<p style='position:absolute;left:-9999px'>{}</p>",
        "<p style='position:fixed; top:-10000em'>{}</p>",
        "<p style='text-indent:-9999px'>{}</p>",
        "<p style='width:0;height:0'>{}</p>",
        "<p style='width:1px;height:1px;overflow:hidden'>{}</p>",
        "<p style='max-height:0;overflow:hidden'>{}</p>",
        "<p style='clip:rect(0,0,0,0);position:absolute'>{}</p>",
        "<p style='clip-path: inset(50%)'>{}</p>",
        "<p style='transform: scale(0)'>{}</p>",
        "<p style='dis\\70lay:none'>{}</p>",
        "<p style='display:no\\6e e'>{}</p>",
        "<p style='dis/**/play:/* x */none;/*'>{}</p>",
        "<p style='font:0/0 a'>{}</p>",
        "<p style='font: italic 0px serif'>{}</p>",
        "<p style='font-size:0.01em'>{}</p>",
        "<p style='opacity:.01'>{}</p>",
        "<p style='opacity:1%'>{}</p>",
        "<p style='filter: opacity(0)'>{}</p>",
        "<p style='transform:translateX(-9999px)'>{}</p>",
        "<p style='height:0;overflow-y:hidden'>{}</p>",
        "<p style='color:#ffffff00;background:#000'>{}</p>",
        "<p style='color:hsl(0, 0%, 100%)'>{}</p>",
        "<p class='sr-only'>{}</p>",
        "<dialog>{}</dialog>",
        "<div popover>{}</div>",
        "<noembed>{}</noembed>",
        "<p hidden>{}</p>",
        "<p hidden=''>{}</p>",
        "<p aria-hidden='true'>{}</p>",
        "<!-- {} -->",
        "<!-- --!> <p hidden>{}</p>",
        "<script>{}</script>",
        "<style>{}</style>",
        "<noscript>{}</noscript>",
        "<template>{}</template>",
        "<textarea>{}</textarea>",
        "<select><option>{}</select>",
        "<iframe srcdoc='{}'>{}</iframe>",
        "<object>{}</object>",
        "<svg><text>{}</text></svg>",
        "<video>{}</video>",
        "<input value='{}'>",
        "<p title='{}' data-x='{}'></p>",
        "<meta name=description content='{}'>",
        "<style>.h{{display:none}}</style><p class='a h'>{}</p>",
        "<style>/* x */ p.h , #q {{ font-size : 0 }}</style><p id=q>{}</p>",
        "<style>@media screen {{ .h {{display:none}} }}</style><p class=h>{}</p>",
        "<style>.w{{color:#fff}}</style><p><span class=w>{}</span></p>",
        "<style>body{{color:#fff}} p{{color:#000}}</style><div>{}</div>",
        "<link rel=stylesheet href=x.css><p style='color:#fff'>{}</p>",
        "<pre style='display:none'>{}</pre>",
        "<pre>x<span hidden>{}</span></pre>",
        "<ul><li hidden>{}</ul>",
        "<details hidden><summary>{}</summary></details>",
    ],
)
def test_what_nobody_sees_is_left_out(hiding: str) -> None:
    html = f"<body><p>before</p>{hiding.format('SECRET', 'SECRET')}<p>after</p></body>"
    written = page(html.encode(), "text/html", URL, full=True)
    assert "SECRET" not in written.text + written.title
    assert "before" in written.text
    assert "after" in written.text


@pytest.mark.parametrize(
    "showing",
    [
        "<p style='display:block;color:#000'>{}</p>",
        "<p style='background:#000;color:#fff'>{}</p>",
        "<div style='background:url(x.png)'><p style='color:#fff'>{}</p></div>",
        "<p style='font-size:0'><b style='font-size:14px'>{}</b></p>",
        "<p style='width:0;flex:1'>{}</p>",
        "<p style='position:relative;left:-2px'>{}</p>",
        "<p aria-hidden='false'>{}</p>",
        "<p style='opacity:50%;font:12px/1.5 serif;font-weight:700'>{}</p>",
        "<dialog open>{}</dialog>",
        "<p style='\\'>{}</p>",
        "<html style='background:#000;color:#fff'><p>{}</p>",
        "<style>:root{{background:#111}} body{{color:#eee}}</style><p>{}</p>",
        "<link rel=stylesheet href=dark.css><body style='color:#fff'><p>{}</p>",
        "<p style='opacity:0.9;font-size:1.2em'>{}</p>",
        "<style>@media print {{ p {{display:none}} }} .x{{color:red}}</style><p class=x>{}</p>",
        "<style>p:hover{{display:none}} .a .b{{display:none}}</style><p class=b>{}</p>",
        "<style>.h{{display:none</style><p class=h>{}</p>",
    ],
)
def test_what_can_be_seen_stays(showing: str) -> None:
    assert "SHOWN" in text(showing.format("SHOWN"))


def test_hidden_characters_are_counted() -> None:
    html = "<p>seen</p><p hidden>twelve chars</p><p style='color:#fff'>four</p>"
    assert readable(html, URL) == Readable(title="", text="seen", hidden=16, cut=False)


ARTICLE = "<p>" + "The matter itself, told at some length. " * 10 + "</p>"
AROUND = (
    "<header><a href=/>Logo</a><a href=/x>Products</a></header><nav><a href=/>Home</a></nav>"
    "<div class='cookie-banner'>We use cookies</div><div role=navigation>More</div>"
    "{}<aside>Related</aside><div id=sidebar><a href=/y>Popular now</a></div><footer>Imprint</footer>"
)


@pytest.mark.parametrize(
    "tag", ["<main>{}</main>", "<article>{}</article>", "<div role=main>{}</div>", "<div>{}</div>"]
)
def test_the_main_text_without_what_stands_around_it(tag: str) -> None:
    html = "<title> A \n title </title><body>" + AROUND.format(tag.format(f"<h1>Head</h1>{ARTICLE}"))
    found = readable(html, URL)
    assert found.title == "A title"
    assert found.text == "# Head\n\n" + " ".join(["The matter itself, told at some length."] * 10)
    whole = readable(html, URL, full=True).text
    assert all(word in whole for word in ("Products", "We use cookies", "Related", "Popular now", "Imprint", "Head"))


def test_a_page_that_is_all_menu_is_shown_whole() -> None:
    html = "<body><nav>" + "".join(f"<a href=/{n}>Entry {n}</a> " for n in range(50)) + "</nav><p>x</p>"
    assert "[Entry 49](https://example.com/49)" in readable(html, URL).text


@pytest.mark.parametrize(
    "html",
    [
        "",
        "<",
        "<>",
        "</p>",
        "<p",
        "<!--",
        "<!doctype",
        "<html><html>",
        "\x00",
        "<a href",
        "&#0;&#xFFFFFFFF;&bogus;",
        "<td>x",
        "<frameset><frame>",
        "<p>" + "\u202e" * 10,
        "<base><base href>",
        "<title>",
        "<pre>",
        "<table><pre><td>",
    ],
)
def test_broken_pages_are_read_as_far_as_they_go(html: str) -> None:
    assert isinstance(page(html.encode(), "text/html", URL), Page)


# what is no page


def test_json_is_laid_out() -> None:
    body = b'{"a":[1,2.50,{"b":null}],"c":"\\u200b\xc3\xbc","n":123456789012345678901234567890}'
    assert page(body, "application/json", URL) == Page(
        kind="json",
        text='{\n  "a": [\n    1,\n    2.50,\n    {\n      "b": null\n    }\n  ],\n  "c": "\\u200bü",\n'
        '  "n": 123456789012345678901234567890\n}',
        charset="utf-8",
    )
    assert page(b"{broken", "application/json", URL).text == "{broken"
    assert page(b"[" * 100_000, "application/problem+json", URL).kind == "json"


def test_plain_text_and_other_texts() -> None:
    assert page(b"<b>a</b>\r\nb", "text/plain", URL) == Page(kind="text", text="<b>a</b>\nb", charset="utf-8")
    assert page(b"a: 1", "application/yaml", URL).text == "a: 1"
    assert page(b"x,y\n", "text/csv", URL).text == "x,y\n"
    assert page(b"<!doctype html><p>x", "", URL).kind == "html"
    assert page(b"just words", "application/octet-stream", URL).kind == "text"
    assert page(b"\xff\xfew\0", "", URL).text == "w"
    lines = page(b"word " * 2000, "text/plain", URL).text.split("\n")
    assert (max(map(len, lines)) <= 2000, " ".join(lines)) == (True, "word " * 2000)


RSS = """<?xml version="1.0" encoding="utf-8"?><rss version="2.0"><channel><title>News &amp; more</title>
<item><title>One</title><link>https://e.example/1</link><pubDate>Mon, 01 Jan 2024</pubDate>
<description>&lt;p&gt;Some &lt;b&gt;bold&lt;/b&gt; text&lt;/p&gt;</description></item>
<item><description><![CDATA[<i>no</i> title]]></description></item></channel></rss>"""
ATOM = """<feed xmlns="http://www.w3.org/2005/Atom"><title>Atoms</title><entry><title type="html">A &amp;lt; B</title>
<link rel="self" href="https://e.example/self"/><link href="https://e.example/2"/><updated>2024-01-02</updated>
<summary>Short</summary></entry></feed>"""


def test_feeds() -> None:
    assert page(RSS.encode(), "application/rss+xml", URL) == Page(
        kind="xml",
        title="News & more",
        charset="utf-8",
        text="- One (Mon, 01 Jan 2024)\n  https://e.example/1\n  Some bold text\n\n- (no title)\n  no title",
    )
    assert page(ATOM.encode(), "text/xml", URL) == Page(
        kind="xml", title="Atoms", charset="utf-8", text="- A < B (2024-01-02)\n  https://e.example/2\n  Short"
    )


def test_xml_that_is_no_feed_or_declares_entities_stays_as_it_is() -> None:
    for source in ("<a><b>c</b></a>", "<rss><item>", '<!DOCTYPE r [<!ENTITY a "b">]><rss><item>&a;</item></rss>'):
        assert page(source.encode(), "application/xml", URL).text == source
