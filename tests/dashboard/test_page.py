"""The page in a real Chromium: every view, live steps, charts, changes, keyboard, dark, phone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec
import pytest

from hermes_agent.store.open import open_store
from tests.cli.command import until
from tests.dashboard.case_studies import keep, sample_report
from tests.dashboard.served import HOSTILE, Served, need_chromium, real_run
from tests.sampling import sampled

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Page

VIEWS = {
    "live": "Live",
    "learning": "Learning",
    "studies": "Case studies",
    "heuristics": "Heuristics",
    "skills": "Skills",
    "replay": "Replay",
    "sessions": "Sessions",
    "cost": "Cost",
    "health": "Health",
}
_DRAWN = """() => [...document.querySelectorAll('[data-drawn] canvas')].map((canvas) => {
  const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  return new Set(new Uint32Array(pixels.buffer)).size; })"""


class Tab:
    """A page with the cookie, and what it wrote to its console as an error."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.problems.append(str(error)))

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)


@pytest.fixture(scope="module")
def tab(served: Served) -> Iterator[Tab]:
    """One page of the system's Chromium for the whole module."""
    executable = need_chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=executable, args=["--no-sandbox", "--disable-gpu"])
        opened = Tab(browser.new_page())
        opened.page.goto(served.url)
        yield opened
        browser.close()


@pytest.fixture
def page(served: Served, tab: Tab) -> Iterator[Page]:
    """The page at its first view; an error on its console fails the test."""
    tab.page.set_viewport_size({"width": 1280, "height": 900})
    tab.page.emulate_media(color_scheme="light")
    tab.page.goto(f"{served.base}/#/live")
    tab.page.wait_for_selector("h1:text-is('Live')")
    yield tab.page
    found, tab.problems = tab.problems, []
    assert found == []


def go(page: Page, name: str) -> None:
    """To a view, by its link."""
    page.click(f"#nav a[href='#/{name}']")
    page.wait_for_selector(f"h1:text-is('{VIEWS[name]}')")


def answer(page: Page, button: str) -> str:
    """Answer the question, and return what it said about undoing."""
    page.wait_for_selector("dialog[open]")
    undo = page.inner_text("#confirm-undo")
    page.click(f"dialog button:text-is('{button}')")
    return undo


@pytest.mark.req("H12", "R13")
def test_every_view_opens_by_a_click(page: Page, served: Served) -> None:
    assert served.token not in page.url, "the token leaves the address"
    for name in VIEWS:
        go(page, name)
        until(lambda: "Loading…" not in page.inner_text("#main"))
        assert page.get_attribute(f"#nav a[href='#/{name}']", "aria-current") == "page"
        for table in page.query_selector_all("main table.cards"):
            assert table.query_selector("caption") and table.query_selector("th[scope=col]")
    assert page.title() == "Hermes · health", "nothing that a run said was taken for markup"


@pytest.mark.req("H12", "L7")
def test_the_charts_are_drawn_with_learning_events(page: Page) -> None:
    go(page, "learning")
    until(lambda: page.locator("[data-drawn]").count() == 10)
    assert all(colours > 3 for colours in page.evaluate(_DRAWN)), "no canvas is blank"
    assert "learning events" in page.inner_text("figure:first-of-type .key")
    page.select_option("select[name=family]", "invoices")
    page.wait_for_url("**family=invoices**")
    page.wait_for_selector(".tile:nth-child(2) b:text-is('60')")
    page.select_option("select[name=reference]", "code_debugging")
    page.wait_for_selector(".u-label:text-is('seed curve')")


