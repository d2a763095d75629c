"""Answers a question about `table.csv`. Two ways: here, where only clean tables are taken, and on an analysis engine.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output. The engine, a
service of the world, answers with the same functions.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from statistics import median
from typing import Any

Row = dict[str, str]
Answer = list[dict[str, Any]]
_OUTLYING = 5
_FEW = 3


class Unfit(Exception):
    """The table is not clean enough."""


def rows_of(text: str) -> list[Row]:
    """The rows of a table as they are."""
    return list(csv.DictReader(io.StringIO(text, newline="")))


def cleaned(rows: list[Row], *, strict: bool = False) -> list[Row]:
    """Each booking once, without those that have no amount. Strictly, there must be none of either."""
    once = {row["reference"]: row for row in rows}
    kept = [row for row in once.values() if row["amount"]]
    if strict and len(once) < len(rows):
        raise Unfit(f"{len(rows) - len(once)} rows have a reference that another one has")
    if strict and len(kept) < len(once):
        raise Unfit(f"{len(once) - len(kept)} rows have no amount")
    return kept


def _cents(value: Decimal) -> float:
    return float(value.quantize(Decimal("0.01"), ROUND_HALF_UP))


def _sums(rows: list[Row], key: Callable[[Row], str]) -> dict[str, Decimal]:
    sums: dict[str, Decimal] = {}
    for row in rows:
        sums[key(row)] = sums.get(key(row), Decimal(0)) + Decimal(row["amount"])
    return dict(sorted(sums.items()))


def _months(rows: list[Row]) -> dict[str, Decimal]:
    return _sums(rows, lambda row: row["date"][:7])


def totals(rows: list[Row]) -> Answer:
    """The total of each category."""
    return [
        {"category": name, "total": _cents(sum_)} for name, sum_ in _sums(rows, lambda row: row["category"]).items()
    ]


def mom(rows: list[Row]) -> Answer:
    """The total of each month and the change from the one before."""
    answer: Answer = []
    before: Decimal | None = None
    for month, sum_ in _months(rows).items():
        change = None if before is None else _cents(sum_ - before)
        answer.append({"month": month, "total": _cents(sum_), "change": change})
        before = sum_
    return answer


def trend(rows: list[Row]) -> Answer:
    """The slope of the line through the monthly totals."""
    sums = list(_months(rows).values())
    middle = Decimal(len(sums) - 1) / 2
    mean = sum(sums, Decimal(0)) / len(sums)
    rise = sum(((place - middle) * (sum_ - mean) for place, sum_ in enumerate(sums)), Decimal(0))
    slope = rise / sum(((place - middle) ** 2 for place in range(len(sums))), Decimal(0))
    return [{"direction": "up" if slope > 0 else "down", "slope": _cents(slope)}]


def anomalies(rows: list[Row]) -> Answer:
    """The bookings far above what is usual in their category."""
    sizes: dict[str, list[Decimal]] = {}
    for row in rows:
        sizes.setdefault(row["category"], []).append(abs(Decimal(row["amount"])))
    usual = {name: median(values) for name, values in sizes.items()}
    found = [row for row in rows if abs(Decimal(row["amount"])) > _OUTLYING * usual[row["category"]]]
    found.sort(key=lambda row: row["reference"])
    return [{"reference": row["reference"], "amount": _cents(Decimal(row["amount"]))} for row in found]


def top(rows: list[Row]) -> Answer:
    """The largest categories."""
    sums = sorted(_sums(rows, lambda row: row["category"]).items(), key=lambda pair: -pair[1])
    return [{"name": name, "total": _cents(sum_)} for name, sum_ in sums[:_FEW]]


def converted(rows: list[Row], rates: list[Row]) -> Answer:
    """The total of each currency in euros."""
    known = {(rate["currency"], rate["date"]): Decimal(rate["rate"]) for rate in rates}
    sums: dict[str, Decimal] = {}
    for row in rows:
        euros = Decimal(row["amount"]) * known[row["currency"], row["date"]]
        sums[row["currency"]] = sums.get(row["currency"], Decimal(0)) + euros
    return [{"currency": name, "total_eur": _cents(sum_)} for name, sum_ in sorted(sums.items())]


QUESTIONS: dict[str, Callable[[list[Row]], Answer]] = {
    "totals": totals,
    "report": totals,
    "mom": mom,
    "trend": trend,
    "anomalies": anomalies,
    "top": top,
}


def answered(question: str, rows: list[Row], rates: list[Row]) -> Answer:
    """The answer to a question about clean rows."""
    return converted(rows, rates) if question == "fx" else QUESTIONS[question](rows)


def _asked_engine(asked: dict[str, Any], table: str, rates: str) -> dict[str, Any]:
    """What the engine says."""
    from http.client import HTTPConnection, HTTPException

    body = json.dumps({"question": asked["question"], "table": table, "rates": rates})
    try:
        connection = HTTPConnection(asked["engine"], timeout=10)
        connection.request("POST", "/analyse", body.encode())
        reply = connection.getresponse()
        said = reply.read()
    except (OSError, HTTPException) as error:
        return {"error": "unreachable", "text": f"the engine cannot be reached: {error}"}
    if reply.status != 200:
        return {"error": "overloaded", "text": f"the engine answers {reply.status}: {said.decode()}"}
    return {"answer": json.loads(said)}


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: answer, and write the answer."""
    try:
        table = Path(asked["table"]).read_text("utf-8")
        rates = Path("rates.csv").read_text("utf-8") if asked["question"] == "fx" else ""
        if asked["engine"]:
            found = _asked_engine(asked, table, rates)
        else:
            rows = cleaned(rows_of(table), strict=True)
            found = {"answer": answered(asked["question"], rows, rows_of(rates))}
    except Unfit as error:
        return {"error": "unclean", "text": f"{error}; this analysis takes clean tables only"}
    except OSError as error:
        return {"error": "not_found", "text": f"{error.filename}: {error.strerror}"}
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        return {"error": "parse", "text": f"{asked['table']} is not such a table: {error!r}"}
    if "answer" not in found:
        return found
    Path(asked["output"]).write_text(json.dumps(found["answer"], indent=1, ensure_ascii=False), "utf-8")
    return {"text": f"wrote {asked['output']}: {len(found['answer'])} rows"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
