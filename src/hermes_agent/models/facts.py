"""What is known about models: how much they read and write, what they cost, what they can do.

The facts are data: `facts.json` beside this file, and `models.yaml` in the home, which extends and overrides it and
also holds aliases. A name stands for the model of that name and for those whose names go on behind a mark (`gpt-x` for
`gpt-x-mini`, not for `gpt-x2`); the longest name wins. A model nobody knows gets cautious facts and no price.

Our own prices are used with care, because hard limits are computed from them: only at the providers that sell at them,
and only for the name itself and its dated versions. A later `gpt-x-pro` is not priced as `gpt-x` is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ..config.load import parse_yaml, read_config
from ..types.base import Value
from ..types.effort import Effort
from ..types.errors import ConfigError
from ..types.events import Usage
from .catalog import split_name

T = TypeVar("T")
Tokens = Annotated[int, msgspec.Meta(ge=1)]
Usd = Annotated[float, msgspec.Meta(ge=0, le=1e6)]

_PRICES = ("input_usd", "output_usd", "cached_usd", "as_of")
_MARKS = "-:@/+"
_VERSION = re.compile(r"(-latest|-0|[-@]\d{4}-\d{2}-\d{2}|[-@]\d{3,8})?(-v\d+(:\d+)?)?")
_BEDROCK_VENDOR = re.compile(r"^(?:[a-z][a-z-]*\.)+")


class ModelFacts(Value, frozen=True, kw_only=True):
    """The facts about one model. Prices are in US dollars for a million tokens; None is an unknown price.

    `context_window` is what a request and its answer may have together. `efforts` are the levels the model itself
    tells apart. `as_of` is when the price was looked up.
    """

    context_window: int = 32_768
    max_output: int = 4_096
    input_usd: float | None = None
    output_usd: float | None = None
    cached_usd: float | None = None
    efforts: tuple[Effort, ...] = ()
    vision: bool = False
    tools: bool = True
    as_of: str = ""


class _Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a table says about a name. What it leaves out holds as before."""

    context_window: Tokens | UnsetType = UNSET
    max_output: Tokens | UnsetType = UNSET
    input_usd: Usd | UnsetType = UNSET
    output_usd: Usd | UnsetType = UNSET
    cached_usd: Usd | UnsetType = UNSET
    efforts: tuple[Effort, ...] | UnsetType = UNSET
    vision: bool | UnsetType = UNSET
    tools: bool | UnsetType = UNSET
    as_of: str | UnsetType = UNSET


class _BuiltinRow(_Row, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A row of ours. `sold_by` are the providers at which its price holds; none for what costs nothing anywhere."""

    sold_by: tuple[str, ...] = ()


class UserModels(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The user's own file: facts by name, and other names for models."""

    models: dict[str, _Row] = {}
    aliases: dict[str, str] = {}


def models_path(home: Path) -> Path:
    """The user's file of facts and aliases."""
    return home / "models.yaml"


def facts_for(name: str, home: Path) -> ModelFacts:
    """The facts about `provider:model`: cautious ones, then ours, then the user's."""
    spelt = _spelt(name)
    ours = _longest(_builtin(), spelt)
    known = _ours(ours, spelt) if ours else {}
    table = user_models(home).models
    own = _longest(table, spelt)
    return ModelFacts(**(_overridden(known, _given(table[own])) if own else known))


def known_models(home: Path) -> dict[str, ModelFacts]:
    """Every model that a table names, by the name to ask for it, in the order of the tables."""
    written = [f"{row.sold_by[0]}:{key}" if row.sold_by else key for key, row in _builtin().items()]
    own = user_models(home).models
    names = dict.fromkeys([*written, *(key for key in own if ":" in key)])
    return {name: facts_for(name, home) for name in names if not name.endswith(":")}


def cost_usd(facts: ModelFacts, usage: Usage) -> float | None:
    """What a call costs, or None when its price is not known.

    Cached input without a price of its own is charged as any other input: never too little.
    """
    if facts.input_usd is None or facts.output_usd is None:
        return None
    cached_usd = facts.input_usd if facts.cached_usd is None else facts.cached_usd
    cached = min(usage.cached, usage.input)
    fresh = usage.input - cached
    return (fresh * facts.input_usd + cached * cached_usd + usage.output * facts.output_usd) / 1_000_000


def aliases(home: Path) -> dict[str, str]:
    """Other names for models, as the user wrote them."""
    return dict(user_models(home).aliases)


def resolve(name: str, home: Path) -> str:
    """The model name behind an alias, through as many aliases as it takes; any other name as it is."""
    known = user_models(home).aliases
    seen = [name]
    while name in known:
        name = known[name]
        if name in seen:
            raise ConfigError(
                f"{models_path(home)}: the aliases {' → '.join([*seen, name])} lead in a circle",
                remedy="let one of them name a model, such as openai:NAME",
            )
        seen.append(name)
    return name


def user_models(home: Path) -> UserModels:
    """The user's file; empty where there is none. Read again only after it changed."""
    path = models_path(home)
    try:
        found = path.stat()
    except FileNotFoundError:
        return UserModels()
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror or error}") from error
    return _read(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=8)
