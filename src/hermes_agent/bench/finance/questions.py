"""The questions, their right answers from the bookings themselves, and their wording."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from statistics import median
from typing import Any

from ...types.base import Value
from .ledger import Booking, Shape, rate

Answer = list[dict[str, Any]]
OUTLYING = 5
FEW = 3


class Question(Value, frozen=True, kw_only=True):
    """One family of tasks: what is asked, in which shape the answer is wanted, and what the bookings must have."""

    family: str
    asks: tuple[str, ...]
    wants: str
    shape: Shape = Shape()
    chart: bool = False


def _amount(cents: int | Fraction) -> float:
    """Rounded to cents, halves away from zero."""
    whole = int(abs(Fraction(cents)) + Fraction(1, 2))
    return (whole if cents >= 0 else -whole) / 100


def _counted(bookings: Sequence[Booking]) -> list[tuple[Booking, int]]:
    return [(booking, booking.cents) for booking in bookings if booking.cents is not None]


def _sums(bookings: Sequence[Booking], key: Callable[[Booking], str]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for booking, cents in _counted(bookings):
        sums[key(booking)] = sums.get(key(booking), 0) + cents
    return {name: sums[name] for name in sorted(sums)}


def _month(booking: Booking) -> str:
    return f"{booking.date.year:04d}-{booking.date.month:02d}"


def _totals(bookings: Sequence[Booking], seed: int) -> Answer:
    sums = _sums(bookings, lambda booking: booking.category)
    return [{"category": name, "total": _amount(cents)} for name, cents in sums.items()]


def _mom(bookings: Sequence[Booking], seed: int) -> Answer:
    sums = list(_sums(bookings, _month).items())
    changes = [None, *(_amount(now - before) for (_, before), (_, now) in pairwise(sums))]
    return [
        {"month": month, "total": _amount(cents), "change": change}
        for (month, cents), change in zip(sums, changes, strict=True)
    ]


def _trend(bookings: Sequence[Booking], seed: int) -> Answer:
    sums = list(_sums(bookings, _month).values())
    count = len(sums)
    across = sum(place * cents for place, cents in enumerate(sums))
    slope = Fraction(
        count * across - sum(range(count)) * sum(sums),
        count * sum(place * place for place in range(count)) - sum(range(count)) ** 2,
    )
    return [{"direction": "up" if slope > 0 else "down", "slope": _amount(slope)}]


def _anomalies(bookings: Sequence[Booking], seed: int) -> Answer:
    sizes: dict[str, list[int]] = {}
    for booking, cents in _counted(bookings):
        sizes.setdefault(booking.category, []).append(abs(cents))
    usual = {name: Fraction(median(map(Fraction, values))) for name, values in sizes.items()}
    found = {
        booking.reference: _amount(cents)
        for booking, cents in _counted(bookings)
        if abs(cents) > OUTLYING * usual[booking.category]
    }
    return [{"reference": name, "amount": found[name]} for name in sorted(found)]


def _top(bookings: Sequence[Booking], seed: int) -> Answer:
    sums = sorted(_sums(bookings, lambda booking: booking.category).items(), key=lambda pair: -pair[1])
    return [{"name": name, "total": _amount(cents)} for name, cents in sums[:FEW]]


def _fx(bookings: Sequence[Booking], seed: int) -> Answer:
    sums: dict[str, Fraction] = {}
    for booking, cents in _counted(bookings):
        euros = Fraction(cents * rate(seed, booking.currency, booking.date), 10_000)
        sums[booking.currency] = sums.get(booking.currency, Fraction(0)) + euros
    return [{"currency": name, "total_eur": _amount(sums[name])} for name in sorted(sums)]


_ANSWERS: dict[str, Callable[[Sequence[Booking], int], Answer]] = {
    "totals": _totals,
    "report": _totals,
    "mom": _mom,
    "trend": _trend,
    "anomalies": _anomalies,
    "top": _top,
    "fx": _fx,
}
_BY_CATEGORY = '{"category": name, "total": sum}, in the order of the categories\' names'

QUESTIONS: tuple[Question, ...] = (
    Question(
        family="trend",
        asks=("Analyse the trend of the monthly totals", "Is the monthly balance rising or falling? Find the trend"),
        wants='one object {"direction": "up" or "down", "slope": the least-squares slope of the monthly totals, in '
        "money per month}",
        shape=Shape(drift=True),
    ),
    Question(
        family="mom",
        asks=("Calculate the month-over-month change", "How did the total change from month to month"),
        wants='one object per month, oldest first: {"month": "YYYY-MM", "total": sum of the month, "change": '
        "difference to the month before, null for the first}",
    ),
    Question(
        family="anomalies",
        asks=("Detect the anomalies among the bookings", "Find the bookings that are unusually large: the anomalies"),
        wants=f"every booking whose amount, without its sign, is more than {OUTLYING} times the median of its "
        'category\'s amounts without their signs: {"reference": reference, "amount": amount}, in the order of the '
        "references",
        shape=Shape(outliers=True),
    ),
    Question(
        family="report",
        asks=("Write a report of the totals per category with a chart", "Make the category report with its bar chart"),
        wants=f"one object per category: {_BY_CATEGORY}. Draw these totals as bars in chart.svg or chart.png, too",
        chart=True,
    ),
    Question(
        family="totals",
        asks=("Sum up the bookings of each category", "What are the totals per category"),
        wants=f"one object per category: {_BY_CATEGORY}",
    ),
    Question(
        family="top",
        asks=("Find the top holdings", "Which are the largest positions or categories, by their totals"),
        wants=f'the {FEW} categories with the highest totals, highest first: {{"name": category, "total": sum}}',
    ),
    Question(
        family="fx",
        asks=("Convert the bookings to euros with the quotes of their days", "What are the currency totals in euros"),
        wants='one object per currency, in the order of their codes: {"currency": code, "total_eur": sum of the '
        "amounts, each at the rate of its own day}",
        shape=Shape(currencies=True),
    ),
)


def right_answer(family: str, bookings: Sequence[Booking], seed: int) -> Answer:
    """The answer to a family's question, from the bookings and the seed's rates."""
    return _ANSWERS[family](bookings, seed)


def is_plain(family: str, bookings: Sequence[Booking], truth: Answer) -> bool:
    """Whether the right answer is the only one: no two totals that a cent would swap, no flat trend."""
    match family:
        case "top":
            sums = sorted(_sums(bookings, lambda booking: booking.category).values(), reverse=True)
            return all(high - low > 200 for high, low in pairwise(sums))
        case "trend":
            return abs(float(truth[0]["slope"])) > 1
        case "anomalies":
            return bool(truth)
        case _:
            return True


def rates_table(seed: int, names: Sequence[str], first: datetime.date, last: datetime.date) -> str:
    """The rates of some currencies on all days of a period, as the service and its caches write them."""
    days = [first + datetime.timedelta(days=place) for place in range((last - first).days + 1)]
    lines = [f"{name},{day.isoformat()},{shown_rate(seed, name, day)}" for name in names for day in days]
    return "\n".join(["currency,date,rate", *lines]) + "\n"


def shown_rate(seed: int, name: str, day: datetime.date) -> str:
    """A rate as it is written: four decimals."""
    whole, rest = divmod(rate(seed, name, day), 10_000)
    return f"{whole}.{rest:04d}"
