"""Evidence and heuristics in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ....store.heuristics import EVERY_FAMILY, Heuristic


def evidence_in_words(evidence: Mapping[str, Any]) -> str:
    """What is known, as a person would say it; keys without a phrase of their own are shown as they are."""
    rest = dict(evidence)
    said = []
    worked, failed = rest.pop("worked", None), rest.pop("failed", None)
    if isinstance(worked, int) and isinstance(failed, int):
        said.append(
            f"failed {failed} of {worked + failed}" if failed >= worked else f"worked {worked} of {worked + failed}"
        )
    else:
        said += [
            f"{key} {number(value)}" for key, value in (("worked", worked), ("failed", failed)) if value is not None
        ]
    effect = rest.pop("effect", None)
    if isinstance(effect, int | float):
        said.append(f"success {100 * effect:+.0f} points with it")
    said += [f"{key.replace('_', ' ')} {number(value)}" for key, value in rest.items() if value is not None]
    return ", ".join(said) or "none yet"


def number(value: Any) -> str:
    """A value of any kind, short."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, list | tuple):
        return " ".join(number(part) for part in value)
    return str(value)


def where(heuristic: Heuristic, names: Mapping[str, str]) -> str:
    """The family it holds in, and under which condition."""
    family = "all families" if heuristic.family == EVERY_FAMILY else names.get(heuristic.family, heuristic.family)
    return f"{family} if {' and '.join(heuristic.condition)}" if heuristic.condition else family
