"""The browser of a session: started when first needed, started anew when it has ended, one action at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from playwright.async_api import Error, Page
from playwright.async_api import TimeoutError as Late

from ...safety.urls import Resolve, resolve_by_system
from ...types.base import Value
from ...types.errors import HermesError
from ...types.text import one_line
from ...types.tools import ToolResult, WebAccess
from ..failures import failed
from .gate import Gate
from .launch import Appearance, Running, error_line, find_chromium, launch
from .reading import COMPACT, ENGINE, Reader, Reading, StaleReference, address, script
from .tabs import Tabs

_RESTARTED = "the browser had ended and was started anew; its pages and sign-ins are gone"
CLOSED = "has been closed"
_CRASHED = "the page crashed and was closed"
_MEANINGS = {
    "intercepts pointer events": ("covered", "another element covers it: close or scroll that away first"),
    "did not find some options": ("not_found", "it has no such option; browser_snapshot with full lists them"),
    "element is not enabled": ("disabled", "it is disabled; something else has to be filled in or clicked first"),
    "element is not editable": ("disabled", "it is read-only"),
    "element is not visible": ("hidden", "it is hidden now; browser_snapshot shows what is there"),
}
"""What the driver's log says about an action that could not be done, and what it means."""


class Patience(Value, frozen=True, kw_only=True):
    """How many seconds a page gets: to answer, to load, to become quiet, for one action, and to be read."""

    answer: float = 20.0
    load: float = 8.0
    quiet: float = 1.5
    action: float = 6.0
    reading: float = 8.0


class NoPage(HermesError):
    """An action in a page that is not there."""

    remedy = "open one with browser_navigate"


class PageHung(HermesError):
    """A page that does not answer any more."""


class Window:
    """What an action works with: the pages of a running browser and the reader of their text."""

    def __init__(self, running: Running, reader: Reader, patience: Patience) -> None:
        self.running = running
        self.tabs = Tabs(running.context)
        self.reader = reader
        self.patience = patience

    async def page(self) -> Page:
        """The page to act on. Raises NoPage when none was opened."""
        found = self.tabs.current
        if found is None or (found.url == "about:blank" and not self.tabs.several):
            raise NoPage("no page is open")
        return found

    def shown(self) -> Page:
        """The page that is open after an action. Raises NoPage when the action left none."""
        found = self.tabs.current
        if found is None:
            raise NoPage("the page has closed")
        return found

    async def settle(self) -> None:
        """Wait until the current page has loaded and asks for nothing more, but not for long."""
        await asyncio.sleep(0.05)
        for _ in range(40):
            if await self.running.complete():
                break
            await asyncio.sleep(0.05)
        page = self.shown()
        try:
            await page.wait_for_load_state("domcontentloaded", timeout=self.patience.load * 1000)
        except Late:
            self.tabs.note("the page is still loading")
            return
        calm = 0
        for _ in range(int(self.patience.quiet / 0.05)):
            calm = 0 if self.tabs.loading else calm + 1
            if calm == 3:
                break
            await asyncio.sleep(0.05)
        await self.tabs.failed()

    async def show(self, *, limit: int = COMPACT, lead: str = "") -> ToolResult:
        """The current page as a result: what happened, its text, and one line about where we are."""
        page = self.shown()
        try:
            async with asyncio.timeout(self.patience.reading * 2):
                text, reading = await self.reader.read(page, limit)
        except (Late, TimeoutError) as error:
            raise PageHung("the page does not answer") from error
        cut = ["[more: scroll, or browser_snapshot with full]"] if reading.more else []
        state = (
            f'[page: "{reading.title}" | {one_line(page.url, 200)} | {reading.count} references{_position(reading)}]'
        )
        shown = [lead, *self.notes(), text, *cut, state]
        return ToolResult(text="\n".join(part for part in shown if part), origin=address(page))

    def notes(self) -> list[str]:
        """What happened since the last answer, one line each."""
        for refusal in self.running.gate.taken():
            asked = "" if refusal.times == 1 else f" ({refusal.times} times)"
            self.tabs.note(f"the page asked for {one_line(refusal.place, 80)}, which may not be visited{asked}")
        return [f"[{note}]" for note in self.tabs.taken()]


