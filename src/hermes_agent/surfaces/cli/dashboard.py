"""`hermes dashboard`: the page, served to this machine until Ctrl-C."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click
import msgspec

from ...types.errors import MissingExtra
from .console import Console
from .opening import opened
from .options import directory_option, json_option

_PORT = 8790


@click.command(short_help="The page: live runs, learning, cost, health.")
@click.option("--port", type=click.IntRange(0, 65_535), default=_PORT, show_default=True, help="0 takes a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Where to listen.")
@click.option("--allow-remote", is_flag=True, help="Let --host be an address that other machines reach.")
@click.option("--open", "browse", is_flag=True, help="Open it in the browser.")
@directory_option
@json_option
def command(port: int, host: str, allow_remote: bool, browse: bool, directory: Path, as_json: bool) -> None:
    """Serve the page until Ctrl-C. Only this machine can reach it, and only with the token in the address that is
    printed. `/metrics` is there for Prometheus, with the token as a bearer.

    With --json the first line is {"url": ...}.
    """
    if any(find_spec(name) is None for name in ("starlette", "uvicorn")):
        raise MissingExtra("the page needs starlette and uvicorn", remedy="pip install 'hermes-harness[http]'")
    asyncio.run(_serve(port, host, os.path.realpath(directory), remote=allow_remote, browse=browse, as_json=as_json))


async def _serve(port: int, host: str, workspace: str, *, remote: bool, browse: bool, as_json: bool) -> None:
    from ..dashboard.address import bound, is_loopback, names_for, shown_host
    from ..dashboard.gate import Access
    from ..dashboard.server import Dashboard, serve
    from ..dashboard.token import kept_token, token_path

    console = Console(quiet=as_json)
    with bound(host, port, remote=remote) as listening:
        taken = int(listening.getsockname()[1])
        async with opened(console) as app:
            access = Access(
                token=kept_token(app.environment.home),
                hosts=names_for(host, taken),
                port=taken,
                any_address=not is_loopback(host),
            )
            base = f"http://{shown_host(host)}:{taken}"
            url = f"{base}/?token={access.token}"

            def ready() -> None:
                if as_json:
                    sys.stdout.write(msgspec.json.encode({"url": url}).decode() + "\n")
                    sys.stdout.flush()
                else:
                    console.say(url)
                console.note(f"Ctrl-C ends it; {base}/metrics takes the token in {token_path(app.environment.home)}")
                if not is_loopback(host):
                    console.note(
                        "other machines reach this page, and it is not encrypted: whoever sees the traffic has the"
                        " token and may change what was learned",
                        "yellow",
                    )
                if browse:
                    _browse(url, console)

            await serve(Dashboard(app, access, workspace), listening, ready)
    console.note("the page is closed")


def _browse(url: str, console: Console) -> None:
    """Open the browser, beside the server."""
    import threading
    import webbrowser

    def work() -> None:
        if not webbrowser.open(url):
            console.note("no browser was found: open the address yourself", "yellow")

    threading.Thread(target=work, daemon=True).start()
