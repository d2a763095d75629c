"""Ordinary pages: reading, forms, links, scrolling, tabs."""

import asyncio

import pytest

from hermes_agent.tools.builtin.browser import (
    browser_back,
    browser_click,
    browser_console,
    browser_evaluate,
    browser_navigate,
    browser_press,
    browser_screenshot,
    browser_scroll,
    browser_select,
    browser_snapshot,
    browser_type,
)
from hermes_agent.types.errors import PermissionRefused
from tests.tools.browser.site import Visitor

FORM = """<!doctype html><title>Order</title><h1>Order <em>tea</em></h1>
<p>Fill in the form, or read <a href="/terms">the terms</a> first.</p>
<form action="/ordered" method="post">
<label>Your name <input name="who" required></label>
<label for="kind">Kind</label> <select id="kind" name="kind"><option value="g">Green<option value="b">Black</select>
<label><input type="checkbox" name="milk"> Milk</label>
<input type="password" name="code" placeholder="Code" value="hunter2">
<textarea name="note" aria-label="Note">none</textarea>
<button disabled>Later</button> <button>Order</button></form>
<ul><li>Green</li><li>Black</li></ul>
<table><tr><th>Kind</th><th>Price</th></tr><tr><td>Green</td><td>3</td></tr></table>"""


def ref(text: str, name: str) -> str:
    """The reference of the first element whose description holds `name`."""
    line = next(part for part in text.replace("[e", "\n[e").split("\n") if part.startswith("[e") and name in part)
    return line[1 : line.index("]")]


@pytest.mark.req("A4")
def test_a_page_is_text_with_references_roles_values_and_states(visit: Visitor) -> None:
    visit.site.pages["/form"] = FORM
    shown = visit(browser_navigate, url=visit.site.url("/form"))
    assert shown.ok and shown.origin == visit.site.url("/form")
    assert shown.text.splitlines() == [
        "# Order tea",
        'Fill in the form, or read [e1] link "the terms" first.',
        'Your name [e2] textbox "Your name" (required) Kind [e3] combobox "Kind" = "Green" options: Green | Black '
        '[e4] checkbox "Milk" Milk [e5] textbox "Code" = "(filled in)" [e6] textbox "Note" = "none" '
        '[e7] button "Later" (disabled) [e8] button "Order"',
        "- Green",
        "- Black",
        "Kind | Price",
        "Green | 3",
        f'[page: "Order" | {visit.site.url("/form")} | 8 references]',
    ]


@pytest.mark.req("A4")
def test_a_form_is_filled_in_and_sent(visit: Visitor) -> None:
    site = visit.site
    site.pages |= {"/form": FORM, "/ordered": "<title>Done</title><p>Thank you."}
    page = visit(browser_navigate, url=site.url("/form")).text
    typed = visit(browser_type, ref=ref(page, "Your name"), text='Ada "A" & co')
    assert "= \"Ada 'A' & co\"" in typed.text and "focused" in typed.text
    assert '= "Black"' in visit(browser_select, ref=ref(page, "combobox"), value="Black").text
    assert '"Milk" (checked' in visit(browser_click, ref=ref(page, "Milk")).text
    done = visit(browser_click, ref=ref(page, 'button "Order"'))
    assert done.text.splitlines() == ["Thank you.", f'[page: "Done" | {site.url("/ordered")} | 0 references]']
    assert site.requests("/ordered")[-1][2] == "who=Ada+%22A%22+%26+co&kind=b&milk=on&code=hunter2&note=none"


