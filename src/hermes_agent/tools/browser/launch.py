"""Starts a Chromium that talks to nobody but the gate and remembers nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from playwright.async_api import Browser, BrowserContext, Error, Playwright, async_playwright

from ...types.base import Value
from ...types.errors import ConfigError, HermesError, MissingExtra
from ...types.text import one_line
from .folder import BrowserFolder
from .gate import Gate

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
_FOLDERS = ("/usr/bin", "/usr/local/bin", "/snap/bin", "/opt/google/chrome", "/opt/homebrew/bin")
_APPLICATIONS = (
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
_INSTALL = "install Chromium, such as `apt install chromium`, or set web.browser to its path"
_FLAGS = (
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--no-pings",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-domain-reliability",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--js-flags=--max-old-space-size=1024",
)


class Appearance(Value, frozen=True, kw_only=True):
    """How the browser shows itself to pages. An empty user agent is Chromium's own."""

    user_agent: str = ""
    width: int = 1280
    height: int = 800


class NoBrowser(HermesError):
    """The browser could not be started."""


class Running:
    """A started browser and the gate it goes through."""

    def __init__(
        self, playwright: Playwright, browser: Browser, context: BrowserContext, gate: Gate, folder: BrowserFolder
    ) -> None:
        self.browser = browser
        self.context = context
        self.gate = gate
        self._playwright = playwright
        self._folder = folder

    @property
    def alive(self) -> bool:
        return self.browser.is_connected()

    async def complete(self) -> bool:
        """Whether the driver has told about every page that Chromium has: it tells of new ones a little late."""
        session = await self.browser.new_browser_cdp_session()
        try:
            targets = (await session.send("Target.getTargets"))["targetInfos"]
        finally:
            await session.detach()
        return len([target for target in targets if target["type"] == "page"]) <= len(self.context.pages)

    async def answers(self) -> bool:
        """Whether driver and browser both still work. Asked after something was closed that nobody here closed."""
        try:
            async with asyncio.timeout(2):
                await self.context.cookies("http://127.0.0.1")
        except (Error, TimeoutError):
            return False
        return self.alive

    async def stop(self) -> None:
        """End the browser with everything it started. Works also when it has ended or does not answer."""
        for ending in (self.browser.close, self._playwright.stop):
            with contextlib.suppress(Error, OSError, TimeoutError):
                async with asyncio.timeout(10):
                    await ending()
        await self.gate.close()
        self._folder.remove()


def find_chromium(configured: str = "") -> str:
    """The path of a Chromium. Raises ConfigError or MissingExtra with what to do."""
    if configured:
        if not os.access(configured, os.X_OK) or not Path(configured).is_file():
            raise ConfigError(f"web.browser is {one_line(configured)!r}, which is no program", remedy=_INSTALL)
        return configured
    folders = os.pathsep.join(_FOLDERS)
    for name in _NAMES:
        found = shutil.which(name, path=folders)
        if found:
            return found
    for application in _APPLICATIONS:
        if os.access(application, os.X_OK):
            return application
    raise MissingExtra("there is no Chromium on this machine", remedy=_INSTALL)


async def launch(executable: str, gate: Gate, appearance: Appearance, engines: Collection[tuple[str, str]]) -> Running:
    """A fresh browser behind `gate`, with a profile that vanishes with it.

    `engines` are scripts that find elements; they run where a page's own scripts cannot reach. Root has no sandbox
    to give: Chromium's own needs an ordinary user.
    """
    folder = BrowserFolder()
    playwright = None
    try:
        await gate.start()
        playwright = await async_playwright().start()
        for name, script in engines:
            await playwright.selectors.register(name, script, content_script=True)
        browser = await playwright.chromium.launch(
            executable_path=executable,
            headless=True,
            args=list(_FLAGS),
            ignore_default_args=["--disable-popup-blocking"],
            chromium_sandbox=os.geteuid() != 0,
            proxy={
                "server": f"http://127.0.0.1:{gate.port}",
                "bypass": "<-loopback>",
                "username": gate.user,
                "password": gate.password,
            },
            env={**folder.environment()},
            artifacts_dir=folder.path,
            handle_sigint=False,
            handle_sigterm=False,
            handle_sighup=False,
        )
        context = await browser.new_context(
            accept_downloads=False,
            user_agent=appearance.user_agent or None,
            viewport={"width": appearance.width, "height": appearance.height},
            locale="en-US",
        )
        await context.grant_permissions([])
    except BaseException as error:
        if playwright is not None:
            await playwright.stop()
        await gate.close()
        folder.remove()
        if isinstance(error, Error | OSError):
            raise NoBrowser(f"Chromium did not start: {one_line(error_line(error), 200)}", remedy=_INSTALL) from error
        raise
    return Running(playwright, browser, context, gate, folder)


def error_line(error: BaseException) -> str:
    """What an error of the driver says first, without its log."""
    return str(error).strip().partition("\n")[0] or type(error).__name__
