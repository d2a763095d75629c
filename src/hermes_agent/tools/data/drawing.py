"""Rows as a picture."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ...types.text import one_line
from .refusal import Refused
from .showing import Fetched

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BARS = 200
_SERIES = 20
_WITHOUT_X = ("hist", "box")


class Wish(NamedTuple):
    """What to draw: the kind, the column along the bottom, the columns to draw, and a title."""

    kind: str
    x: str
    y: tuple[str, ...]
    title: str


def draw(fetched: Fetched, wish: Wish, target: Path) -> str:
    """Draw to a PNG; returns what was drawn."""
    try:
        import matplotlib
        from matplotlib.figure import Figure
    except ImportError as error:
        raise Refused("missing", "drawing needs: pip install 'hermes-harness[data]'") from error
    if not fetched.rows:
        raise Refused("empty", "there are no rows to draw")
    x, names = _chosen(fetched, wish)
    if len(names) > _SERIES:
        raise Refused("too_many", f"{len(names)} columns are too many to draw; name at most {_SERIES} in y")
    series = {name: _numbers(fetched, name) for name in names}
    matplotlib.rcParams["text.parse_math"] = False
    figure = Figure(figsize=(9, 5.5), dpi=110, layout="constrained")
    axes = figure.subplots()
    _draw(axes, wish.kind, _column(fetched, x) if x else [], series)
    if x:
        axes.set_xlabel(one_line(x, 60))
    if len(names) == 1 and wish.kind != "hist":
        axes.set_ylabel(one_line(names[0], 60))
    if len(names) > 1 and wish.kind != "box":
        axes.legend()
    if wish.title:
        axes.set_title(one_line(wish.title, 120))
    axes.set_axisbelow(True)
    axes.grid(alpha=0.3)
    figure.savefig(target, format="png")
    return f"{wish.kind} of {', '.join(names)}" + (f" by {x}" if x else "") + f", {len(fetched.rows)} rows"


def _chosen(fetched: Fetched, wish: Wish) -> tuple[str, list[str]]:
    """The columns to draw: those that were named, else the first one along the bottom and all numbers beside it."""
    for name in (*([wish.x] if wish.x else []), *wish.y):
        if name not in fetched.columns:
            known = ", ".join(fetched.columns[:30])
            raise Refused("not_found", f"there is no column {name!r}; there are: {known}")
    x = "" if wish.kind in _WITHOUT_X else wish.x or fetched.columns[0]
    numeric = [name for name in fetched.columns if name != x and _is_numeric(fetched, name)]
    names = list(wish.y) or numeric
    if not names:
        raise Refused("not_numeric", "there is no column of numbers to draw; cast one in SQL")
    return x, names


def _column(fetched: Fetched, name: str) -> list[Any]:
    place = fetched.columns.index(name)
    return [row[place] for row in fetched.rows]


def _is_numeric(fetched: Fetched, name: str) -> bool:
    values = [value for value in _column(fetched, name) if value is not None]
    return bool(values) and all(isinstance(value, int | float | decimal.Decimal) for value in values)


def _numbers(fetched: Fetched, name: str) -> list[float]:
    if not _is_numeric(fetched, name):
        raise Refused("not_numeric", f"the column {name!r} does not hold numbers; cast it in SQL")
    return [float("nan") if value is None else float(value) for value in _column(fetched, name)]


def _along(values: Sequence[Any]) -> list[Any]:
    """Values that can be placed along an axis: numbers and times as they are, everything else as text."""
    orders = (int, float, decimal.Decimal, datetime.date)
    if all(isinstance(value, orders) and not isinstance(value, bool) for value in values):
        return [float(value) if isinstance(value, decimal.Decimal) else value for value in values]
    return [one_line(str(value), 40) for value in values]


def _draw(axes: Axes, kind: str, along: Sequence[Any], series: dict[str, list[float]]) -> None:
    names = {name: one_line(name, 40) for name in series}
    match kind:
        case "line":
            for name, values in series.items():
                axes.plot(_along(along), values, label=names[name])
        case "scatter":
            for name, values in series.items():
                axes.scatter(_along(along), values, s=14, alpha=0.7, label=names[name])
        case "area":
            axes.stackplot(_along(along), *series.values(), labels=list(names.values()), alpha=0.8)
        case "hist":
            for name, values in series.items():
                axes.hist([one for one in values if one == one], bins=30, alpha=0.7, label=names[name])
            axes.set_xlabel(", ".join(names.values()))
        case "box":
            axes.boxplot([[one for one in values if one == one] for values in series.values()])
            axes.set_xticks(range(1, len(names) + 1), list(names.values()))
        case _:
            _bars(axes, along, {names[name]: values for name, values in series.items()})


def _bars(axes: Axes, along: Sequence[Any], series: dict[str, list[float]]) -> None:
    if len(along) > _BARS:
        raise Refused("too_many", f"{len(along)} bars are too many; group in SQL, or LIMIT {_BARS}")
    width = 0.8 / len(series)
    for number, (name, values) in enumerate(series.items()):
        shift = (number - (len(series) - 1) / 2) * width
        axes.bar([place + shift for place in range(len(along))], values, width, label=name)
    labels = [one_line(str(value), 30) for value in along]
    turned = 60 if max(map(len, labels)) * len(labels) > 90 else 0
    axes.set_xticks(range(len(labels)), labels, rotation=turned, ha="right" if turned else "center")
