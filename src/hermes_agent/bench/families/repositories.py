"""Small Python repositories with one fault: what their functions should do, and how each can be broken."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from ...types.base import Value


class Function(Value, frozen=True, kw_only=True):
    """A function: its source, how it can be broken (symptom to right and wrong text), and what it is called with."""

    source: str
    faults: dict[str, tuple[str, str]]
    arguments: Callable[[random.Random], tuple[Any, ...]]


def _numbers(rng: random.Random) -> list[int]:
    return [rng.randrange(-40, 90) for _ in range(rng.randrange(4, 9))]


def _word(rng: random.Random) -> str:
    return "".join(rng.choice("abcdefgh") for _ in range(rng.randrange(3, 9)))


FUNCTIONS = {
    "changes": Function(
        source="""def changes(values):
    found = []
    for place in range(len(values) - 1):
        found.append(values[place + 1] - values[place])
    return found
""",
        faults={
            "IndexError": ("range(len(values) - 1)", "range(len(values) - 1 + 1)"),
            "AssertionError": ("values[place + 1] - values[place]", "values[place + 1] + values[place]"),
            "NameError": ("return found", "return fuond"),
        },
        arguments=lambda rng: (_numbers(rng),),
    ),
    "above": Function(
        source="""def above(values, limit):
    count = 0
    for value in values:
        if value > limit:
            count += 1
    return count
""",
        faults={
            "AssertionError": ("value > limit", "value < limit"),
            "NameError": ("value > limit", "value > limt"),
        },
        arguments=lambda rng: (_numbers(rng), rng.randrange(-20, 20)),
    ),
    "label": Function(
        source="""def label(name, number):
    text = name + "-" + str(number)
    return text
""",
        faults={
            "TypeError": ("str(number)", "number"),
            "NameError": ("return text", "return txet"),
        },
        arguments=lambda rng: (_word(rng), rng.randrange(1000)),
    ),
    "total": Function(
        source="""def total(prices, shipping):
    summed = 0
    for price in prices:
        summed = summed + int(price)
    return summed + shipping
""",
        faults={
            "TypeError": ("int(price)", "price"),
            "AssertionError": ("summed + shipping", "summed - shipping"),
            "NameError": ("return summed", "return sumed"),
        },
        arguments=lambda rng: ([str(rng.randrange(1, 500)) for _ in range(rng.randrange(2, 6))], rng.randrange(1, 30)),
    ),
    "last": Function(
        source="""def last(words):
    chosen = words[len(words) - 1]
    return chosen.upper()
""",
        faults={
            "IndexError": ("words[len(words) - 1]", "words[len(words)]"),
            "NameError": ("return chosen.upper()", "return chosn.upper()"),
        },
        arguments=lambda rng: ([_word(rng) for _ in range(rng.randrange(2, 6))],),
    ),
    "diagonal": Function(
        source="""import math


def diagonal(width, height):
    return round(math.sqrt(width * width + height * height), 3)
""",
        faults={"NameError": ("import math\n\n\n", ""), "AssertionError": ("width + height", "width - height")},
        arguments=lambda rng: (rng.randrange(30, 90), rng.randrange(1, 30)),
    ),
    "summary": Function(
        source="""def summary(values):
    largest = max(values)
    return "largest: " + str(largest)
""",
        faults={
            "TypeError": ("str(largest)", "largest"),
            "NameError": ("str(largest)", "str(lagrest)"),
        },
        arguments=lambda rng: (_numbers(rng),),
    ),
    "paired": Function(
        source="""def paired(first, second):
    found = []
    for place in range(len(first)):
        found.append(first[place] * second[place])
    return found
""",
        faults={
            "IndexError": ("range(len(first))", "range(len(first) + 1)"),
            "AssertionError": ("first[place] * second[place]", "first[place] + second[place]"),
        },
        arguments=lambda rng: (lambda one: (one, [rng.randrange(2, 30) for _ in one]))(_numbers(rng)),
    ),
}


class Repository(Value, frozen=True, kw_only=True):
    """A broken module with its tests, and calls with what they should give."""

    module: str
    source: str
    tests: str
    calls: list[list[Any]]
    results: list[Any]


def repository(rng: random.Random, module: str, symptom: str) -> Repository:
    """A module whose tests show a symptom. The calls are others than those of its tests."""
    name = rng.choice(sorted(name for name, one in FUNCTIONS.items() if symptom in one.faults))
    function = FUNCTIONS[name]
    right, wrong = function.faults[symptom]
    tested = [list(function.arguments(rng)) for _ in range(5)]
    calls = [list(function.arguments(rng)) for _ in range(8)]
    tests = [f"from {module} import {name}\n"]
    for place, arguments in enumerate(tested):
        given = ", ".join(map(repr, arguments))
        tests.append(f"def test_{place}():\n    assert {name}({given}) == {_result(function, name, arguments)!r}\n")
    return Repository(
        module=module,
        source=function.source.replace(right, wrong, 1),
        tests="\n\n".join(tests),
        calls=[[name, *arguments] for arguments in calls],
        results=[_result(function, name, arguments) for arguments in calls],
    )


def _result(function: Function, name: str, arguments: list[Any]) -> Any:
    """What the function gives. Its source is one of those above, never anybody else's."""
    space: dict[str, Any] = {}
    exec(function.source, space)
    return space[name](*arguments)