class Browser:
    """One Chromium for one session. Closing it ends every process it started."""

    def __init__(
        self,
        access: WebAccess,
        *,
        patience: Patience | None = None,
        resolve: Resolve = resolve_by_system,
    ) -> None:
        self._access = access
        self._patience = patience or Patience()
        self._resolve = resolve
        self._reader = Reader(self._patience.reading)
        self._window: Window | None = None
        self._lost = False
        self._one = asyncio.Lock()

    async def perform(self, action: Callable[[Window], Awaitable[ToolResult]]) -> ToolResult:
        """Do one thing in the browser. What goes wrong with a page or the browser comes back as a result."""
        async with self._one:
            window = await self._running()
            try:
                return await action(window)
            except HermesError as error:
                return await self._explained(window, error)
            except (Error, TimeoutError) as error:
                return await self._failure(window, error)

    async def close(self) -> None:
        """End the browser."""
        async with self._one:
            await self._end()

    async def _running(self) -> Window:
        if self._window is not None and self._window.running.alive:
            return self._window
        if self._window is not None:
            await self._lose()
        gate = Gate(self._access.allowed, self._resolve)
        appearance = Appearance(user_agent=self._access.user_agent)
        running = await launch(find_chromium(self._access.browser), gate, appearance, [(ENGINE, script())])
        self._window = Window(running, self._reader, self._patience)
        if self._lost:
            self._window.tabs.note(_RESTARTED)
            self._lost = False
        return self._window

    async def _end(self) -> None:
        window, self._window = self._window, None
        if window is not None:
            await window.tabs.close()
            await window.running.stop()

    async def _lose(self) -> None:
        """End what is left of a browser that failed; the next action says that it was started anew."""
        self._lost = True
        await self._end()

    async def _explained(self, window: Window, error: HermesError) -> ToolResult:
        if isinstance(error, PageHung):
            return await self._abandon(window)
        if window.tabs.crashed():
            return failed("page_crashed", _with_notes(window, _CRASHED))
        name = {StaleReference: "stale_reference", NoPage: "no_page"}.get(type(error), "refused")
        return failed(name, _with_notes(window, error.explain()))

    async def _failure(self, window: Window, error: Error | TimeoutError) -> ToolResult:
        """What an error of the driver means."""
        if not window.running.alive or (CLOSED in str(error) and not await window.running.answers()):
            await self._lose()
            text = "the browser ended; it is started anew with the next call, so navigate again"
            return ToolResult(ok=False, error="browser_gone", text=text, transient=True)
        if window.tabs.crashed():
            return failed("page_crashed", _with_notes(window, _CRASHED))
        if isinstance(error, Late | TimeoutError) and await self._hangs(window):
            return await self._abandon(window)
        if CLOSED in str(error):
            return failed("no_page", _with_notes(window, "the page has closed"))
        for sign, (name, text) in _MEANINGS.items():
            if sign in str(error):
                return failed(name, _with_notes(window, text))
        if isinstance(error, Late | TimeoutError):
            text = "the page did not do this in time; browser_snapshot shows how it is now"
            return ToolResult(ok=False, error="timeout", text=_with_notes(window, text), transient=True)
        return failed("page_error", _with_notes(window, one_line(error_line(error), 300)))

    async def _hangs(self, window: Window) -> bool:
        page = window.tabs.current
        if page is None:
            return False
        try:
            async with asyncio.timeout(self._patience.reading):
                await page.title()
        except (Error, TimeoutError):
            return True
        return False

    async def _abandon(self, window: Window) -> ToolResult:
        """Leave a page that hangs; where even that fails, end the browser."""
        page = window.tabs.current
        if page is not None and not await window.tabs.leave(page):
            await self._lose()
        return failed("page_hung", _with_notes(window, "the page does not answer and was closed"))


def _with_notes(window: Window, text: str) -> str:
    return "\n".join((text, *window.notes()))


def _position(reading: Reading) -> str:
    height, view, top = reading.height, reading.view, reading.top
    if height <= view + 1:
        return ""
    return f" | {top * 100 // height}-{min(100, (top + view) * 100 // height)} % of its height"
