"""What the commands of the hub share: opening it, showing what is offered, and asking."""

from __future__ import annotations

import sys
from typing import Any

import click

from ....config.load import Environment, read_environment
from ....safety.scan import Verdict
from ....skills.git import Git
from ....skills.hub import Hub, Offer
from ....skills.screening import Screening
from ....types.errors import UsageError
from ....types.text import one_line, visible
from ..console import Console, amount

_STYLES = {Verdict.FLAG: "yellow", Verdict.BLOCK: "red"}


def git_of(environment: Environment) -> Git:
    """git with what the user's environment may pass on."""
    return Git(environment.passed_on)


def open_hub() -> Hub:
    """The hub of this home."""
    environment = read_environment()
    return Hub(environment.home / "skills-hub", git_of(environment))


def show_offer(console: Console, offer: Offer) -> None:
    """What would be installed: where it is from, what is in it, what the scanner says, and what it would change."""
    at = f" at {offer.commit[:12]}" if offer.commit else ""
    console.note(f"{offer.name}: {one_line(offer.description, 200)}", "bold")
    console.note(f"from {visible(offer.url)}{'#' + visible(offer.path) if offer.path else ''}{at}")
    for path, content in sorted(offer.files.items()):
        console.note(f"  {visible(path)}  {amount(len(content))}")
    show_concerns(console, offer.screening)


def show_concerns(console: Console, screening: Screening) -> None:
    """What the scanner found."""
    for one in screening.concerns:
        where = f"{visible(one.file)}, line {one.line}" if one.line else visible(one.file)
        text = f": {one.excerpt}" if one.excerpt else ""
        console.note(f"{one.verdict.value}  {where}: {one.why}{text}", _STYLES[one.verdict])


def show_diff(console: Console, diff: str) -> None:
    """A difference, to be read before deciding."""
    styles = {"+": "green", "-": "red", "@": "cyan"}
    for line in diff.splitlines():
        console.note(line, styles.get(line[:1], "dim"))


def agreed(question: str, way: str, *, yes: bool) -> bool:
    """Whether the person wants it. Without a terminal nobody can say, and `way` is the option that says it."""
    if yes:
        return True
    if not sys.stdin.isatty():
        raise UsageError(f"{question} There is no terminal to ask.", remedy=f"look at it first, then say {way}")
    return click.confirm(question, err=True)


def offer_as_json(offer: Offer) -> dict[str, Any]:
    """An offer without its content, which may not be text."""
    return {
        "name": offer.name,
        "description": offer.description,
        "url": offer.url,
        "path": offer.path,
        "ref": offer.ref,
        "commit": offer.commit,
        "version": offer.version,
        "replaces": offer.replaces,
        "files": {path: len(content) for path, content in sorted(offer.files.items())},
        "verdict": offer.screening.verdict.value,
        "concerns": offer.screening.concerns,
        "diff": offer.diff,
    }
