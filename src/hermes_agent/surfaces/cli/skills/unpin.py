"""`hermes skills unpin`."""

from __future__ import annotations

from pathlib import Path

import click

from ..options import directory_option, json_option
from .opening import skill_argument
from .switching import switch


@click.command(short_help="Let agents change a skill again.")
@skill_argument
@directory_option
@json_option
def command(name: str, directory: Path, as_json: bool) -> None:
    """Agents, the background review and the curator may change the skill NAME again."""
    said = f"not pinned; pin it again with `hermes skills pin {name}`"
    switch(name, directory, "pinned", said, on=False, as_json=as_json)
