"""Reads the environment and the configuration file, once. No other module touches the environment."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..types.base import Value
from ..types.errors import ConfigError
from ..types.tools import Capability
from .settings import Group, Settings

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_LARGEST = 1 << 20
_DEEPEST = 16
_ACCESS = re.compile(r"(_API_KEY|_BASE_URL|_CACHE_TTL|_AUTH_FILE)$|^AWS_")
_PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")
_FOR_BACK_ENDS = ("SSH_AUTH_SOCK", "DOCKER_HOST", "DOCKER_CONTEXT", "CONTAINER_HOST", "XDG_RUNTIME_DIR")


class Environment(Value, frozen=True, kw_only=True):
    """What we take from the environment, read in one place. `access` is what providers' keys and addresses are in."""

    home: Path
    user_home: Path = Path("/")
    model: str = ""
    access: dict[str, str] = {}
    colour: bool = True
    secrets: tuple[str, ...] = ()
    passed_on: dict[str, str] = {}


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """The environment as a value. `passed_on` is all that sandboxes get: commands see less, for the programs that reach
    a container engine or another host need to be told where it is."""
    variables = os.environ if variables is None else variables
    home = variables.get("HERMES_HOME") or str(Path.home() / ".hermes")
    return Environment(
        home=Path(home).expanduser(),
        user_home=Path(variables.get("HOME") or Path.home()),
        model=variables.get("HERMES_MODEL", ""),
        access={name: value for name, value in variables.items() if _ACCESS.search(name)},
        colour=not variables.get("NO_COLOR"),
        secrets=tuple(value for name, value in variables.items() if len(value) >= 8 and _SECRET_NAME.search(name)),
        passed_on={name: variables[name] for name in (*_PASSED_ON, *_FOR_BACK_ENDS) if name in variables},
    )


def config_path(home: Path) -> Path:
    """The configuration file."""
    return home / "config.yaml"


def load_settings(home: Path) -> Settings:
    """The configuration under `home`; the defaults where there is no file."""
    path = config_path(home)
    text = read_config(path)
    return Settings() if text is None else parse_settings(text, str(path))


def read_config(path: Path) -> str | None:
    """The text of a configuration file with its line ends as they are; None when there is no file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    if len(data) > _LARGEST:
        raise ConfigError(f"{path}: the file is larger than {_LARGEST} bytes")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise ConfigError(f"{path}: line {line}, column {column}: not UTF-8 text") from error


def parse_settings(text: str, where: str) -> Settings:
    """Settings from YAML text. Errors name the place and, for an unknown key, what was probably meant."""
    data = _with_switches_as_words(_without_empty(parse_yaml(text, where)))
    _refuse_unknown(data, Settings, where, "")
    try:
        return msgspec.convert(_with_default_permissions(data), Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_readable(str(error))}") from error


def _with_switches_as_words(data: dict[str, Any]) -> dict[str, Any]:
    """YAML reads a bare `on` or `off` as a truth value; where a setting has these words, they are what was written."""
    groups = {"learning": "mode", "skills": "mode", "memory": "mode", "review": "mode", "runtime": "resume"}
    words = {True: "on", False: "off"}
    return {
        name: {**group, groups[name]: words[group[groups[name]]]}
        if name in groups and isinstance(group, dict) and isinstance(group.get(groups[name]), bool)
        else group
        for name, group in data.items()
    }


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """A YAML mapping. Aliases are refused, because they make small files huge, and so is deep nesting."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_bombs(yaml.scan(text, Loader=loader), where)
        data = yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" line {mark.line + 1}, column {mark.column + 1}:" if mark else ""
        raise ConfigError(f"{where}:{place} {error.problem or error.context}") from error
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise ConfigError(f"{where}: line {line}, column {column}: {error.reason}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: {str(error).splitlines()[0] if str(error) else 'not valid YAML'}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: the file must be a mapping of sections, not a {type(data).__name__}")
    return data


def _refuse_bombs(tokens: Iterable[Any], where: str) -> None:
    import yaml

    opening = (
        yaml.FlowSequenceStartToken,
        yaml.FlowMappingStartToken,
        yaml.BlockSequenceStartToken,
        yaml.BlockMappingStartToken,
    )
    closing = (yaml.FlowSequenceEndToken, yaml.FlowMappingEndToken, yaml.BlockEndToken)
    depth = 0
    for token in tokens:
        place = f"{where}: line {token.start_mark.line + 1}, column {token.start_mark.column + 1}"
        if isinstance(token, yaml.AliasToken):
            raise ConfigError(f"{place}: YAML aliases (*name) are not allowed")
        depth += isinstance(token, opening) - isinstance(token, closing)
        if depth > _DEEPEST:
            raise ConfigError(f"{place}: nested too deeply")


def _without_empty(data: dict[str, Any]) -> dict[str, Any]:
    """A key with nothing behind it is as good as none: its default holds."""
    return {
        key: _without_empty(value) if isinstance(value, dict) else value
        for key, value in data.items()
        if value is not None
    }


def _with_default_permissions(data: dict[str, Any]) -> dict[str, Any]:
    """Permissions that are not named keep their defaults."""
    given = data.get("permissions")
    if not isinstance(given, dict):
        return data
    defaults = {capability.value: verdict.value for capability, verdict in Settings().permissions.items()}
    return {**data, "permissions": {**defaults, **given}}


def _refuse_unknown(data: Mapping[Any, Any], kind: type[Group], where: str, path: str) -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    _refuse_strangers(data, list(fields), where, path)
    for key, value in data.items():
        section = fields[key]
        if isinstance(section, type) and issubclass(section, Group) and isinstance(value, dict):
            _refuse_unknown(value, section, where, f"{path}{key}.")
        elif key == "permissions" and isinstance(value, dict):
            _refuse_strangers(value, [capability.value for capability in Capability], where, f"{path}{key}.")


def _refuse_strangers(data: Mapping[Any, Any], known: list[str], where: str, path: str) -> None:
    for key in data:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {path}{close[0]}?" if close else f"known are: {', '.join(known)}"
            raise ConfigError(f"{where}: unknown key {path}{key}; {hint}")


def _readable(message: str) -> str:
    """msgspec's error with our way to name a place."""
    text, _, place = message.partition(" - at `")
    place = place.rstrip("`").removeprefix("$.").replace("[...]", "")
    return f"{place}: {text}" if place else text