def _read(path: Path, changed: int, size: int) -> UserModels:
    return parse_models(read_config(path) or "", str(path))


def parse_models(text: str, where: str) -> UserModels:
    """The user's file from its text. Errors name the place and, for an unknown key, what was probably meant."""
    data = _without_empty(parse_yaml(text, where))
    _refuse_strangers(data, msgspec.structs.fields(UserModels), where, "")
    rows = data.get("models")
    if isinstance(rows, dict):
        for name, row in rows.items():
            if isinstance(row, dict):
                _refuse_strangers(row, msgspec.structs.fields(_Row), where, f"models.{name}.")
            _refuse_half_price(_converted(row, _Row, where, f"models.{name}"), where, f"models.{name}")
    return _converted(data, UserModels, where, "")


def _refuse_half_price(row: _Row, where: str, path: str) -> None:
    """A limit in money is computed from prices, so half of one is none at all."""
    given = [name for name in _PRICES[:3] if getattr(row, name) is not UNSET]
    if given and not {"input_usd", "output_usd"} <= set(given):
        raise ConfigError(
            f"{where}: {path}: {given[0]} alone is no price", remedy="give input_usd and output_usd together"
        )


def _converted(data: Any, kind: type[T], where: str, path: str) -> T:
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        said, _, place = str(error).partition(" - at `")
        inside = place.rstrip("`").removeprefix("$").replace("[...]", "")
        places = ": ".join(part for part in (where, f"{path}{inside}".lstrip("."), said) if part)
        raise ConfigError(places, remedy=_remedy(where)) from error


def _remedy(where: str) -> str:
    return f"correct {where}; under models: each name has facts such as context_window and input_usd"


def _refuse_strangers(
    data: Mapping[Any, Any], fields: Iterable[msgspec.structs.FieldInfo], where: str, path: str
) -> None:
    known = [field.name for field in fields]
    for key in data:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f"did you mean {path}{close[0]}?" if close else f"known are: {', '.join(known)}"
            raise ConfigError(f"{where}: unknown key {path}{key}; {hint}", remedy=_remedy(where))


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_empty(item) for key, item in value.items() if item is not None}


@cache
def _builtin() -> dict[str, _BuiltinRow]:
    return msgspec.json.decode(Path(__file__).with_suffix(".json").read_bytes(), type=dict[str, _BuiltinRow])


class _Spelt(Value, frozen=True, kw_only=True):
    """The ways a table may write a model: `full` is `provider:model`, `short` without the provider."""

    provider: str
    full: str
    short: tuple[str, ...]

    def rests(self, key: str) -> list[str]:
        """What follows behind `key`, in each spelling that `key` stands for. A key with a colon names a provider."""
        spellings = (self.full,) if ":" in key else self.short
        rests = [spelling[len(key) :] for spelling in spellings if spelling.startswith(key)]
        return [rest for rest in rests if not rest or key[-1] in _MARKS or rest[0] in _MARKS]


def _spelt(name: str) -> _Spelt:
    provider, model = split_name(name)
    bare = model.rpartition("/")[2]
    if provider == "bedrock":
        bare = _BEDROCK_VENDOR.sub("", bare)
    if bare.startswith("claude"):
        bare = bare.replace(".", "-")
    return _Spelt(provider=provider, full=f"{provider}:{model}", short=tuple(filter(None, (model, bare))))


def _longest(table: Mapping[str, Any], spelt: _Spelt) -> str:
    return max((key for key in table if key and spelt.rests(key)), key=len, default="")


def _ours(key: str, spelt: _Spelt) -> dict[str, Any]:
    row = _builtin()[key]
    facts = _given(row)
    dated = any(_VERSION.fullmatch(rest) for rest in spelt.rests(key))
    if row.sold_by and not (spelt.provider in row.sold_by and dated):
        facts = {name: value for name, value in facts.items() if name not in _PRICES}
    return facts


def _given(row: _Row) -> dict[str, Any]:
    fields = (field.name for field in msgspec.structs.fields(_Row))
    return {name: value for name in fields if (value := getattr(row, name)) is not UNSET}


def _overridden(known: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    """The user's facts over ours. Their price replaces all of ours, its date and the price of cached input too."""
    if "input_usd" in own:
        known = {name: value for name, value in known.items() if name not in _PRICES}
    return {**known, **own}