def test_enter_and_keys_reach_the_page(visit: Visitor) -> None:
    site = visit.site
    site.pages |= {"/search": '<form action="/found"><input name="q"></form>', "/found": "<p>Found"}
    field = ref(visit(browser_navigate, url=site.url("/search")).text, "textbox")
    assert "Found" in visit(browser_type, ref=field, text="tea", submit=True).text
    assert site.requests("/found")[-1][1] == "/found?q=tea"
    field = ref(visit(browser_navigate, url=site.url("/search")).text, "textbox")
    visit(browser_click, ref=field)
    visit(browser_press, key="x")
    assert '"x"' in visit(browser_snapshot).text
    assert "Found" in visit(browser_press, key="Enter").text
    wrong = visit(browser_press, key="Any")
    assert (wrong.ok, wrong.error) == (False, "bad_argument") and "'Any' is no key" in wrong.text


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        (browser_type, {"name": "button", "text": "x"}, "is a button, not a field for text"),
        (browser_type, {"name": "combobox", "text": "x"}, "use browser_select"),
        (browser_select, {"name": "button", "value": "x"}, "is a button, not a list of options"),
    ],
)
def test_the_wrong_kind_of_element_is_named(visit: Visitor, tool: object, arguments: dict[str, str], said: str) -> None:
    visit.site.pages["/form"] = FORM
    name = arguments["name"]
    page = visit(browser_navigate, url=visit.site.url("/form")).text
    result = visit(tool, ref=ref(page, name), **{key: text for key, text in arguments.items() if key != "name"})
    assert (result.ok, result.error) == (False, "bad_argument") and said in result.text


def test_links_back_and_the_end_of_history(visit: Visitor) -> None:
    site = visit.site
    site.pages |= {"/one": '<title>One</title><a href="/two#part">on</a>', "/two": "<title>Two</title><p>Second"}
    page = visit(browser_navigate, url=site.url("/one")).text
    second = visit(browser_click, ref=ref(page, "on"))
    assert second.text.splitlines() == ["Second", f'[page: "Two" | {site.url("/two#part")} | 0 references]']
    assert '"One"' in visit(browser_back).text


def test_addresses_keep_their_fragment_and_are_checked(visit: Visitor) -> None:
    site = visit.site
    site.pages["/hash"] = "<p id=out></p><script>out.textContent = 'at ' + location.hash</script>"
    assert "at #there" in visit(browser_navigate, url=site.url("/hash#there")).text
    missing = visit(browser_navigate, url=site.url("/missing"))
    assert missing.ok and "nothing here" in missing.text


@pytest.mark.req("A4")
def test_references_are_refused_once_the_page_has_changed(visit: Visitor) -> None:
    site = visit.site
    site.pages |= {
        "/old": "<button onclick='this.remove()'>Remove</button><button id=b>Keep</button>",
        "/new": "<button>Pay</button>",
    }
    page = visit(browser_navigate, url=site.url("/old")).text
    remove, keep = ref(page, "Remove"), ref(page, "Keep")
    assert "Remove" not in visit(browser_click, ref=remove).text
    gone = visit(browser_click, ref=remove)
    assert (gone.ok, gone.error) == (False, "stale_reference") and "call browser_snapshot" in gone.text
    visit(browser_evaluate, script="b.textContent = 'Delete everything'; 1")
    swapped = visit(browser_click, ref=keep)
    assert (swapped.ok, swapped.error) == (False, "stale_reference") and "another name" in swapped.text
    page = visit(browser_navigate, url=site.url("/new")).text
    assert ref(page, "Pay") not in (remove, keep)
    assert visit(browser_click, ref=keep).error == "stale_reference"
    assert [visit(browser_click, ref=bad).error for bad in ("", "e", "e99999999999", "x1", "e1 >> body")] == [
        "stale_reference"
    ] * 5


def test_references_and_frames(visit: Visitor) -> None:
    site = visit.site
    site.pages |= {
        "/outer": "<p>Outside</p><iframe src=/inner width=300 height=200></iframe><iframe src=/inner hidden></iframe>",
        "/inner": "<button onclick=\"this.textContent='Done'\">Inside</button>",
    }
    page = visit(browser_navigate, url=site.url("/outer")).text
    assert page.count("Inside") == 1 and f"--- frame {site.url('/inner')}" in page
    assert '"Done"' in visit(browser_click, ref=ref(page, "Inside")).text


def test_scrolling_moves_what_is_shown(visit: Visitor) -> None:
    rows = "".join(f"<p style='height:200px'>Row {number} {'word ' * 60}</p>" for number in range(40))
    visit.site.pages["/long"] = f"<title>Long</title>{rows}<a href=/>last</a>"
    top = visit(browser_navigate, url=visit.site.url("/long")).text
    assert "Row 0 " in top and "Row 30 " not in top and "[more: scroll" in top and "| 0-" in top
    bottom = visit(browser_scroll, direction="bottom").text
    assert "Row 39 " in bottom and "Row 0 " not in bottom and '"last"' in bottom and "-100 % of" in bottom
    assert "does not go further down" in visit(browser_scroll, direction="down").text
    assert "Row 35 " in visit(browser_scroll, direction="up").text
    assert "Row 0 " in visit(browser_scroll, direction="top").text
    whole = visit(browser_snapshot, full=True).text
    assert "Row 0 " in whole and "Row 39 " in whole and f'"last" -> {visit.site.url("/")}' in whole


