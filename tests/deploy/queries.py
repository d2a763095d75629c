"""Prometheus queries taken apart by a real parser, and the page they must fit."""

import asyncio
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import promql_parser

from hermes_agent.runtime.figures import ALL_HELP
from tests.observability.worked import figures, worked

TARGET_LABELS = frozenset({"job", "instance"})


@cache
def exported() -> dict[str, frozenset[str]]:
    """Every metric that is really exported, with the labels of its samples."""
    with tempfile.TemporaryDirectory() as folder:
        store = worked("", Path(folder))
        metrics = asyncio.run(figures(store).collect())
        store.close()
    found = {metric.name: frozenset(label for one in metric.samples for label in one.labels) for metric in metrics}
    assert set(found) == set(ALL_HELP)
    return found


def nodes(query: Any) -> Iterator[Any]:
    """A query and everything inside it."""
    yield query
    for name in ("lhs", "rhs", "expr", "param", "vector_selector"):
        inner = getattr(query, name, None)
        if inner is not None and not isinstance(inner, str):
            yield from nodes(inner)
    for argument in getattr(query, "args", None) or ():
        yield from nodes(argument)


def names_in(text: str) -> set[str]:
    """The metrics that a query reads."""
    found = nodes(promql_parser.parse(text))
    return {str(node.name) for node in found if isinstance(node, promql_parser.VectorSelector)}


def problems(text: str) -> list[str]:
    """What is wrong with a query: metrics that are not exported, labels that they do not have, rates of gauges."""
    found: list[str] = []
    query = promql_parser.parse(text)
    read = sorted(names_in(text))
    for name in read:
        if name not in exported():
            found.append(f"{name} is not exported")
    known = frozenset(label for name in read for label in exported().get(name, ())) | TARGET_LABELS
    for node in nodes(query):
        if isinstance(node, promql_parser.VectorSelector):
            labels = exported().get(str(node.name), frozenset()) | TARGET_LABELS
            found += [
                f"{node.name} has no label {one.name}" for one in node.matchers.matchers if one.name not in labels
            ]
        elif isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            found += [f"nothing is labelled {one}" for one in node.modifier.labels if one not in known]
        elif isinstance(node, promql_parser.Call) and node.func.name in ("rate", "increase"):
            inner = node.args[0].vector_selector.name
            found += [] if inner.endswith("_total") else [f"{node.func.name} of {inner}, which is no counter"]
    return found
