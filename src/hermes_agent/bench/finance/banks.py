"""The fictional banks and brokers, and how each writes its exports."""

from __future__ import annotations

from enum import StrEnum

from ...types.base import Value


class Sign(StrEnum):
    """How a negative amount is written."""

    BEFORE = "before"
    BEHIND = "behind"
    BRACKETS = "brackets"


class Bank(Value, frozen=True, kw_only=True):
    """One bank and the traits of its exports. `titles` are those of reference, date, text, category, amount and
    currency, in the order of the file. `date` is a strftime format. `large` exports have well over a hundred rows."""

    name: str
    titles: dict[str, str]
    currency: str = "EUR"
    broker: bool = False
    encoding: str = "utf-8"
    delimiter: str = ","
    decimal: str = "."
    thousands: str = ""
    symbol: str = ""
    sign: Sign = Sign.BEFORE
    date: str = "%Y-%m-%d"
    line_end: str = "\n"
    missing: str = ""
    parts: int = 1
    large: bool = False
    repeats: bool = False
    gaps: bool = False
    footer: str = ""
    corrupt: bool = False
    breaks: bool = False

    @property
    def month_first(self) -> bool:
        """Whether dates are month, day, year."""
        return self.date.startswith("%m")

    def date_words(self) -> str:
        """The form of its dates in words."""
        named = {"%d": "day", "%m": "month", "%Y": "year", "%b": "month name"}
        for mark, word in named.items():
            if self.date.startswith(mark):
                rest = [named[self.date[place : place + 2]] for place in (3, 6)]
                return f"{word}, {rest[0]}, {rest[1]}"
        raise ValueError(f"unknown date format {self.date!r}")


def _titles(line: str) -> dict[str, str]:
    return dict(pair.split("=") for pair in line.split(";"))


_PLAIN = _titles("date=date;reference=reference;text=text;category=category;amount=amount;currency=currency")

BANKS: dict[str, Bank] = {
    bank.name: bank
    for bank in (
        Bank(name="northgate", titles=_PLAIN, currency="GBP"),
        Bank(
            name="harbour",
            titles=_titles("reference=reference;date=date;category=category;text=text;currency=currency;amount=amount"),
            currency="USD",
            breaks=True,
        ),
        Bank(
            name="pinecrest",
            titles=_titles("date=Posted;text=Description;category=Type;reference=Ref;amount=Value;currency=Ccy"),
            currency="CAD",
            encoding="utf-8-sig",
            delimiter="\t",
            thousands=",",
            large=True,
        ),
        Bank(
            name="kestrel",
            titles=_titles(
                "date=Date;reference=Transaction ID;category=Instrument;text=Note;currency=Currency;amount=Amount"
            ),
            currency="USD",
            broker=True,
            delimiter="|",
            thousands=",",
            symbol="$",
            sign=Sign.BRACKETS,
            date="%m/%d/%Y",
            gaps=True,
            missing="n/a",
            large=True,
        ),
        Bank(
            name="alpenrand",
            titles=_titles(
                "date=Buchungstag;reference=Buchungsnr;text=Verwendungszweck;category=Kategorie;amount=Betrag;"
                "currency=Währung"
            ),
            encoding="latin-1",
            delimiter=";",
            decimal=",",
            thousands=".",
            sign=Sign.BEHIND,
            date="%d.%m.%Y",
            line_end="\r\n",
            gaps=True,
        ),
        Bank(
            name="fjordlund",
            titles=_titles(
                "reference=Referens;date=Bokföringsdag;category=Kategori;text=Meddelande;amount=Belopp;currency=Valuta"
            ),
            currency="SEK",
            encoding="utf-8-sig",
            delimiter=";",
            decimal=",",
            thousands=" ",
            symbol=" kr",
            repeats=True,
            large=True,
        ),
        Bank(
            name="rivoli",
            titles=_titles(
                "date=Date opération;text=Libellé;category=Catégorie;reference=Référence;amount=Montant;currency=Devise"
            ),
            delimiter=";",
            decimal=",",
            thousands="\u202f",
            symbol="\u00a0€",
            date="%d/%m/%Y",
            breaks=True,
            parts=2,
        ),
        Bank(
            name="tatrava",
            titles=_titles("reference=Číslo;date=Dátum;text=Popis;category=Druh;amount=Suma;currency=Mena"),
            currency="CZK",
            encoding="utf-16",
            delimiter="\t",
            decimal=",",
            symbol=" Kč",
            date="%d.%m.%Y",
            line_end="\r\n",
            missing="-",
            gaps=True,
            large=True,
        ),
        Bank(
            name="minato",
            titles=_titles("date=日付;reference=番号;category=分類;text=摘要;amount=金額;currency=通貨"),
            currency="JPY",
            broker=True,
            thousands=",",
            symbol="¥",
            date="%Y/%m/%d",
            footer="合計",
            corrupt=True,
            repeats=True,
            large=True,
        ),
        Bank(
            name="sierra",
            titles=_titles("reference=ID;date=Booked;text=Details;amount=Amount;currency=CCY;category=Category"),
            currency="MXN",
            thousands=",",
            date="%d-%b-%Y",
            footer="Total",
            corrupt=True,
            gaps=True,
            parts=3,
        ),
    )
}
