"""Writes bookings as a bank would: its separators, numbers, dates and encoding, and what is wrong with its files."""

from __future__ import annotations

import csv
import io
import random
from collections.abc import Sequence

from .banks import Bank, Sign
from .ledger import Booking


def export(rng: random.Random, bank: Bank, bookings: Sequence[Booking]) -> dict[str, bytes]:
    """The files of an export, by name, in order. What they hold beside the bookings is no booking: repeated rows,
    lines that were cut off or overwritten, and footers with sums that are wrong."""
    year = bookings[0].date.year
    size = -(-len(bookings) // bank.parts)
    parts = [bookings[start : start + size] for start in range(0, len(bookings), size)]
    suffix = "tsv" if bank.delimiter == "\t" else "csv"
    names = [
        f"{bank.name}_{year}{f'_{place}' if bank.parts > 1 else ''}.{suffix}" for place in range(1, len(parts) + 1)
    ]
    return {name: _part(rng, bank, part).encode(bank.encoding) for name, part in zip(names, parts, strict=True)}


def _part(rng: random.Random, bank: Bank, bookings: Sequence[Booking]) -> str:
    lines = [_line(bank, _fields(rng, bank, booking)) for booking in bookings]
    if bank.repeats:
        for place in sorted(rng.sample(range(len(lines)), max(1, len(lines) // 20)), reverse=True):
            lines.insert(place, lines[place])
    if bank.corrupt:
        whole = rng.choice(bookings)
        cut = _fields(rng, bank, whole)[: rng.randrange(2, 4)]
        lines.insert(rng.randrange(1, len(lines)), _line(bank, cut))
        lines.insert(rng.randrange(1, len(lines)), "#" * rng.randrange(8, 30) + bank.line_end)
    if bank.footer:
        wrong = sum(booking.cents or 0 for booking in bookings) + rng.randrange(100, 9_999)
        lines.append(_line(bank, [bank.footer, amount(bank, wrong)]))
    return _line(bank, list(bank.titles.values())) + "".join(lines)


def _line(bank: Bank, fields: Sequence[str]) -> str:
    written = io.StringIO()
    csv.writer(written, delimiter=bank.delimiter, lineterminator=bank.line_end).writerow(fields)
    return written.getvalue()


def _fields(rng: random.Random, bank: Bank, booking: Booking) -> list[str]:
    text = booking.text.encode(bank.encoding, "ignore").decode(bank.encoding)
    if bank.breaks and rng.random() < 0.1:
        text = text.replace(" ", "\n", 1)
    values = {
        "reference": booking.reference,
        "date": booking.date.strftime(bank.date),
        "text": text,
        "category": booking.category,
        "amount": _written(bank, booking),
        "currency": booking.currency,
    }
    return [values[name] for name in bank.titles]


def _written(bank: Bank, booking: Booking) -> str:
    """The amount of a booking; the symbol stands for the bank's own currency alone."""
    if booking.cents is None:
        return bank.missing
    return amount(bank, booking.cents, bank.symbol if booking.currency == bank.currency else "")


def amount(bank: Bank, cents: int, symbol: str = "") -> str:
    """An amount as the bank writes it. A symbol that begins with a space goes behind the number."""
    whole, rest = divmod(abs(cents), 100)
    text = f"{whole:,}".replace(",", bank.thousands) + f"{bank.decimal}{rest:02d}"
    text = text + symbol if symbol[:1].isspace() else symbol + text
    if cents >= 0:
        return text
    return {Sign.BEFORE: f"-{text}", Sign.BEHIND: f"{text}-", Sign.BRACKETS: f"({text})"}[bank.sign]
