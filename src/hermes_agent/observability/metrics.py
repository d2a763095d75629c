"""The text format in which Prometheus reads figures (version 0.0.4), rendered without a library."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from ..types.base import Value
from ..types.text import clean

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_NAME = re.compile(r"[a-zA-Z_:][a-zA-Z0-9_:]*\Z")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*\Z")


class MetricType(StrEnum):
    """What a figure is: one that goes up and down, or one that only rises."""

    GAUGE = "gauge"
    COUNTER = "counter"


class Sample(Value, frozen=True, kw_only=True):
    """One value with its labels."""

    value: float
    labels: dict[str, str] = {}


class Metric(Value, frozen=True, kw_only=True):
    """A named figure with all its samples. One without samples is still announced, so that dashboards know it."""

    name: str
    type: MetricType
    help: str
    samples: tuple[Sample, ...] = ()


def render(metrics: Iterable[Metric]) -> str:
    """Metrics as one page. Raises ValueError for a name that the format cannot carry, and for one that comes twice."""
    lines: list[str] = []
    seen: set[str] = set()
    for metric in metrics:
        if not _NAME.match(metric.name) or metric.name in seen:
            raise ValueError(f"{metric.name!r} is no name for a metric, or was used before")
        if metric.type is MetricType.COUNTER and not metric.name.endswith("_total"):
            raise ValueError(f"the counter {metric.name!r} must end in _total")
        seen.add(metric.name)
        lines.append(f"# HELP {metric.name} {_escaped(metric.help)}")
        lines.append(f"# TYPE {metric.name} {metric.type.value}")
        lines += _samples(metric)
    return "".join(f"{line}\n" for line in lines)


def _samples(metric: Metric) -> list[str]:
    rendered: dict[str, str] = {}
    for sample in metric.samples:
        labels = _labels(sample.labels)
        if labels in rendered:
            raise ValueError(f"{metric.name}{labels} has two values")
        rendered[labels] = _number(sample.value)
    return [f"{metric.name}{labels} {value}" for labels, value in sorted(rendered.items())]


def _labels(labels: Mapping[str, str]) -> str:
    for name in labels:
        if not _LABEL.match(name):
            raise ValueError(f"{name!r} is no name for a label")
    parts = [
        f'{name}="{_escaped(value).replace(chr(34), chr(92) + chr(34))}"' for name, value in sorted(labels.items())
    ]
    return "{" + ",".join(parts) + "}" if parts else ""


def _escaped(text: str) -> str:
    """Line breaks and backslashes in a way that keeps one sample on one line."""
    flat = clean(text).replace("\x00", " ").replace("\r", " ")
    return flat.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(float(value))
