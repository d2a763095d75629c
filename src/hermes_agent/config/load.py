"""Reads the environment and the configuration file, once. No other module touches the environment."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from ..types.base import Value
from ..types.errors import ConfigError
from .settings import Group, Settings

_SECRET_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)
_PASSED_ON = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ", "TMPDIR")


class Environment(Value, frozen=True, kw_only=True):
    """What we take from the environment, read in one place."""

    home: Path
    model: str = ""
    openai_base_url: str = ""
    openai_api_key: str = ""
    colour: bool = True
    secrets: tuple[str, ...] = ()
    passed_on: dict[str, str] = {}


def read_environment(variables: Mapping[str, str] | None = None) -> Environment:
    """The environment as a value. `passed_on` is all that commands of the agent get to see."""
    variables = os.environ if variables is None else variables
    home = variables.get("HERMES_HOME") or str(Path.home() / ".hermes")
    return Environment(
        home=Path(home).expanduser(),
        model=variables.get("HERMES_MODEL", ""),
        openai_base_url=variables.get("OPENAI_BASE_URL", ""),
        openai_api_key=variables.get("OPENAI_API_KEY", ""),
        colour=not variables.get("NO_COLOR"),
        secrets=tuple(value for name, value in variables.items() if len(value) >= 8 and _SECRET_NAME.search(name)),
        passed_on={name: variables[name] for name in _PASSED_ON if name in variables},
    )


def config_path(home: Path) -> Path:
    """The configuration file."""
    return home / "config.yaml"


def load_settings(home: Path) -> Settings:
    """The configuration under `home`; the defaults where there is no file."""
    path = config_path(home)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Settings()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read {path}: {error}") from error
    return parse_settings(text, str(path))


def parse_settings(text: str, where: str) -> Settings:
    """Settings from YAML text. Errors name the place and, for an unknown key, what was probably meant."""
    data = parse_yaml(text, where)
    _refuse_unknown(data, Settings, where, "")
    try:
        return msgspec.convert(_with_default_permissions(data), Settings)
    except msgspec.ValidationError as error:
        raise ConfigError(f"{where}: {_readable(str(error))}") from error


def parse_yaml(text: str, where: str) -> dict[str, Any]:
    """A YAML mapping. Aliases are refused: they make small files huge."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=loader)):
            raise ConfigError(f"{where}: YAML aliases (*name) are not allowed")
        data = yaml.load(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f" line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigError(f"{where}:{place}: {error.problem or error.context}") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{where}: {str(error).splitlines()[0] if str(error) else 'not valid YAML'}") from error
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise ConfigError(f"{where}: the file must be a mapping of sections, not a {type(data).__name__}")
    return data


def _with_default_permissions(data: dict[str, Any]) -> dict[str, Any]:
    """Permissions that are not named keep their defaults."""
    given = data.get("permissions")
    if not isinstance(given, dict):
        return data
    defaults = {capability.value: verdict.value for capability, verdict in Settings().permissions.items()}
    return {**data, "permissions": {**defaults, **given}}


def _refuse_unknown(data: Mapping[str, Any], kind: type[Group], where: str, path: str) -> None:
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    for key, value in data.items():
        if key not in fields:
            close = difflib.get_close_matches(str(key), fields, n=1)
            hint = f"; did you mean {path}{close[0]}?" if close else f"; known are: {', '.join(fields)}"
            raise ConfigError(f"{where}: unknown key {path}{key}{hint}")
        section = fields[key]
        if isinstance(section, type) and issubclass(section, Group) and isinstance(value, dict):
            _refuse_unknown(value, section, where, f"{path}{key}.")


def _readable(message: str) -> str:
    """msgspec's error with our way to name a place."""
    text, _, place = message.partition(" - at `")
    place = place.rstrip("`").removeprefix("key in ").removeprefix("$.").removeprefix("`$.")
    return f"{place}: {text}" if place else text
