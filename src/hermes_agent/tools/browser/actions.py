"""What can be done in a browser. Each action answers with the page as it is afterwards."""

from __future__ import annotations

import asyncio
import contextlib
from typing import Literal

import msgspec
from playwright.async_api import Error, Page
from playwright.async_api import TimeoutError as Late

from ...safety.urls import check
from ...types.base import Value
from ...types.text import one_line
from ...types.tools import ToolResult
from ..failures import failed
from .gate import Refusal
from .launch import error_line
from .reading import COMPACT, WHOLE, Target, address, cleaned
from .session import CLOSED, PageHung, Window
from .tabs import ERROR_PAGE

Direction = Literal["down", "up", "top", "bottom"]
_LEFT = "Execution context was destroyed"
_MOST_RESULT = 6_000
_MOST_CONSOLE = 4_000
_EVALUATE = """(async () => {{
  try {{
    let value = await ({body});
    if (typeof value === 'function') value = await value();
    const text = value instanceof Node ? (value.outerHTML ?? String(value)) : typeof value === 'string' ? value
      : JSON.stringify(value) ?? String(value);
    return {{ ok: true, text: text.slice(0, {limit}), whole: text.length }};
  }} catch (error) {{
    return {{ ok: false, text: String(error).slice(0, 500), whole: 0 }};
  }}
}})()"""


class _Evaluated(Value, frozen=True, kw_only=True):
    ok: bool
    text: str
    whole: int


class Actions:
    """Everything a tool can do in one browser."""

    def __init__(self, window: Window) -> None:
        self._window = window

    async def navigate(self, url: str, fragment: str) -> ToolResult:
        """Open an address that was checked. The gate checks what it leads to."""
        page = await self._window.tabs.page()
        self._window.running.gate.taken()
        try:
            await page.goto(f"{url}{fragment}", wait_until="commit", timeout=self._window.patience.answer * 1000)
        except Late:
            await _stop(page)
            text = f"{one_line(url)} did not answer within {self._window.patience.answer:.0f} s"
            return ToolResult(ok=False, error="timeout", text=text, transient=True)
        except Error as error:
            if CLOSED in str(error) or page.is_closed():
                raise
            return await _unreached(self._window, url, error)
        return await self._afterwards()

    async def back(self) -> ToolResult:
        """One page back; a tab without a history is closed instead."""
        page = self._window.tabs.current or await self._window.page()
        if not await _has_history(page):
            if not self._window.tabs.several:
                return failed("no_history", "there is no page before this one")
            await self._window.tabs.leave(page)
            return await self._window.show(lead="[the tab was closed]")
        try:
            await page.go_back(wait_until="commit", timeout=self._window.patience.answer * 1000)
        except Late:
            return ToolResult(
                ok=False, error="timeout", text="the page before this one does not answer", transient=True
            )
        return await self._afterwards()

    async def _afterwards(self) -> ToolResult:
        await self._window.settle()
        return await _arrived(self._window) or await self._window.show()

    async def snapshot(self, full: bool) -> ToolResult:
        """The page as it is now."""
        await self._window.page()
        return await self._window.show(limit=WHOLE if full else COMPACT)

    async def click(self, ref: str) -> ToolResult:
        """Click an element."""
        target = await _target(self._window, ref)
        await target.frame.click(target.selector, timeout=self._window.patience.action * 1000)
        return await self._afterwards()

    async def type(self, ref: str, text: str, submit: bool) -> ToolResult:
        """Replace the text of a field, and press Enter where that is wanted."""
        target = await _target(self._window, ref)
        if target.role in ("file", "checkbox", "radio", "button", "link"):
            return failed("bad_argument", f"{ref} is a {target.role}, not a field for text")
        if target.tag == "select":
            return failed("bad_argument", f"{ref} is a choice: use browser_select")
        wait = self._window.patience.action * 1000
        await target.frame.fill(target.selector, text, timeout=wait)
        if submit:
            await target.frame.press(target.selector, "Enter", timeout=wait)
        return await self._afterwards()

    async def select(self, ref: str, value: str) -> ToolResult:
        """Choose an option by its label or value."""
        target = await _target(self._window, ref)
        if target.tag != "select":
            return failed("bad_argument", f"{ref} is a {target.role}, not a list of options; click it instead")
        await target.frame.select_option(target.selector, value, timeout=self._window.patience.action * 1000)
        await self._window.settle()
        return await self._window.show()

    async def press(self, key: str) -> ToolResult:
        """Press a key in whatever has the focus."""
        page = await self._window.page()
        try:
            async with asyncio.timeout(self._window.patience.action):
                await page.keyboard.press(key)
        except Error as error:
            if "Unknown key" not in str(error):
                raise
            return failed(
                "bad_argument", f"{one_line(key, 40)!r} is no key; say Enter, Tab, Escape, ArrowDown, Control+a"
            )
        return await self._afterwards()

    async def scroll(self, direction: Direction) -> ToolResult:
        """Move the view and show the page from there."""
        page = await self._window.page()
        moved = await self._window.reader.scroll(page, direction)
        await self._window.settle()
        return await self._window.show(lead="" if moved else f"[the page does not go further {direction}]")

    async def picture(self) -> tuple[bytes, str]:
        """What is seen of the page, as a PNG, and its address."""
        page = await self._window.page()
        return await page.screenshot(type="png", timeout=self._window.patience.reading * 1000), address(page)

    async def evaluate(self, source: str) -> ToolResult:
        """Run JavaScript in the page: an expression, or the body of a function."""
        page = await self._window.page()
        try:
            found = await _evaluated(page, source, self._window.patience.action)
        except Error as error:
            if _LEFT not in str(error):
                raise
            return await self._afterwards()
        await self._window.settle()
        refused = await _arrived(self._window)
        if refused is not None:
            return refused
        text = cleaned(found.text, _MOST_RESULT)
        if found.whole > _MOST_RESULT:
            text += f"\n[{found.whole - _MOST_RESULT} characters left out: let the script return less]"
        current = self._window.shown()
        text = "\n".join((text, *self._window.notes(), f"[page: {one_line(current.url, 200)}]"))
        return ToolResult(ok=found.ok, text=text, error="" if found.ok else "script_error", origin=address(current))

    async def console(self) -> ToolResult:
        """What pages wrote to their console, newest last."""
        page = await self._window.page()
        lines = "\n".join(self._window.tabs.console)
        self._window.tabs.console.clear()
        return ToolResult(text=cleaned(lines[-_MOST_CONSOLE:], _MOST_CONSOLE) or "nothing", origin=address(page))


