"""The bookings behind an export: drawn from the seed, and the only source of every right answer."""

from __future__ import annotations

import datetime
import random
import zlib
from collections.abc import Sequence

from ...types.base import Value
from .banks import Bank

_SPENDING = ("Rent", "Groceries", "Transport", "Utilities", "Insurance", "Leisure", "Café & bar", "Health")
_EARNING = ("Salary", "Refunds")
_HOLDINGS = ("Orion Steel", "Vela Solar", "Lyra Foods", "Corvus Rail", "Hydra Water", "Draco Media", "Norma Bonds")
_WORDS = (
    "Invoice",
    "Standing order",
    "Card payment",
    "Transfer",
    "Zürich branch",
    "São Paulo",
    "Ångström & Co",
    "Łódź",
)
_SMALL, _LARGE = (26, 60), (125, 170)
_RATES = {
    "EUR": 10_000,
    "USD": 9_200,
    "GBP": 11_600,
    "CAD": 6_800,
    "SEK": 880,
    "CZK": 400,
    "JPY": 62,
    "MXN": 490,
    "CHF": 10_400,
}


class Booking(Value, frozen=True, kw_only=True):
    """One booking. `cents` is None where the bank left the amount out."""

    reference: str
    date: datetime.date
    text: str
    category: str
    cents: int | None
    currency: str


class Shape(Value, frozen=True, kw_only=True):
    """What a question needs of the bookings behind it."""

    outliers: bool = False
    currencies: bool = False
    drift: bool = False


def rate(seed: int, currency: str, day: datetime.date) -> int:
    """Euros for one unit of a currency on a day, in ten-thousandths."""
    base = _RATES[currency]
    if currency == "EUR":
        return base
    sway = zlib.crc32(f"rate:{seed}:{currency}:{day.isoformat()}".encode()) % 801 - 400
    return max(1, base + base * sway // 10_000)


def currencies() -> tuple[str, ...]:
    """The currencies that have rates."""
    return tuple(_RATES)


def ledger(rng: random.Random, bank: Bank, shape: Shape) -> tuple[Booking, ...]:
    """The bookings of one export, in the order of their dates; at least two months, each with an amount in it."""
    first = datetime.date(rng.randrange(2022, 2026), rng.randrange(1, 13), 1)
    months = rng.randrange(4, 8)
    count = rng.randrange(*(_LARGE if bank.large else _SMALL))
    slope = rng.choice((-0.12, -0.08, 0.08, 0.12)) if shape.drift else rng.uniform(-0.03, 0.03)
    used = (bank.currency, *rng.sample([name for name in _RATES if name != bank.currency], 2))
    usual = _usual(rng, bank)
    bookings = []
    for place in range(count):
        month = place % months
        day = _day(first, month, rng.randrange(1, 28))
        category = rng.choice(list(usual))
        cents = round(usual[category] * (1 + slope * month) * rng.uniform(0.8, 1.5))
        bookings.append(
            Booking(
                reference="",
                date=day,
                text=f"{rng.choice(_WORDS)} {rng.randrange(100, 999)}",
                category=category,
                cents=None if bank.gaps and place >= months and rng.random() < 0.06 else cents,
                currency=rng.choice(used) if shape.currencies else bank.currency,
            )
        )
    if shape.outliers:
        bookings = _with_outliers(rng, bookings)
    if bank.gaps and all(booking.cents is not None for booking in bookings):
        bookings[-1] = _changed(bookings[-1], None)
    return _numbered(rng, bookings)


def _usual(rng: random.Random, bank: Bank) -> dict[str, int]:
    """The usual amount of each category, in cents."""
    if bank.broker:
        return {name: rng.randrange(8_000, 250_000) for name in rng.sample(_HOLDINGS, 5)}
    spent = {name: -rng.randrange(1_500, 60_000) for name in rng.sample(_SPENDING, 4)}
    return spent | {name: rng.randrange(20_000, 180_000) for name in _EARNING}


def _day(first: datetime.date, month: int, day: int) -> datetime.date:
    years, index = divmod(first.month - 1 + month, 12)
    return datetime.date(first.year + years, index + 1, day)


def _with_outliers(rng: random.Random, bookings: Sequence[Booking]) -> list[Booking]:
    """Some bookings ten times as large. Each belongs to a category with enough others."""
    changed = list(bookings)
    counts: dict[str, int] = {}
    for booking in bookings:
        counts[booking.category] = counts.get(booking.category, 0) + 1
    common = [place for place, booking in enumerate(bookings) if counts[booking.category] >= 4 and booking.cents]
    for place in rng.sample(common, rng.randrange(2, 4)):
        cents = bookings[place].cents or 0
        changed[place] = _changed(bookings[place], cents * rng.randrange(11, 15))
    return changed


def _changed(booking: Booking, cents: int | None) -> Booking:
    return Booking(
        reference=booking.reference,
        date=booking.date,
        text=booking.text,
        category=booking.category,
        cents=cents,
        currency=booking.currency,
    )


def _numbered(rng: random.Random, bookings: Sequence[Booking]) -> tuple[Booking, ...]:
    number = rng.randrange(10_000, 50_000)
    numbered = []
    for booking in sorted(bookings, key=lambda one: one.date):
        number += rng.randrange(1, 40)
        numbered.append(
            Booking(
                reference=f"TX{number}",
                date=booking.date,
                text=booking.text,
                category=booking.category,
                cents=booking.cents,
                currency=booking.currency,
            )
        )
    return tuple(numbered)
