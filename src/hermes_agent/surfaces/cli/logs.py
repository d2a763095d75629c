"""`hermes logs`: what happened, from the log file. Opens nothing else, so it works when everything else fails."""

from __future__ import annotations

import time
from typing import Any

import click

from ...config.load import read_environment
from ...observability.logs import Entry, Filter, Level, Reader, parse_span
from ...types.errors import NotFound
from ...types.text import one_line, visible
from .console import Console

_STYLES = {Level.INFO: "dim", Level.WARNING: "yellow", Level.ERROR: "red"}
_WAIT = 0.2
_WIDEST = 400


@click.command(short_help="What happened, from the log file; filter and follow.")
@click.option("-f", "--follow", is_flag=True, help="Go on printing what is written; Ctrl-C ends it.")
@click.option("--since", default="", metavar="10m|DATE", help="Only since then: 30s, 10m, 2h, 7d or 2026-01-31.")
@click.option("--run", "run_id", default="", metavar="ID", help="Only of this run; a beginning or end of its id.")
@click.option(
    "--level",
    type=click.Choice([level.value for level in Level]),
    default=Level.INFO.value,
    show_default=True,
    help="Only what matters at least so much.",
)
@click.option(
    "--kind", "kinds", multiple=True, metavar="KIND", help="Only this kind, such as call_finished. Repeatable."
)
@click.option("--grep", "text", default="", metavar="TEXT", help="Only lines with this text in them.")
@click.option("-n", "--limit", type=click.IntRange(1, 100_000), default=50, show_default=True, help="The last so many.")
@click.option("--json", "as_json", is_flag=True, help="Print each line as JSON instead of text.")
def command(
    follow: bool, since: str, run_id: str, level: str, kinds: tuple[str, ...], text: str, limit: int, as_json: bool
) -> None:
    """Events, figures and decisions of all runs, oldest first. What was said is not in the log; `hermes sessions show`
    has it, and `hermes why` explains a run."""
    console = Console()
    path = read_environment().home / "logs" / "hermes.log"
    start = parse_span(since, time.time()) if since else 0.0
    filter = Filter(since=start, run=run_id, level=Level(level), kinds=kinds, text=text)
    reader = Reader(
        path, filter, lambda name: console.note(f"{name} has lines that are no log lines; they are left out", "yellow")
    )
    if not follow and not path.parent.is_dir():
        raise NotFound(
            f"there is no log in {path.parent} yet", remedy='it begins with the first run: hermes run "TEXT"'
        )
    try:
        shown = reader.last(limit)
        for entry in shown:
            _print(console, entry, as_json=as_json)
        if not follow and not shown:
            console.note("no line of the log fits")
        while follow:
            for entry in reader.more():
                _print(console, entry, as_json=as_json)
            time.sleep(_WAIT)
    except KeyboardInterrupt:
        return
    finally:
        reader.close()


def _print(console: Console, entry: Entry, *, as_json: bool) -> None:
    if as_json:
        console.say(entry.raw)
        return
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(entry.at))
    words = [f"{entry.kind}", *([f"run={entry.run}"] if entry.run else [])]
    words += [f"{key}={_value(value)}" for key, value in entry.rest.items() if value not in (None, "", [], {})]
    level = console.styled(f"{entry.level.value:<7}", _STYLES[entry.level], console.out)
    print(f"{when} {level} {one_line(' '.join(words), _WIDEST)}", file=console.out, flush=True)


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return ",".join(f"{key}:{_value(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ",".join(_value(item) for item in value)
    return visible(f"{value:g}" if isinstance(value, float) else str(value))