async def _target(window: Window, ref: str) -> Target:
    try:
        return await window.reader.find(await window.page(), ref)
    except Late as error:
        raise PageHung("the page does not answer") from error


async def _evaluated(page: Page, source: str, patience: float) -> _Evaluated:
    """The result of a script, cut in the page. What cannot be parsed as an expression has not run, so it may be tried
    as the body of a function."""
    async with asyncio.timeout(patience):
        try:
            value = await page.evaluate(_EVALUATE.format(body=f"{source}\n", limit=_MOST_RESULT))
        except Error as error:
            if "SyntaxError" not in error_line(error):
                raise
            body = f"(async () => {{ {source}\n }})()"
            value = await page.evaluate(_EVALUATE.format(body=body, limit=_MOST_RESULT))
    return msgspec.convert(value, _Evaluated)


async def _has_history(page: Page) -> bool:
    session = await page.context.new_cdp_session(page)
    try:
        history = await session.send("Page.getNavigationHistory")
    finally:
        await session.detach()
    here = history["currentIndex"]
    return bool(here > 0 and history["entries"][here - 1]["url"] != "about:blank")


async def _arrived(window: Window) -> ToolResult | None:
    """A failure when an action led to an address that may not be visited or cannot be reached."""
    page = window.shown()
    if not page.url.startswith(ERROR_PAGE):
        return None
    refused = window.running.gate.taken()
    if refused:
        return _refused("the page", refused)
    return ToolResult(ok=False, error="unreachable", text="the page it led to cannot be reached", transient=True)


def _refused(what: str, refusals: list[Refusal]) -> ToolResult:
    """The last refusal of a chain of redirects is the one that ended it."""
    last = refusals[-1]
    return failed("refused", f"{what} led to {one_line(last.place, 80)}: {one_line(last.reason, 160)} ({last.remedy})")


async def _stop(page: Page) -> None:
    with contextlib.suppress(Error, TimeoutError):
        async with asyncio.timeout(2):
            await page.evaluate("window.stop()")


async def _unreached(window: Window, url: str, error: Error) -> ToolResult:
    await window.tabs.failed()
    gate = window.running.gate
    refused = gate.taken()
    if refused:
        return _refused(one_line(url), refused)
    if "ERR_UNSAFE_PORT" in str(error):
        return failed("refused", f"{one_line(url)}: the port belongs to another protocol")
    if "ERR_ABORTED" in str(error) or "Download is starting" in str(error):
        window.tabs.taken()
        return failed("no_page", f"{one_line(url)} is a file, not a page: the browser refuses downloads")
    reason = gate.trouble(check(url).place) or error_line(error).partition(" at ")[0].removeprefix("Page.goto: ")
    text = f"{one_line(url)} cannot be reached: {one_line(reason, 160)}"
    return ToolResult(ok=False, error="unreachable", text=text, transient=True)
