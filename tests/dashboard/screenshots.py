"""Draw the pictures of docs/images: `python -m tests.dashboard.screenshots [FOLDER]`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.cli.command import Hermes
from tests.dashboard.served import Served, learning_home, need_chromium, real_run

VIEWS = ("learning", "heuristics", "skills", "replay")
"""Those that show nothing of the machine they were drawn on."""


def main(folder: Path) -> None:
    """Every view in light; learning also in dark and on a phone."""
    from playwright.sync_api import sync_playwright

    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as place, sync_playwright() as driver:
        hermes = Hermes(Path(place))
        learning_home(hermes, "")
        real_run(hermes, "sum up the invoices of January", "")
        served = Served(hermes)
        browser = driver.chromium.launch(executable_path=need_chromium(), args=["--no-sandbox"])
        shots = [(name, "light", 1280) for name in VIEWS] + [("learning", "dark", 1280), ("heuristics", "dark", 390)]
        shots += [("learning", "light", 390)]
        for name, scheme, width in shots:
            page = browser.new_page(
                color_scheme="dark" if scheme == "dark" else "light", viewport={"width": width, "height": 900}
            )
            page.goto(served.url)
            page.goto(f"{served.base}/#/{name}")
            page.wait_for_selector("h1")
            if name == "replay":
                page.click("[data-do=replay]")
                page.wait_for_selector("[data-state=done]")
            if name == "learning":
                page.locator("[data-drawn]").nth(9).wait_for()
            page.wait_for_timeout(500)
            suffix = ("" if scheme == "light" else "-dark") + ("" if width == 1280 else "-phone")
            page.screenshot(
                path=folder / f"dashboard-{name}{suffix}.png", full_page=width != 1280 or name == "learning"
            )
            page.close()
        browser.close()
        served.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/images"))
