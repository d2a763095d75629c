"""Changes one key of the configuration file and leaves every other character as the user wrote it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from ..types.errors import ConfigError, NotFound
from .load import config_path, load_settings, parse_settings
from .settings import Settings


def flat(settings: Settings) -> dict[str, Any]:
    """All settings as `section.key: value`."""
    rows: dict[str, Any] = {}
    for section, values in msgspec.to_builtins(settings).items():
        rows.update({f"{section}.{key}": value for key, value in values.items()})
    return rows


def get_value(home: Path, key: str) -> Any:
    """The value in force for a key."""
    return known_key(flat(load_settings(home)), key)


def known_key(rows: dict[str, Any], key: str) -> Any:
    """`rows[key]`, or an error that suggests the key that was meant."""
    if key in rows:
        return rows[key]
    import difflib

    close = difflib.get_close_matches(key, rows, n=1)
    hint = f"did you mean {close[0]}?" if close else "`hermes config show` lists every key"
    raise NotFound(f"there is no setting {key!r}", remedy=hint)


def set_value(home: Path, key: str, value: str) -> Path:
    """Write one setting. The new file is checked as a whole before it replaces the old one."""
    section, _, name = key.partition(".")
    if section != "permissions":
        known_key(flat(Settings()), key)
    path = config_path(home)
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    fresh = with_value(text, section, name, value)
    parse_settings(fresh, str(path))
    home.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    temporary.write_text(fresh, encoding="utf-8")
    temporary.replace(path)
    return path


def with_value(text: str, section: str, name: str, value: str) -> str:
    """The YAML text with `section.name` set to `value`, everything else as it stands."""
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise ConfigError(f"the file cannot be changed while it is not valid YAML: {error}") from error
    written = _scalar(value)
    if root is None:
        return f"{text.rstrip()}\n{section}:\n  {name}: {written}\n".lstrip("\n")
    for key, node in root.value:
        if key.value != section:
            continue
        if not isinstance(node, yaml.MappingNode):
            return _spliced(text, node, f"\n  {name}: {written}")
        for inner, old in node.value:
            if inner.value == name:
                return _spliced(text, old, written)
        first = node.value[0][0].start_mark
        if node.flow_style:
            return text[: first.index] + f"{name}: {written}, " + text[first.index :]
        return text[: first.index] + f"{name}: {written}\n{' ' * first.column}" + text[first.index :]
    return f"{text.rstrip()}\n{section}:\n  {name}: {written}\n"


def _spliced(text: str, node: Any, written: str) -> str:
    return text[: node.start_mark.index] + written + text[node.end_mark.index :]


def _scalar(value: str) -> str:
    """A value as YAML: numbers, booleans and plain words as they are, anything else quoted."""
    import yaml

    try:
        loaded = yaml.safe_load(value)
    except yaml.YAMLError:
        loaded = None
    if isinstance(loaded, bool | int | float) or (isinstance(loaded, str) and loaded == value):
        return value
    return msgspec.json.encode(value).decode()