@pytest.mark.req("A4")
def test_tabs_are_followed_and_left_again(visit: Visitor) -> None:
    site = visit.site
    site.pages |= {
        "/opener": '<title>Opener</title><a href="/tab" target=_blank>open</a>',
        "/tab": "<title>Tab</title>",
    }
    page = visit(browser_navigate, url=site.url("/opener")).text
    tab = visit(browser_click, ref=ref(page, "open")).text
    assert tab.startswith("[a new tab opened and is shown now; browser_back returns]") and '"Tab"' in tab
    back = visit(browser_back).text
    assert back.startswith("[the tab was closed]") and '"Opener"' in back


def test_scripts_give_results_of_every_kind(visit: Visitor) -> None:
    site = visit.site
    site.pages |= {"/js": "<title>JS</title><p id=p>text</p>", "/next": "<title>Next</title>"}
    visit(browser_navigate, url=site.url("/js"))
    ending = f"\n[page: {site.url('/js')}]"
    for script, result in {
        "1 + 1": "2",
        "document.title": "JS",
        "return [1, 'a']": '[1,"a"]',
        "let x = 2; return {x}": '{"x":2}',
        "() => 'called'": "called",
        "await Promise.resolve(7)": "7",
        "p": '<p id="p">text</p>',
        "undefined": "undefined",
        "'a\u200bb\u202ec'": "abc",
    }.items():
        assert (script, visit(browser_evaluate, script=script).text) == (script, result + ending)
    failure = visit(browser_evaluate, script="JSON.parse('{')")
    assert (failure.ok, failure.error) == (False, "script_error") and "SyntaxError" in failure.text
    assert visit(browser_evaluate, script="this is no script").error == "page_error"
    large = visit(browser_evaluate, script="'x'.repeat(50000000)").text
    assert len(large) < 7000 and "49994000 characters left out" in large
    assert '"Next"' in visit(browser_evaluate, script="location.href = '/next'; await new Promise(() => 0)").text
    assert visit(browser_evaluate, script=" ").error == "bad_argument"


def test_the_console_is_told_once(visit: Visitor) -> None:
    visit.site.pages["/log"] = "<script>console.log('one\\u202e', {a: 1}); console.error('two'); missing()</script>"
    visit(browser_navigate, url=visit.site.url("/log"))
    told = visit(browser_console).text.splitlines()[-3:]
    assert told == ["log: one\\u{202e} {a: 1}", "error: two", "exception: missing is not defined"]
    assert visit(browser_console).text == "nothing"


@pytest.mark.req("A4")
def test_pictures_go_into_the_workspace_and_nowhere_else(visit: Visitor) -> None:
    visit.site.pages["/red"] = "<body style='background:red'>"
    visit(browser_navigate, url=visit.site.url("/red"))
    saved = visit(browser_screenshot, path="shots/red.png")
    picture = (visit.context.workspace / "shots" / "red.png").read_bytes()
    assert saved.text == f"saved shots/red.png ({len(picture)} bytes) of {visit.site.url('/red')}"
    assert picture.startswith(b"\x89PNG")
    assert visit(browser_screenshot, path="red.txt").error == "bad_argument"
    (visit.context.workspace / "folder.png").mkdir()
    assert visit(browser_screenshot, path="folder.png").error == "is_directory"
    with pytest.raises(PermissionRefused):
        visit(browser_screenshot, path="../red.png")
    assert not (visit.context.workspace.parent / "red.png").exists()


def test_two_calls_at_once_take_turns(visit: Visitor) -> None:
    visit.site.pages |= {"/a": "<title>A</title>", "/b": "<title>B</title>"}

    async def both() -> list[str]:
        calls = (visit.context.call(browser_navigate, url=visit.site.url(path)) for path in ("/a", "/b"))
        return [result.text for result in await asyncio.gather(*calls)]

    first, second = visit.run(both())
    assert '"A"' in first and '"B"' in second
