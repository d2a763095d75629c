"""`hermes skills enable`."""

from __future__ import annotations

from pathlib import Path

import click

from ..options import directory_option, json_option
from .opening import skill_argument
from .switching import switch


@click.command(short_help="Offer a skill again.")
@skill_argument
@directory_option
@json_option
def command(name: str, directory: Path, as_json: bool) -> None:
    """The agent is offered the skill NAME again, from the next session on."""
    said = f"enabled; take it back with `hermes skills disable {name}`"
    switch(name, directory, "enabled", said, on=True, as_json=as_json)
