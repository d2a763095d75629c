"""The open pages of a browser, and what happened in them while nobody looked."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import Coroutine
from typing import Any

from playwright.async_api import BrowserContext, ConsoleMessage, Dialog, Download, Error, Frame, Page, Request, WebError

from ...types.text import one_line

ERROR_PAGE = "chrome-error:"
_MOST_PAGES = 8
_MOST_DIALOGS = 20
_MOST_NOTES = 12
_QUOTED = 160


class Tabs:
    """The pages of one browser. The newest is the current one; when it closes, the one before it is.

    Whatever a page springs on its reader is answered at once and noted: dialogs are dismissed, downloads refused, pages
    beyond a handful closed.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.console: deque[str] = deque(maxlen=100)
        self.loading: set[Request] = set()
        self._context = context
        self._pages: list[Page] = []
        self._notes: Counter[str] = Counter()
        self._dialogs = 0
        self._crash = False
        self._failing: Page | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        context.on("page", self._opened)
        context.on("dialog", self._asked)
        context.on("console", self._said)
        context.on("weberror", self._failed)
        context.on("request", self._requested)
        context.on("requestfinished", self._answered)
        context.on("requestfailed", self._unanswered)

    @property
    def current(self) -> Page | None:
        """The page that is looked at, if any is open."""
        while self._pages and self._pages[-1].is_closed():
            self._pages.pop()
        return self._pages[-1] if self._pages else None

    @property
    def several(self) -> bool:
        return self.current is not None and len(self._pages) > 1

    async def page(self) -> Page:
        """The current page, or a new one."""
        found = self.current
        if found is None:
            found = await self._context.new_page()
            self._follow(found)
        return found

    async def leave(self, page: Page) -> bool:
        """Close a page; False when it did not close in time."""
        self.loading.clear()
        try:
            async with asyncio.timeout(3):
                await page.close()
        except (Error, TimeoutError):
            return page.is_closed()
        return True

    def note(self, text: str) -> None:
        """Something the reader should know with the next answer."""
        if len(self._notes) < _MOST_NOTES or text in self._notes:
            self._notes[text] += 1

    def taken(self) -> list[str]:
        """The notes since the last answer."""
        notes, self._notes = self._notes, Counter()
        self._dialogs = 0
        return [text if times == 1 else f"{text} ({times} times)" for text, times in notes.items()]

    async def failed(self) -> None:
        """Wait for the error page of a navigation that failed: it comes a little after the failure."""
        for _ in range(20):
            if self._failing is None or self._failing.is_closed():
                break
            await asyncio.sleep(0.05)
        self._failing = None

    def crashed(self) -> bool:
        """Whether a page crashed since this was last asked."""
        crash, self._crash = self._crash, False
        return crash

    async def close(self) -> None:
        """Wait for nothing that is under way."""
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _follow(self, page: Page) -> None:
        if page in self._pages:
            return
        self._pages.append(page)
        page.on("download", self._downloading)
        page.on("crash", self._crashed)
        page.on("framenavigated", self._navigated)
        page.on("close", self._closed)

    def _opened(self, page: Page) -> None:
        if page in self._pages:
            return
        if self.current is None:
            self._follow(page)
            return
        if len(self._pages) >= _MOST_PAGES:
            self.note("one tab too many was closed")
            self._later(page)
            return
        self._follow(page)
        self.note("a new tab opened and is shown now; browser_back returns")

    def _closed(self, page: Page) -> None:
        if page in self._pages:
            self._pages.remove(page)
            self.loading.clear()

    def _crashed(self, page: Page) -> None:
        self._closed(page)
        self._crash = True
        self._later(page)

    def _asked(self, dialog: Dialog) -> None:
        self._dialogs += 1
        if self._dialogs > _MOST_DIALOGS:
            self.note("the page kept opening dialogs and was closed")
            if dialog.page is not None:
                self._later(dialog.page)
            return
        staying = dialog.type != "beforeunload"
        if staying:
            self.note(f"a dialog ({dialog.type}) was dismissed: {one_line(dialog.message, _QUOTED)!r}")
        self._run(dialog.dismiss() if staying else dialog.accept())

    def _downloading(self, download: Download) -> None:
        self.note(f"a download was refused: {one_line(download.suggested_filename, 80)!r}")
        self._run(download.cancel())

    def _said(self, message: ConsoleMessage) -> None:
        self.console.append(f"{message.type}: {one_line(message.text, 300)}")

    def _failed(self, error: WebError) -> None:
        self.console.append(f"exception: {one_line(str(error.error), 300)}")

    def _requested(self, request: Request) -> None:
        self.loading.add(request)

    def _answered(self, request: Request) -> None:
        self.loading.discard(request)

    def _navigated(self, frame: Frame) -> None:
        if frame.url.startswith(ERROR_PAGE) and self._failing is frame.page:
            self._failing = None

    def _unanswered(self, request: Request) -> None:
        self.loading.discard(request)
        with contextlib.suppress(Error):
            if request.is_navigation_request() and request.frame.parent_frame is None:
                self._failing = request.frame.page

    def _later(self, page: Page) -> None:
        self._run(page.close())

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Answer the page without waiting for it."""
        task = asyncio.create_task(_quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


async def _quietly(work: Coroutine[Any, Any, None]) -> None:
    with contextlib.suppress(Error):
        await work
