"""The page as text with references, and the elements behind the references."""

from __future__ import annotations

import unicodedata
from functools import cache
from importlib import resources

import msgspec
from playwright.async_api import Error, Frame, Page

from ...types.base import Value
from ...types.errors import HermesError
from ...types.text import one_line
from .tabs import ERROR_PAGE

ENGINE = "hermes"
COMPACT = 6_000
WHOLE = 15_000
_LONGEST_ADDRESS = 2_000
_MOST_FRAMES = 5
_SMALLEST_FRAME = 20
_AGAIN = "call browser_snapshot for the present references"


class StaleReference(HermesError):
    """A reference that leads to no element of the page as it is now."""

    remedy = _AGAIN


class Reading(Value, frozen=True, kw_only=True):
    """What one document shows. `next` is the last number given to an element; `above` and `more` say that text before
    and after it was left out."""

    text: str
    next: int
    count: int
    more: bool
    above: bool
    title: str
    top: int
    height: int
    view: int


class _About(Value, frozen=True, kw_only=True):
    state: str
    role: str = ""
    tag: str = ""


class _Scrolled(Value, frozen=True, kw_only=True):
    moved: int


class Target(Value, frozen=True, kw_only=True):
    """An element that is there now: where to find it and what it is."""

    frame: Frame
    selector: str
    role: str
    tag: str


@cache
def script() -> str:
    """The script that reads pages, as a selector engine."""
    return resources.files(__package__).joinpath("page.js").read_text()


class Reader:
    """Reads pages and remembers which document each reference belongs to.

    Numbers are never used twice in a session, so a reference to an earlier page cannot mean an element of a later one.
    """

    def __init__(self, patience: float) -> None:
        self._wait = patience * 1000
        self._last = 0
        self._frames: dict[int, Frame] = {}

    async def read(self, page: Page, limit: int) -> tuple[str, Reading]:
        """The text of a page with its frames, and the main document's own reading."""
        main = await self._document(page.main_frame, limit)
        parts = [main.text]
        count = main.count
        left = limit - len(main.text)
        for frame in await self._seen_frames(page):
            if left < 200:
                break
            try:
                inner = await self._document(frame, left)
            except Error:
                continue
            if inner.text:
                parts.append(f"--- frame {one_line(frame.url, 120)}\n{inner.text}")
                left -= len(inner.text)
                count += inner.count
        return "\n".join(parts), msgspec.structs.replace(main, count=count)

    async def find(self, page: Page, reference: str) -> Target:
        """The element of a reference. Raises StaleReference when it is gone or is something else now."""
        digits = reference.strip().strip("[]").removeprefix("e")
        if not digits.isascii() or not digits.isdigit() or len(digits) > 9:
            raise StaleReference(f"{one_line(reference, 40)!r} is no reference; they look like e12")
        number = int(digits)
        frame = self._frames.get(number)
        if frame is None or frame.is_detached() or frame.page is not page:
            raise StaleReference(f"e{number} is not on this page")
        known = msgspec.json.decode(await self._ask(frame, f"about:{number}"), type=_About)
        match known.state:
            case "there":
                return Target(frame=frame, selector=f"{ENGINE}=element:{number}", role=known.role, tag=known.tag)
            case "changed":
                raise StaleReference(f"e{number} has another name or role than when it was shown")
            case _:
                raise StaleReference(f"e{number} is no longer on this page")

    async def scroll(self, page: Page, direction: str) -> int:
        """Move the view; how far it went."""
        answer = await self._ask(page.main_frame, f"scroll:{direction}")
        return msgspec.json.decode(answer, type=_Scrolled).moved

    async def _document(self, frame: Frame, limit: int) -> Reading:
        kind = "full" if limit > COMPACT else "compact"
        answer = await self._ask(frame, f"read:{self._last}:{limit}:{kind}")
        reading = msgspec.json.decode(answer, type=Reading)
        for number in range(self._last + 1, reading.next + 1):
            self._frames[number] = frame
        self._last = max(self._last, reading.next)
        return reading

    async def _seen_frames(self, page: Page) -> list[Frame]:
        found: list[Frame] = []
        for frame in page.frames[1 : _MOST_FRAMES * 4]:
            if len(found) == _MOST_FRAMES:
                break
            if frame.url.startswith(ERROR_PAGE):
                continue
            try:
                holder = await frame.frame_element()
                box = await holder.bounding_box() if await holder.is_visible() else None
            except Error:
                continue
            if box and min(box["width"], box["height"]) >= _SMALLEST_FRAME:
                found.append(frame)
        return found

    async def _ask(self, frame: Frame, question: str) -> bytes:
        answer = await frame.text_content(f"{ENGINE}={question}", timeout=self._wait)
        return (answer or "").encode("utf-8", "replace")


def address(page: Page) -> str:
    """Where a page is, at a length that can be kept: a page chooses its own address."""
    return page.url[:_LONGEST_ADDRESS]


def cleaned(text: str, limit: int) -> str:
    """Text of a page without invisible characters, at most `limit` characters long."""
    kept = "".join(
        char
        for char in text[: limit * 2]
        if char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")
    )
    return kept if len(kept) <= limit else f"{kept[: limit - 1]}…"
