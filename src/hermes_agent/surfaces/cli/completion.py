"""`hermes completion`: the script that teaches a shell our commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ...types.errors import UsageError


@click.command(short_help="Print the completion script for a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL on stdout.

    \b
    bash: add to ~/.bashrc  eval "$(hermes completion bash)"
    zsh:  add to ~/.zshrc   eval "$(hermes completion zsh)"
    fish: hermes completion fish > ~/.config/fish/completions/hermes.fish
    """
    made = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    if made is None:
        raise UsageError(f"there is no completion for {shell}")
    click.echo(made(root, {}, "hermes", "_HERMES_COMPLETE").source())
