"""The generator of the case study: the same tasks everywhere, truth that is right, exports that hold it."""

import csv
import hashlib
import io
import random
import subprocess
import sys
from collections import Counter
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.bench.finance.banks import BANKS, Bank, Sign
from hermes_agent.bench.finance.exports import amount, export
from hermes_agent.bench.finance.inside import importing
from hermes_agent.bench.finance.inside.analysing import answered, cleaned, rows_of
from hermes_agent.bench.finance.ledger import Booking, Shape, ledger, rate
from hermes_agent.bench.finance.parameters import parameters
from hermes_agent.bench.finance.questions import rates_table, right_answer
from hermes_agent.bench.finance.tasks import Task, task
from hermes_agent.bench.finance.verify import verify
from hermes_agent.models.providers.apprentice import parse_steps
from hermes_agent.types.errors import UsageError
from tests.sampling import sampled

READERS = ("fast", "sniffed", "locale", "tolerant", "salvage")
READS = {
    "northgate": READERS,
    "harbour": READERS,
    "pinecrest": READERS[1:],
    "kestrel": READERS[1:],
    "alpenrand": READERS[2:],
    "fjordlund": READERS[2:],
    "rivoli": READERS[2:],
    "tatrava": READERS[3:],
    "minato": READERS[3:],
    "sierra": READERS[3:],
}


def digest(tasks: list[Task]) -> str:
    return hashlib.sha256(repr(tasks).encode()).hexdigest()


@pytest.mark.req("L9")
def test_the_same_seed_and_number_are_the_same_task_in_every_process() -> None:
    program = (
        "import hashlib; from hermes_agent.bench.finance.tasks import task;"
        "print(hashlib.sha256(repr([task(7, number) for number in range(21)]).encode()).hexdigest())"
    )
    here = digest([task(7, number) for number in range(21)])
    environment = {"PYTHONHASHSEED": "12345", "PYTHONPATH": ":".join(sys.path), "LC_ALL": "C"}
    there = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
    ).stdout.strip()
    assert here == there


def test_other_seeds_and_numbers_are_other_tasks() -> None:
    tasks = [task(seed, number) for seed in (1, 2) for number in range(60)]
    assert len({tuple(one.files.items()) for one in tasks}) == len(tasks)


def test_each_seven_tasks_in_a_row_ask_the_seven_questions() -> None:
    families = [task(3, number).family for number in range(35)]
    for start in range(0, 35, 7):
        assert sorted(families[start : start + 7]) == ["anomalies", "fx", "mom", "report", "top", "totals", "trend"]


def test_every_bank_has_its_share_and_every_trait_occurs() -> None:
    shares = parameters().banks
    for start in range(0, 60, 20):
        assert Counter(task(4, number).bank for number in range(start, start + 20)) == shares
    assert shares.keys() == BANKS.keys() and len(BANKS) >= 8
    assert {bank.delimiter for bank in BANKS.values()} == {",", ";", "\t", "|"}
    assert {bank.decimal for bank in BANKS.values()} == {".", ","}
    assert {bank.encoding for bank in BANKS.values()} == {"utf-8", "utf-8-sig", "latin-1", "utf-16"}
    for trait in ("repeats", "gaps", "corrupt", "breaks", "footer", "symbol", "thousands"):
        assert any(getattr(bank, trait) for bank in BANKS.values()), trait
    assert any(bank.parts > 1 for bank in BANKS.values())
    assert len({bank.date for bank in BANKS.values()}) >= 5


@pytest.mark.parametrize(("seed", "number"), [(-1, 0), (0, -1)])
def test_there_is_nothing_before_0(seed: int, number: int) -> None:
    with pytest.raises(UsageError):
        task(seed, number)


def test_steps_are_for_the_simulated_policy_and_each_has_ways_with_different_names() -> None:
    for number in range(14):
        made = task(5, number)
        steps = parse_steps(made.steps)
        assert len(steps) == (3 if made.family in ("fx", "report") else 2)
        for step in steps:
            names = [way.tool for way in step.ways]
            assert len(set(names)) == len(names) >= 2
        assert parse_steps(made.request) == ()
        assert all(name in made.request for name in made.files)


def booking(reference: str, day: str, category: str, cents: int | None, currency: str = "EUR") -> Booking:
    return Booking(
        reference=reference, date=date.fromisoformat(day), text="", category=category, cents=cents, currency=currency
    )


SMALL = (
    booking("A1", "2024-01-05", "Rent", -50_000),
    booking("A2", "2024-01-20", "Salary", 150_001),
    booking("A3", "2024-02-05", "Rent", -50_000),
    booking("A4", "2024-02-06", "Rent", None),
    booking("A5", "2024-02-20", "Salary", 150_004),
    booking("A6", "2024-03-05", "Rent", -350_000),
    booking("A7", "2024-03-20", "Refunds", 999),
)


@pytest.mark.req("L9")
@pytest.mark.parametrize(
    ("family", "right"),
    [
        (
            "totals",
            [
                {"category": "Refunds", "total": 9.99},
                {"category": "Rent", "total": -4500.0},
                {"category": "Salary", "total": 3000.05},
            ],
        ),
        (
            "mom",
            [
                {"month": "2024-01", "total": 1000.01, "change": None},
                {"month": "2024-02", "total": 1000.04, "change": 0.03},
                {"month": "2024-03", "total": -3490.01, "change": -4490.05},
            ],
        ),
        ("trend", [{"direction": "down", "slope": -2245.01}]),
        ("anomalies", [{"reference": "A6", "amount": -3500.0}]),
        (
            "top",
            [
                {"name": "Salary", "total": 3000.05},
                {"name": "Refunds", "total": 9.99},
                {"name": "Rent", "total": -4500.0},
            ],
        ),
        ("fx", [{"currency": "EUR", "total_eur": -1489.96}]),
    ],
)
def test_the_truth_of_a_small_ledger_is_what_one_finds_by_hand(family: str, right: list[dict[str, Any]]) -> None:
    assert right_answer(family, SMALL, seed=1) == right


