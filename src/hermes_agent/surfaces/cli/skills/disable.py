"""`hermes skills disable`."""

from __future__ import annotations

from pathlib import Path

import click

from ..options import directory_option, json_option
from .opening import skill_argument
from .switching import switch


@click.command(short_help="Do not offer a skill.")
@skill_argument
@directory_option
@json_option
def command(name: str, directory: Path, as_json: bool) -> None:
    """The agent is not offered the skill NAME and cannot read it. One of its name on a weaker shelf stays hidden."""
    said = f"disabled; take it back with `hermes skills enable {name}`"
    switch(name, directory, "enabled", said, on=False, as_json=as_json)
