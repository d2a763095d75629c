"""Tasks: the same for the same seed and number, on every machine."""

from __future__ import annotations

import datetime
import random
from collections.abc import Mapping
from typing import Any

from ...types.base import Value
from ...types.errors import UsageError
from .banks import BANKS, Bank
from .exports import export
from .ledger import Booking, currencies, ledger
from .parameters import Parameters, parameters
from .questions import QUESTIONS, Question, is_plain, rates_table, right_answer
from .steps import steps_of

ANSWER = "answer.json"
CACHE = "quotes.csv"
_ATTEMPTS = 100


class Task(Value, frozen=True, kw_only=True):
    """One task. `request` is in plain words; `steps` are the ways that the simulated policy is given beside it.
    `files` is what lies in the workspace at first, `truth` the right answer, and `checks` what else must be there."""

    seed: int
    number: int
    family: str
    bank: str
    request: str
    steps: str
    files: dict[str, bytes]
    truth: list[dict[str, Any]]
    checks: tuple[str, ...]


def task(seed: int, number: int, given: Parameters | None = None) -> Task:
    """The task with this number in the world with this seed. Each seven tasks in a row ask the seven questions,
    and the banks have their shares in each deck's worth of tasks."""
    if seed < 0 or number < 0:
        raise UsageError("seeds and numbers of tasks begin at 0")
    world = given or parameters()
    question = _question(seed, number)
    rng = random.Random(f"finance:{seed}:{number}")
    bank = _bank(seed, number, world.banks)
    bookings, truth = _drawn(rng, seed, bank, question)
    files = export(rng, bank, bookings)
    request = _request(rng, bank, question, list(files))
    steps = steps_of(question.family, bank.name, list(files), world.ways)
    if question.family == "fx":
        files[CACHE] = _cache(rng, seed, bookings, world.stale_share).encode()
    return Task(
        seed=seed,
        number=number,
        family=question.family,
        bank=bank.name,
        request=request,
        steps=steps,
        files=files,
        truth=truth,
        checks=("chart",) if question.chart else (),
    )


def _question(seed: int, number: int) -> Question:
    block, place = divmod(number, len(QUESTIONS))
    order = list(QUESTIONS)
    random.Random(f"questions:{seed}:{block}").shuffle(order)
    return order[place]


def _bank(seed: int, number: int, banks: Mapping[str, int]) -> Bank:
    deck = [name for name, cards in banks.items() for _ in range(cards)]
    block, place = divmod(number, len(deck))
    random.Random(f"banks:{seed}:{block}").shuffle(deck)
    return BANKS[deck[place]]


def _drawn(
    rng: random.Random, seed: int, bank: Bank, question: Question
) -> tuple[tuple[Booking, ...], list[dict[str, Any]]]:
    """Bookings for which the question has exactly one answer."""
    for _ in range(_ATTEMPTS):
        bookings = ledger(rng, bank, question.shape)
        truth = right_answer(question.family, bookings, seed)
        if is_plain(question.family, bookings, truth):
            return bookings, truth
    raise UsageError(f"no bookings of {bank.name} fit {question.family}", remedy="use another seed")


def _cache(rng: random.Random, seed: int, bookings: tuple[Booking, ...], stale_share: float) -> str:
    """The rates that came with the export: all that are needed, or all but those of the last weeks."""
    days = [booking.date for booking in bookings]
    last = max(days)
    if rng.random() < stale_share:
        last -= datetime.timedelta(days=rng.randrange(20, 60))
    return rates_table(seed, currencies(), min(days), last)


def _request(rng: random.Random, bank: Bank, question: Question, names: list[str]) -> str:
    kind = "broker" if bank.broker else "bank"
    where = f"the file {names[0]}" if len(names) == 1 else f"the files {', '.join(names)}, which belong together"
    asked = rng.choice(question.asks)
    lines = [
        f"{asked} in the export of the {kind} {bank.name}: {where}. Dates are written as {bank.date_words()}.",
        "A reference that appears more than once is one booking. Bookings without an amount do not count, and neither "
        "do damaged lines or sums at the end of a file.",
        f"Write {ANSWER}: a JSON array with {question.wants}. Amounts are numbers, rounded to cents.",
    ]
    if question.family == "fx":
        lines.append(
            f"Rates are euros for one unit of a currency on a day. {CACHE} has some of them (currency,date,rate); the "
            "tools whose names begin with `quotes_` bring those that a table with the columns currency and date needs."
        )
    return "\n".join(lines)
