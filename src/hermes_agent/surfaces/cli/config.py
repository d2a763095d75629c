"""`hermes config`: show and change settings."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from ...config.edit import flat, get_value, set_value
from ...config.load import config_path, load_settings, read_environment
from ...config.settings import Settings
from ...types.errors import HermesError
from .console import Console, print_json
from .options import json_option
from .privacy import without_password


@click.group(short_help="Show and change settings.")
def command() -> None:
    """Settings are in config.yaml under HERMES_HOME. Keys are written as section.key, such as model.name."""


@command.command()
@json_option
def show(as_json: bool) -> None:
    """Every setting with the value in force."""
    settings = load_settings(read_environment().home)
    values = {key: without_password(value) if key == "store.url" else value for key, value in flat(settings).items()}
    if as_json:
        print_json(values)
        return
    defaults = flat(Settings())
    console = Console()
    width = max(map(len, values))
    for key, value in values.items():
        mark = "" if value == defaults.get(key) else "   # set in the file"
        console.say(f"{key.ljust(width)}  {_shown(value)}{mark}")


@command.command()
@click.argument("key")
@json_option
def get(key: str, as_json: bool) -> None:
    """The value in force for KEY."""
    value = get_value(read_environment().home, key)
    if as_json:
        print_json({"key": key, "value": value})
    else:
        Console().say(value if isinstance(value, str) else _shown(value))


@command.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("key")
@click.argument("value")
@json_option
def set_(key: str, value: str, as_json: bool) -> None:
    """Set KEY to VALUE. Comments and everything else in the file stay as they are."""
    home = read_environment().home
    path = set_value(home, key, value)
    if as_json:
        print_json({"key": key, "value": get_value(home, key), "path": str(path)})
    else:
        Console().note(f"{key} is now {without_password(_shown(get_value(home, key)))} in {path}")


@command.command()
@json_option
def path(as_json: bool) -> None:
    """Where the configuration file is."""
    found = config_path(read_environment().home)
    if as_json:
        print_json({"path": str(found), "exists": found.exists()})
    else:
        Console().say(str(found))


@command.command()
def edit() -> None:
    """Open the file in your editor, and check it afterwards."""
    home = read_environment().home
    file = config_path(home)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not file.exists():
            file.touch(mode=0o600)
        click.edit(filename=str(file))
    except OSError as error:
        raise HermesError(
            f"cannot edit {file}: {error.strerror or error}", remedy="make the folder writable"
        ) from error
    load_settings(home)
    Console().note(f"{file} is valid", "green")


def _shown(value: Any) -> str:
    return msgspec.json.encode(value).decode()
