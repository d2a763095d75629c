"""A browser: pages that need scripts, forms or clicks. Chromium runs when the first of these tools is called."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Literal

from ...safety.paths import Scope
from ...safety.urls import AddressRefused, check
from ...types.errors import HermesError
from ...types.text import clean, one_line
from ...types.tools import ToolContext, ToolResult
from ..failures import failed, file_failure
from ..tool import tool

if TYPE_CHECKING:
    from ..browser.actions import Actions
    from ..browser.session import Browser

BROWSER = "browser"
_INSTALL = "the browser needs an optional package: pip install 'hermes-harness[browser]'"
_MOST_TYPED = 100_000
_TIMEOUT = 90.0
_SENDS = ("browser", "network")

Reference = Annotated[str, "such as e12"]


@tool(capabilities=_SENDS, effect="idempotent", timeout=_TIMEOUT, labels=("untrusted",), destinations=("url",))
async def browser_navigate(url: str, context: ToolContext) -> ToolResult:
    """Open a page in a browser: its text with references like [e12] for links, buttons and fields.

    tool_search("browser") finds the tools that click, type, scroll and more.
    """
    try:
        address = check(url)
    except AddressRefused as error:
        return failed("refused", error.explain())
    fragment = "".join(url.strip().partition("#")[1:])
    return await _perform(context, lambda actions: actions.navigate(address.url, fragment))


@tool(capabilities=("browser",), effect="idempotent", timeout=_TIMEOUT, labels=("untrusted",), rare=True)
async def browser_snapshot(
    context: ToolContext, full: Annotated[bool, "the whole page, with the addresses of links"] = False
) -> ToolResult:
    """The open browser page as text with references, from where it is scrolled to."""
    return await _perform(context, lambda actions: actions.snapshot(full))


@tool(capabilities=_SENDS, effect="once", timeout=_TIMEOUT, labels=("untrusted",), rare=True)
async def browser_click(ref: Reference, context: ToolContext) -> ToolResult:
    """Click an element of the browser page; shows the page afterwards."""
    return await _perform(context, lambda actions: actions.click(ref))


@tool(capabilities=_SENDS, effect="once", timeout=_TIMEOUT, labels=("untrusted",), rare=True)
async def browser_type(
    ref: Reference,
    text: Annotated[str, "replaces what is there"],
    context: ToolContext,
    submit: Annotated[bool, "press Enter after it"] = False,
) -> ToolResult:
    """Type into a field of the browser page."""
    if len(text) > _MOST_TYPED:
        return failed("bad_argument", f"text is longer than {_MOST_TYPED} characters")
    return await _perform(context, lambda actions: actions.type(ref, clean(text), submit))


@tool(capabilities=_SENDS, effect="once", timeout=_TIMEOUT, labels=("untrusted",), rare=True)
async def browser_select(
    ref: Reference, value: Annotated[str, "label or value of the option"], context: ToolContext
) -> ToolResult:
    """Choose an option of a list on the browser page."""
    return await _perform(context, lambda actions: actions.select(ref, clean(value)))


@tool(capabilities=_SENDS, effect="once", timeout=_TIMEOUT, labels=("untrusted",), rare=True)
async def browser_press(key: Annotated[str, "such as Enter, Escape, Control+a"], context: ToolContext) -> ToolResult:
    """Press a key in the browser page."""
    return await _perform(context, lambda actions: actions.press(clean(key)))


@tool(capabilities=("browser",), effect="idempotent", timeout=_TIMEOUT, labels=("untrusted",), rare=True)
async def browser_scroll(direction: Literal["down", "up", "top", "bottom"], context: ToolContext) -> ToolResult:
    """Scroll the browser page and show it from there."""
    return await _perform(context, lambda actions: actions.scroll(direction))


@tool(capabilities=_SENDS, effect="once", timeout=_TIMEOUT, labels=("untrusted",), rare=True)
async def browser_back(context: ToolContext) -> ToolResult:
    """Go one browser page back; closes a tab that has no earlier page."""
    return await _perform(context, lambda actions: actions.back())


@tool(
    capabilities=("browser", "files.write"),
    effect="idempotent",
    timeout=_TIMEOUT,
    labels=("untrusted",),
    replaces=("path",),
    rare=True,
)
async def browser_screenshot(path: Annotated[str, "PNG file in the workspace"], context: ToolContext) -> ToolResult:
    """Save what is seen of the browser page as a picture; vision_analyze can look at it."""
    if not path.lower().endswith(".png"):
        return failed("bad_argument", "path must end in .png")
    scope = Scope(context.workspace)
    scope.resolve(path)
    taken: list[bytes] = []

    async def take(actions: Actions) -> ToolResult:
        picture, address = await actions.picture()
        taken.append(picture)
        text = f"saved {one_line(path)} ({len(picture)} bytes) of {one_line(address, 200)}"
        return ToolResult(text=text, origin=address)

    result = await _perform(context, take)
    if not taken:
        return result
    try:
        await asyncio.to_thread(_save, scope, path, taken[0])
    except OSError as error:
        return file_failure(error, path, scope)
    return result


@tool(capabilities=_SENDS, effect="once", timeout=_TIMEOUT, labels=("untrusted",), rare=True)
async def browser_evaluate(
    script: Annotated[str, "expression, or statements with return"], context: ToolContext
) -> ToolResult:
    """Run JavaScript in the browser page and show its result."""
    if not script.strip() or len(script) > _MOST_TYPED:
        return failed("bad_argument", f"script is empty or longer than {_MOST_TYPED} characters")
    return await _perform(context, lambda actions: actions.evaluate(clean(script)))


@tool(capabilities=("browser",), effect="idempotent", timeout=_TIMEOUT, labels=("untrusted",), rare=True)
async def browser_console(context: ToolContext) -> ToolResult:
    """Messages and errors in the browser's console since the last look."""
    return await _perform(context, lambda actions: actions.console())


@tool(capabilities=("browser",), effect="idempotent", timeout=_TIMEOUT, rare=True)
async def browser_close(context: ToolContext) -> ToolResult:
    """Close the browser; its pages and sign-ins are forgotten."""
    closed = await context.resources.drop(BROWSER)
    return ToolResult(text="the browser is closed" if closed else "no browser was open")


async def _perform(context: ToolContext, action: Callable[[Actions], Awaitable[ToolResult]]) -> ToolResult:
    """Do something in the session's browser, which starts with its first action."""
    try:
        from ..browser.actions import Actions
        from ..browser.session import Browser
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "playwright":
            raise
        return failed("not_installed", _INSTALL)

    async def make() -> Browser:
        return Browser(context.web)

    browser = await context.resources.get(BROWSER, make)
    try:
        return await browser.perform(lambda window: action(Actions(window)))
    except HermesError as error:
        return failed("not_installed", error.explain())


def _save(scope: Scope, path: str, picture: bytes) -> None:
    with scope.open_write(path) as file:
        file.write(picture)