@pytest.mark.req("H12", "L9")
def test_a_case_study_with_its_chart_and_tables(page: Page, served: Served) -> None:
    odd = msgspec.structs.replace(sample_report(), name=HOSTILE, policy="local:small", simulated=False, finished=False)
    kept = [keep(served.hermes.home, "odd", odd), keep(served.hermes.home, "torn", b"{")]
    go(page, "studies")
    until(lambda: page.locator("[data-study] [data-drawn]").count() == 2)
    assert all(colours > 3 for colours in page.evaluate(_DRAWN)), "no canvas is blank"
    finance = page.locator("[data-study=finance]")
    labels = finance.locator(".u-series .u-label").all_inner_texts()
    assert labels == ["iteration", "learning off", "fit of off", "learning on", "fit of on"]
    assert finance.locator(".badge").all_inner_texts() == ["simulated policy, no language model"]
    table = finance.locator("[data-arm=on] tbody tr")
    rows = [row.locator("td").all_inner_texts() for row in table.all()]
    wanted = sample_report().arms[1].rows
    assert [row[:4] for row in rows] == [
        [f"{one.first}–{one.last}", str(one.tasks), f"{100 * (one.success or 0):.0f} %", "3.00"] for one in wanted
    ]
    assert "which chance explains" not in finance.locator("[data-arm=on] dl").inner_text()
    assert "95 % interval [+" in finance.locator("[data-arm=on] dl").inner_text()
    assert "which chance explains" in finance.locator("[data-arm=off] dl").inner_text()
    said = page.locator("[data-study=odd] .badge").all_inner_texts()
    assert said == ["language model", "not finished: the same command goes on where it stopped"]
    assert "torn/report.json: it is no report" in page.inner_text("[data-problem=torn]")
    assert page.title() == "Hermes · studies", "the name of a study is no markup"
    for path in (*kept, served.hermes.home / "bench" / "finance" / "report.json"):
        path.unlink()
    page.reload()
    page.wait_for_selector(".empty code:text-is('hermes bench finance')")
    keep(served.hermes.home, "finance", sample_report())


@pytest.mark.req("R13", "R10")
def test_steps_appear_while_a_run_happens(page: Page, served: Served) -> None:
    go(page, "live")
    page.wait_for_selector("#line.on")
    before = page.locator("article.run").count()
    worker = threading.Thread(target=real_run, args=(served.hermes, "a run beside the page"))
    worker.start()
    page.wait_for_selector("article.run:has-text('a run beside the page')")
    page.wait_for_selector("article.run:has-text('a run beside the page') .badge:text-is('done')")
    page.click("article.run:has-text('a run beside the page') summary")
    steps = page.locator("article.run:has-text('a run beside the page') li")
    page.wait_for_selector("article.run:has-text('a run beside the page') li[data-kind=delivery_finished]")
    kinds = [one.get_attribute("data-kind") for one in steps.all()]
    assert kinds[:2] == ["run_started", "user_message"] and kinds[-1] == "delivery_finished"
    assert {"model_called", "assistant_message", "call_finished", "run_finished"} <= set(kinds)
    assert page.locator("article.run").count() == before + 1
    worker.join()


@pytest.mark.req("H11", "H12")
def test_a_person_decides_and_the_store_changes(page: Page, served: Served) -> None:
    go(page, "heuristics")
    page.click("tr[data-heuristic=h3] [data-do=approve]")
    answer(page, "Cancel")
    assert served.json("/api/heuristics/h3")["stage"] == "awaiting_approval", "nothing without a yes"
    page.click("tr[data-heuristic=h3] [data-do=approve]")
    assert "roll back" in answer(page, "Approve")
    page.wait_for_selector("tr[data-heuristic=h3] .badge:text-is('trusted')")
    page.click("tr[data-heuristic=h4] [data-do=reject]")
    assert "cannot be undone" in answer(page, "Reject")
    page.wait_for_selector("tr[data-heuristic=h4] .badge:text-is('rejected')")
    page.click("[data-do=freeze]")
    answer(page, "Freeze")
    page.wait_for_selector("[data-do=freeze]:text-is('Unfreeze')")
    page.click("[data-do=rollback] >> nth=0")
    answer(page, "Roll back")
    page.wait_for_selector("#notes :text('To undo: go to set')")
    state = {id: served.json(f"/api/heuristics/{id}")["stage"] for id in ("h3", "h4")}
    sets = served.json("/api/sets")
    assert state == {"h3": "retired", "h4": "rejected"} and sets["frozen"]
    page.click("tr[data-heuristic=h3] a")
    page.wait_for_selector("h1:has-text('h3')")
    assert "approved by a person at the page" in page.inner_text("main")
    assert page.evaluate("document.title") == "Hermes · heuristics"


