"""Changes one key of the configuration file and leaves every other character as the user wrote it."""

from __future__ import annotations

import fcntl
import math
import os
import re
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from ..types.errors import ConfigError, NotFound, StoreUnwritable, UsageError
from ..types.tools import Capability
from .load import config_path, load_settings, parse_settings, parse_yaml, read_config
from .settings import Settings

Scalar = str | int | float | bool
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*(:[A-Za-z0-9_./-]+)*")
_BY_HAND = "`hermes config path` names the file; change it with an editor"


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
    permissions = {f"permissions.{capability.value}": "" for capability in Capability}
    known_key({**flat(Settings()), **permissions}, key)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with _alone(home):
            path = config_path(home).resolve()
            _replace(path, _checked(read_config(path) or "", section, name, value, str(path)))
    except OSError as error:
        raise StoreUnwritable(f"cannot write to {home}: {error.strerror or error}") from error
    return path


def with_value(text: str, section: str, name: str, value: Scalar) -> str:
    """The YAML text with `section.name` set to `value`, everything else as it stands.

    The result is read back: a file in which nothing but this value would change is returned, or an error raised.
    """
    wanted = _changed(parse_yaml(text, "the file"), section, name, value)
    for written in dict.fromkeys((plain(value), quoted(str(value)))):
        fresh = _spliced(text, section, name, written)
        try:
            if parse_yaml(fresh, "the file") == wanted:
                return fresh
        except ConfigError:
            continue
    raise ConfigError(f"{section}.{name} cannot be changed safely in this file", remedy=_BY_HAND)


def plain(value: Scalar) -> str:
    """A value as YAML, without quotes where it needs none."""
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            mantissa, mark, exponent = repr(value).partition("e")
            return mantissa if not mark else f"{mantissa if '.' in mantissa else mantissa + '.0'}e{exponent}"
        case str():
            return value if _PLAIN.fullmatch(value) else quoted(value)


def quoted(value: str) -> str:
    """A YAML string in double quotes; what does not print, or breaks lines, is escaped."""
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if char == " " or (char.isprintable() and not char.isspace() and char != "\ufeff"):
        return char
    return f"\\U{ord(char):08x}"


def _changed(data: dict[str, Any], section: str, name: str, value: Scalar) -> dict[str, Any]:
    inside = data.get(section)
    return {**data, section: {**(inside if isinstance(inside, dict) else {}), name: value}}


def _spliced(text: str, section: str, name: str, written: str) -> str:
    """The text with the value put where it belongs: in place of an old one, first in its section, or last of all."""
    import yaml

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    line = "\r\n" if "\r\n" in text else "\n"
    if not isinstance(root, yaml.MappingNode):
        return f"{text}{'' if not text or text.endswith(line) else line}{section}:{line}  {name}: {written}{line}"
    for key, node in root.value:
        if key.value == section:
            return _in_section(text, key, node, f"{name}: {written}", name, written, line)
    if root.flow_style:
        return _in_flow(text, root, f"{section}: {{{name}: {written}}}")
    margin = " " * root.start_mark.column
    body, rest = text[: root.end_mark.index], text[root.end_mark.index :]
    body += "" if body.endswith("\n") else line
    if not rest.strip():
        body, rest = body + rest, ""
    return f"{body}{margin}{section}:{line}{margin}  {name}: {written}{line}{rest}"


def _in_section(text: str, key: Any, node: Any, entry: str, name: str, written: str, line: str) -> str:
    import yaml

    if not isinstance(node, yaml.MappingNode):
        return _in_place(text, node, f"{line}{' ' * (key.start_mark.column + 2)}{entry}", "")
    for inner, old in node.value:
        if inner.value == name:
            return _in_place(text, old, written, " ")
    if node.flow_style:
        return _in_flow(text, node, entry)
    first = node.value[0][0].start_mark
    return text[: first.index] + f"{entry}{line}{' ' * first.column}" + text[first.index :]


def _in_place(text: str, node: Any, written: str, gap: str) -> str:
    """Replace a node. An empty one stands right behind its colon; a block of lines takes its last line end along."""
    start, end = node.start_mark.index, node.end_mark.index
    before = gap if start == end else ""
    behind = "\n" if text[start:end].endswith("\n") else ""
    return text[:start] + before + written + behind + text[end:]


def _in_flow(text: str, node: Any, entry: str) -> str:
    inside = node.start_mark.index + 1
    return text[:inside] + entry + (", " if node.value else "") + text[inside:]


def _checked(text: str, section: str, name: str, value: str, where: str) -> str:
    """The changed text, with the value read as whatever fits the setting: a number, a switch, or text."""
    parse_settings(text, where)
    problem: ConfigError | None = None
    for candidate in _readings(value):
        fresh = with_value(text, section, name, candidate)
        try:
            parse_settings(fresh, where)
            return fresh
        except ConfigError as error:
            problem = problem or error
    reason = str(problem).removeprefix(f"{where}: ").removeprefix(f"{section}.{name}: ")
    raise UsageError(
        f"{value!r} does not fit {section}.{name}: {reason}", remedy="`hermes config show` lists every value in force"
    )


def _readings(value: str) -> list[Scalar]:
    """What a word of the command line may mean, most likely first."""
    if any(unicodedata.category(char) == "Cs" for char in value):
        raise UsageError("the value is not UTF-8 text")
    readings: list[Scalar] = []
    for read in (int, float):
        with suppress(ValueError):
            number = read(value)
            if math.isfinite(number):
                readings.append(number)
    if value in ("true", "false"):
        readings.append(value == "true")
    return [*readings, value]


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """One change at a time: two at once would lose one of them."""
    folder = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _replace(path: Path, text: str) -> None:
    """Write the file whole or not at all, readable by whom the old one was."""
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with open(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
