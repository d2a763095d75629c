"""`hermes skills pin`."""

from __future__ import annotations

from pathlib import Path

import click

from ..options import directory_option, json_option
from .opening import skill_argument
from .switching import switch


@click.command(short_help="Keep agents and the curator from changing a skill.")
@skill_argument
@directory_option
@json_option
def command(name: str, directory: Path, as_json: bool) -> None:
    """Agents, the background review and the curator do not change the skill NAME. You still can."""
    said = f"pinned; take it back with `hermes skills unpin {name}`"
    switch(name, directory, "pinned", said, on=True, as_json=as_json)
