"""Gets the exchange rates that `table.csv` needs and writes them as `rates.csv`. Four ways.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output. `live` asks for
each day and currency, `cached` looks into the file that came with the export, `archive` gets the whole period at once,
`monthly` each month of it.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import time
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

Needed = list[tuple[str, str]]
Rates = dict[tuple[str, str], str]


class Failed(Exception):
    """No rates, with the class of the failure."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


class Service:
    """The quote service over one connection."""

    def __init__(self, asked: dict[str, Any]) -> None:
        self._connection = HTTPConnection(asked["service"], timeout=10)
        self._headers = {"X-Client": asked["client"]}

    def get(self, path: str) -> str:
        """What it answers. Raises Failed."""
        try:
            self._connection.request("GET", path, headers=self._headers)
            reply = self._connection.getresponse()
            said = reply.read().decode()
        except (OSError, HTTPException) as error:
            raise Failed("unreachable", f"the quote service cannot be reached: {error}") from error
        if reply.status != 200:
            kind = "rate_limit" if reply.status == 429 else f"http_{reply.status}"
            raise Failed(kind, f"the quote service answers {reply.status}: {said}")
        return said


def live(asked: dict[str, Any], needed: Needed) -> Rates:
    """One request for each day and currency."""
    service = Service(asked)
    return {(name, date): json.loads(service.get(f"/quote/{name}/{date}"))["rate"] for name, date in needed}


def cached(asked: dict[str, Any], needed: Needed) -> Rates:
    """What came with the export. A file that is not complete may be under way: look again."""
    rates = _table(Path(asked["cache"]).read_text("utf-8"))
    if any(pair not in rates for pair in needed):
        time.sleep(asked["wait"])
        rates = _table(Path(asked["cache"]).read_text("utf-8"))
    missing = [pair for pair in needed if pair not in rates]
    if not missing:
        return rates
    raise Failed("stale", f"{asked['cache']} has no rate of {missing[0][0]} for {missing[0][1]}")


def archive(asked: dict[str, Any], needed: Needed) -> Rates:
    """Everything between the first and the last day in one request."""
    days = [date for _, date in needed]
    names = ",".join(sorted({currency for currency, _ in needed}))
    return _table(Service(asked).get(f"/archive/{names}/{min(days)}/{max(days)}"))


def monthly(asked: dict[str, Any], needed: Needed) -> Rates:
    """One request for each month that has a booking."""
    service, rates = Service(asked), Rates()
    for month in sorted({date[:7] for _, date in needed}):
        days = [date for _, date in needed if date.startswith(month)]
        names = ",".join(sorted({currency for currency, date in needed if date in days}))
        rates |= _table(service.get(f"/archive/{names}/{min(days)}/{max(days)}"))
    return rates


def _table(text: str) -> Rates:
    rows = csv.DictReader(io.StringIO(text, newline=""))
    return {(row["currency"], row["date"]): row["rate"] for row in rows}


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: get the rates, and write them."""
    try:
        with Path(asked["table"]).open(encoding="utf-8", newline="") as file:
            needed = sorted({(row["currency"], row["date"]) for row in csv.DictReader(file)})
        if not needed:
            raise Failed("parse", f"{asked['table']} has no rows")
        ways = {"live": live, "cached": cached, "archive": archive, "monthly": monthly}
        rates = ways[asked["way"]](asked, needed)
        lines = [f"{currency},{date},{rates[currency, date]}\n" for currency, date in needed]
    except Failed as error:
        return {"error": error.error, "text": str(error), "transient": error.error == "rate_limit"}
    except OSError as error:
        return {"error": "not_found", "text": f"{error.filename}: {error.strerror}"}
    except (KeyError, TypeError, ValueError) as error:
        return {"error": "parse", "text": f"{asked['table']} or the rates are not as expected: {error!r}"}
    Path(asked["output"]).write_text("currency,date,rate\n" + "".join(lines), "utf-8")
    return {"text": f"wrote {asked['output']}: {len(needed)} rates"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