@pytest.mark.req("S10", "L6")
def test_pin_and_disable_a_skill(page: Page, served: Served) -> None:
    go(page, "skills")
    page.click("tr[data-skill=plotting] [data-do=pinned]")
    assert answer(page, "Pin") == "unpin it."
    page.wait_for_selector("tr[data-skill=plotting] .badge:text-is('pinned')")
    page.click("tr[data-skill=plotting] [data-do=enabled]")
    answer(page, "Disable")
    page.wait_for_selector("tr[data-skill=plotting] .badge:text-is('disabled')")
    store = open_store("", served.hermes.home)
    kept = store.database.read_now(lambda it: it.run("SELECT pinned, enabled FROM skills WHERE name = 'plotting'"))
    store.close()
    assert kept == [(1, 0)]
    page.click("tr[data-skill=plotting] a")
    page.wait_for_selector("h2:text-is('History')")


@pytest.mark.req("H13")
def test_a_replay_and_its_verdict(page: Page) -> None:
    go(page, "replay")
    page.select_option("select[name=heuristic]", "h1")
    assert not page.is_visible("select[name=version]")
    page.click("[data-do=replay]")
    page.wait_for_selector("[data-state=done] h2:has-text('Verdict')")
    assert "would they have gone better without h1?" in page.inner_text("[data-state=done]")


def test_search_a_session_and_why(page: Page) -> None:
    go(page, "sessions")
    page.fill("input[name=q]", "invoices")
    page.keyboard.press("Enter")
    page.wait_for_selector("caption:has-text('Found in')")
    page.click("td a >> nth=0")
    page.wait_for_selector("li[data-kind=run_finished]")
    page.click("[data-do=why] >> nth=0")
    page.wait_for_selector("pre:has-text('outcome:')")


def test_by_keyboard_alone(page: Page) -> None:
    page.reload()
    page.wait_for_selector("#line.on")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.focus("#nav a[href='#/heuristics']")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('Heuristics')")
    page.focus("[data-do=freeze]")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]")
    assert page.evaluate("document.activeElement.closest('dialog') !== null")
    page.keyboard.press("Escape")
    until(lambda: not page.is_visible("dialog"))


def test_dark_by_the_system_and_by_the_switch(page: Page) -> None:
    back = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(back)
    page.emulate_media(color_scheme="dark")
    dark = page.evaluate(back)
    page.click("#theme")
    assert (page.evaluate(back), dark != light) == (light, True)
    page.reload()
    page.wait_for_selector("h1")
    assert page.evaluate(back) == light, "the choice is kept"
    page.evaluate("localStorage.clear()")
    page.reload()
    page.wait_for_selector("h1")
    assert page.evaluate(back) == dark, "without one the system decides"


@pytest.mark.parametrize("name", sampled(sorted(VIEWS, reverse=True), 3))
def test_a_phone_needs_no_sideways_scroll(page: Page, name: str) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    go(page, name)
    until(lambda: "Loading…" not in page.inner_text("#main"))
    widths = [page.evaluate("document.documentElement.scrollWidth")]
    page.set_viewport_size({"width": 360, "height": 700})
    widths.append(page.evaluate("document.documentElement.scrollWidth"))
    assert widths[0] <= 320 and widths[1] <= 360


@pytest.mark.slow
def test_without_the_token_the_page_says_what_to_do(served: Served, tab: Tab) -> None:
    assert tab.page.context.browser is not None
    stranger = tab.page.context.browser.new_page()
    stranger.goto(served.base)
    assert "open the address that `hermes dashboard` printed" in stranger.inner_text("body")
    stranger.close()