def test_currencies_are_converted_at_the_rates_of_their_days() -> None:
    bookings = (booking("B1", "2024-05-01", "x", 10_000, "USD"), booking("B2", "2024-05-02", "x", -333, "USD"))
    first, second = (rate(9, "USD", one.date) for one in bookings)
    euros = round((10_000 * first - 333 * second) / 10_000) / 100
    assert right_answer("fx", bookings, seed=9) == [{"currency": "USD", "total_eur": euros}]
    assert first != rate(10, "USD", bookings[0].date)


@pytest.mark.parametrize(
    ("cents", "sign", "written"),
    [(123_456, Sign.BEFORE, "1.234,56"), (-5, Sign.BEHIND, "0,05-"), (-123_456, Sign.BRACKETS, "(1.234,56)")],
)
def test_amounts_are_written_as_the_bank_writes_them(cents: int, sign: Sign, written: str) -> None:
    assert amount(Bank(name="x", titles={}, decimal=",", thousands=".", sign=sign), cents) == written


def reference_parser(bank: Bank, files: dict[str, bytes]) -> list[Booking]:
    """Reads an export with full knowledge of its bank: whatever has all fields and a date is a booking, once."""
    found: dict[str, Booking] = {}
    for data in files.values():
        for fields in csv.reader(io.StringIO(data.decode(bank.encoding), newline=""), delimiter=bank.delimiter):
            if len(fields) != len(bank.titles) or fields == list(bank.titles.values()):
                continue
            row = dict(zip(bank.titles, fields, strict=True))
            digits = "".join(char for char in row["amount"] if char.isdigit())
            negative = any(mark in row["amount"] for mark in "-(")
            cents = None if row["amount"] == bank.missing else int(digits) * (-1 if negative else 1)
            found[row["reference"]] = Booking(
                reference=row["reference"],
                date=datetime.strptime(row["date"], bank.date).date(),
                text="",
                category=row["category"],
                cents=cents,
                currency=row["currency"],
            )
    return list(found.values())


def untexted(bookings: tuple[Booking, ...]) -> list[Booking]:
    return [booking(one.reference, one.date.isoformat(), one.category, one.cents, one.currency) for one in bookings]


@pytest.mark.req("L9")
@pytest.mark.parametrize("name", BANKS)
def test_every_export_holds_exactly_its_bookings(name: str) -> None:
    for number in range(5):
        rng = random.Random(f"export:{number}")
        bookings = ledger(rng, BANKS[name], Shape(currencies=number % 2 == 0))
        assert reference_parser(BANKS[name], export(rng, BANKS[name], bookings)) == untexted(bookings)


@pytest.mark.parametrize("name", BANKS)
def test_a_reader_reads_an_export_rightly_or_refuses_it(name: str) -> None:
    bank = BANKS[name]
    for number in range(4):
        rng = random.Random(f"reader:{number}")
        bookings = ledger(rng, bank, Shape(currencies=number % 2 == 0, outliers=number == 3))
        files = export(rng, bank, bookings)
        right = [
            {
                "reference": one.reference,
                "date": one.date.isoformat(),
                "category": one.category,
                "amount": "" if one.cents is None else f"{one.cents / 100:.2f}",
                "currency": one.currency,
            }
            for one in bookings
        ]
        for way in READERS:
            reader = importing.Reader(way, bank.month_first)
            try:
                rows = [row for data in files.values() for row in reader.bookings(data)]
            except importing.Refused:
                assert way not in READS[name], (way, number)
                continue
            assert way in READS[name], (way, number)
            assert list({row["reference"]: row for row in rows}.values()) == right


@pytest.mark.parametrize(
    "data",
    [b"", b"\x00" * 50, b"\xff\xfe", b"\xff\xfe\x00", b"reference,date\n", b'"' * 99, b"date\n" * 1000],
    ids=["empty", "nul", "mark", "half", "columns", "quotes", "long"],
)
@pytest.mark.parametrize("way", READERS)
def test_a_reader_refuses_what_is_no_export(way: str, data: bytes) -> None:
    with pytest.raises(importing.Refused):
        importing.Reader(way, month_first=False).bookings(data)


@pytest.mark.req("L9")
@pytest.mark.parametrize("number", sampled(range(140), every=7))
def test_the_truth_can_be_reached_from_the_files_of_a_task(tmp_path: Path, number: int) -> None:
    """Another reader and another arithmetic come to the generator's answer."""
    made = task(11, number)
    bank = BANKS[made.bank]
    reader = importing.Reader("tolerant", bank.month_first)
    rows = [row for name, data in made.files.items() if name != "quotes.csv" for row in reader.bookings(data)]
    days = [date.fromisoformat(row["date"]) for row in rows]
    names = sorted({row["currency"] for row in rows})
    rates = rows_of(rates_table(made.seed, names, min(days), max(days)))
    found = answered(made.family, cleaned(rows), rates)
    assert found == made.truth
    (tmp_path / "answer.json").write_text(str(found).replace("'", '"').replace("None", "null"))
    assert verify(made, tmp_path).ok is (made.family != "report")
