"""Reads the export of a bank and writes its bookings as `table.csv`. Five readers, from strict to tolerant.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output. The strict
readers take a file that they do not understand for one that is still arriving: they wait, read again, and give up.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import io
import json
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COLUMNS = ("reference", "date", "category", "amount", "currency")
TITLES = {
    "reference": ("reference", "ref", "id", "transaction id", "buchungsnr", "referens", "référence", "číslo", "番号"),
    "date": ("date", "booked", "posted", "buchungstag", "bokföringsdag", "date opération", "dátum", "日付"),
    "category": ("category", "instrument", "type", "kategorie", "kategori", "catégorie", "druh", "分類"),
    "amount": ("amount", "value", "betrag", "belopp", "montant", "suma", "金額"),
    "currency": ("currency", "ccy", "währung", "valuta", "devise", "mena", "通貨"),
}
_MISSING = ("", "-", "n/a")
_SYMBOLS = re.compile(r"[$£€¥\s\u00a0\u202f]|kr|Kč|CHF")
_PLAIN = re.compile(r"-?\d+\.\d{2}")
_GROUPED = re.compile(r"-?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")
_COMMA = re.compile(r"-?(\d+|\d{1,3}(\.\d{3})+),\d{2}")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DELIMITERS = ",;\t|"
_PATIENT = ("tolerant", "salvage")
_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Refused(Exception):
    """A reader does not understand a file."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error


class Reader:
    """One of the readers: `fast`, `sniffed`, `locale`, `tolerant` or `salvage`."""

    def __init__(self, way: str, month_first: bool) -> None:
        self._way = way
        self._month_first = month_first

    def bookings(self, data: bytes) -> list[dict[str, str]]:
        """The bookings of one file. Raises Refused."""
        if self._way == "salvage":
            return self._salvaged(data)
        text = self._decoded(data)
        return self._parsed(text, "," if self._way == "fast" else _delimiter(text))

    def _salvaged(self, data: bytes) -> list[dict[str, str]]:
        """What the best of all encodings and separators makes of a file."""
        tried: list[list[dict[str, str]]] = []
        for encoding in ("utf-8-sig", "utf-16", "cp1252"):
            for delimiter in _DELIMITERS:
                with contextlib.suppress(Refused, UnicodeError):
                    tried.append(self._parsed(data.decode(encoding), delimiter))
        if not tried:
            raise Refused("parse", "no encoding and separator makes sense of the file")
        return max(tried, key=len)

    def _parsed(self, text: str, delimiter: str) -> list[dict[str, str]]:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        header = next(lines, [])
        places = self._places([title.strip().lower() for title in header])
        return list(self._rows(lines, places, len(header)))

    def _decoded(self, data: bytes) -> str:
        if self._way == "fast":
            return self._unicode(data, "utf-8")
        if data.startswith(_MARKS):
            if self._way == "tolerant":
                return data.decode("utf-16", "replace")
            raise Refused("encoding", "the file is UTF-16, which this reader does not read")
        try:
            return self._unicode(data, "utf-8-sig")
        except Refused:
            if self._way == "sniffed":
                raise
        return data.decode("cp1252", "replace")

    def _unicode(self, data: bytes, encoding: str) -> str:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            raise Refused("encoding", f"byte {error.start} cannot be decoded as UTF-8") from error

    def _places(self, header: list[str]) -> dict[str, int]:
        known = {name: (name,) if self._way == "fast" else titles for name, titles in TITLES.items()}
        places = {
            name: place for name, titles in known.items() for place, title in enumerate(header) if title in titles
        }
        if missing := [name for name in COLUMNS if name not in places]:
            raise Refused("parse", f"the header has no column {missing[0]!r}")
        return places

    def _rows(self, lines: Iterator[list[str]], places: dict[str, int], width: int) -> Iterator[dict[str, str]]:
        for number, fields in enumerate(lines, 2):
            if not fields:
                continue
            try:
                if len(fields) != width:
                    raise Refused("parse", f"record {number} has {len(fields)} fields, the header has {width}")
                row = {name: fields[place].strip() for name, place in places.items()}
                yield row | {"date": self._date(row["date"]), "amount": self._number(row["amount"])}
            except Refused:
                if self._way not in _PATIENT:
                    raise

    def _number(self, text: str) -> str:
        if text.lower() in _MISSING:
            return ""
        if self._way == "fast":
            if not _PLAIN.fullmatch(text):
                raise Refused("parse", f"{text!r} is no number")
            return text
        bare = _SYMBOLS.sub("", text)
        if bare.startswith("(") and bare.endswith(")"):
            bare = f"-{bare[1:-1]}"
        if bare.endswith("-"):
            bare = f"-{bare[:-1]}"
        if _GROUPED.fullmatch(bare):
            return bare.replace(",", "")
        if self._way != "sniffed" and _COMMA.fullmatch(bare):
            return bare.replace(".", "").replace(",", ".")
        raise Refused("parse", f"{text!r} is no number")

    def _date(self, text: str) -> str:
        parts = re.split(r"[-/.\s]", text)
        if self._way == "fast" and not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            raise Refused("parse", f"{text!r} is no date of the form YYYY-MM-DD")
        try:
            first, second, third = (_month(part) if part.isalpha() else int(part) for part in parts)
            if len(parts[0]) == 4:
                return datetime.date(first, second, third).isoformat()
            day, month = (second, first) if self._month_first else (first, second)
            return datetime.date(third, month, day).isoformat()
        except ValueError as error:
            raise Refused("parse", f"{text!r} is no date") from error


def _month(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _delimiter(text: str) -> str:
    head = text.partition("\n")[0]
    return max(_DELIMITERS, key=head.count)


def read_all(reader: Reader, files: list[str]) -> list[dict[str, str]]:
    """The bookings of all parts of an export, in order."""
    return [row for name in files for row in reader.bookings(Path(name).read_bytes())]


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: read, and write the table."""
    reader = Reader(asked["way"], asked["month_first"])
    try:
        try:
            rows = read_all(reader, asked["files"])
        except Refused:
            time.sleep(asked["wait"])
            rows = read_all(reader, asked["files"])
    except Refused as error:
        return {"error": error.error, "text": f"{error}; the file was read again and is the same"}
    except OSError as error:
        return {"error": "not_found", "text": f"{error.filename}: {error.strerror}"}
    with Path(asked["output"]).open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)
    return {"text": f"wrote {asked['output']}: {len(rows)} rows, columns {', '.join(COLUMNS)}"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
