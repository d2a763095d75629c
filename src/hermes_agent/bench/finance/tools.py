"""The tools of the world, beside those of the product: each runs a program of `inside` in the sandbox."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from ...tools.tool import Tool
from ...types.tools import ToolContext, ToolResult
from ..programs import FILES, NETWORK, TOOL_SECONDS, ran
from .banks import BANKS
from .parameters import Parameters
from .tasks import CACHE

_INSIDE = Path(__file__).parent / "inside"
_MOST_FILES = 20

Address = Callable[[], str]
Files = Annotated[tuple[str, ...], "all files of the export, in order"]
Table = Annotated[str, "CSV file to write: reference, date, category, amount, currency"]
Asked = Literal["trend", "mom", "anomalies", "report", "totals", "top", "fx"]

_READERS = {
    "import_fast": ("fast", "Read a bank's export quickly: UTF-8, commas, plain numbers, ISO dates."),
    "import_sniffed": ("sniffed", "Read a bank's export, guessing its separator, dates and currency symbols."),
    "import_locale": ("locale", "Read a bank's export with the number format and character set of its country."),
    "import_tolerant": ("tolerant", "Read a bank's export line by line, leaving out what is no booking."),
    "import_salvage": ("salvage", "Read a bank's export in every encoding and with every separator; take the best."),
}
_QUOTES = {
    "quotes_live": ("live", "Get the exchange rates that a table needs from the quote service, day by day."),
    "quotes_cached": ("cached", f"Take the exchange rates that a table needs from {CACHE}."),
    "quotes_archive": ("archive", "Get the exchange rates that a table needs from the quote service's archive."),
    "quotes_monthly": ("monthly", "Get the exchange rates that a table needs from the archive, month by month."),
}


async def _ran(
    context: ToolContext, program: str, asked: dict[str, Any], paths: tuple[str, ...], *, network: bool = False
) -> ToolResult:
    return await ran(context, _INSIDE / f"{program}.py", asked, paths, network=network)


def finance_tools(given: Parameters, address: Address) -> list[Tool]:
    """All tools of a world. `address` says where its services are, once they are started."""
    return [
        *(_reader(name, way, told, given) for name, (way, told) in _READERS.items()),
        *(_quotes(name, way, told, given, address) for name, (way, told) in _QUOTES.items()),
        _engine(address),
        _strict(),
        *_charts(given),
    ]


def _tool(name: str, function: Callable[..., Any], told: str, *, network: bool = False, replaces: str) -> Tool:
    """A tool of the world. Its results are its own words: nothing in them was written by strangers."""
    made = Tool(name, function, told, NETWORK if network else FILES, "idempotent", timeout=TOOL_SECONDS)
    return made.with_spec(family="finance", labels=frozenset(), replaces=(replaces,))


def _reader(name: str, way: str, told: str, given: Parameters) -> Tool:
    async def read(
        bank: Annotated[str, "name of the bank or broker"], files: Files, output: Table, context: ToolContext
    ) -> ToolResult:
        if bank not in BANKS:
            known = ", ".join(BANKS)
            return ToolResult(ok=False, error="bad_argument", text=f"there is no bank {bank[:40]!r}; known are {known}")
        if not 1 <= len(files) <= _MOST_FILES:
            return ToolResult(ok=False, error="bad_argument", text=f"an export has 1 to {_MOST_FILES} files")
        asked = {
            "way": way,
            "month_first": BANKS[bank].month_first,
            "files": list(files),
            "output": output,
            "wait": given.settle_seconds,
        }
        return await _ran(context, "importing", asked, (*files, output))

    return _tool(name, read, told, replaces="output")


def _quotes(name: str, way: str, told: str, given: Parameters, address: Address) -> Tool:
    async def quote(
        table: Annotated[str, "CSV file with the columns currency and date"],
        output: Annotated[str, "CSV file to write: currency, date, rate"],
        context: ToolContext,
    ) -> ToolResult:
        asked = {
            "way": way,
            "table": table,
            "output": output,
            "cache": CACHE,
            "wait": given.settle_seconds,
            "service": address(),
            "client": context.idempotency_key,
        }
        return await _ran(context, "quoting", asked, (table, output, CACHE), network=way != "cached")

    return _tool(name, quote, told, network=way != "cached", replaces="output")


def _engine(address: Address) -> Tool:
    async def analyse(
        question: Asked, table: str, output: Annotated[str, "JSON file to write"], context: ToolContext
    ) -> ToolResult:
        asked = {"question": question, "table": table, "output": output, "engine": address()}
        return await _ran(context, "analysing", asked, (table, output, "rates.csv"), network=True)

    told = "Let the analysis engine answer a question about an imported table; fx needs rates.csv."
    return _tool("analyse_engine", analyse, told, network=True, replaces="output")


def _strict() -> Tool:
    async def analyse(
        question: Asked, table: str, output: Annotated[str, "JSON file to write"], context: ToolContext
    ) -> ToolResult:
        asked = {"question": question, "table": table, "output": output, "engine": ""}
        return await _ran(context, "analysing", asked, (table, output, "rates.csv"))

    told = "Answer a question about an imported table that has no gaps and nothing twice; fx needs rates.csv."
    return _tool("analyse_strict", analyse, told, replaces="output")


def _charts(given: Parameters) -> list[Tool]:
    async def chart_png(
        data: Annotated[str, "JSON file with category and total"], output: str, context: ToolContext
    ) -> ToolResult:
        asked = {"way": "png", "data": data, "output": output, "wait": given.backend_seconds}
        return await _ran(context, "drawing", asked, (data, output))

    async def chart_svg(
        data: Annotated[str, "JSON file with category and total"], output: str, context: ToolContext
    ) -> ToolResult:
        asked = {"way": "svg", "data": data, "output": output, "wait": 0.0}
        return await _ran(context, "drawing", asked, (data, output))

    return [
        _tool("chart_png", chart_png, "Draw totals per category as bars, as PNG, with matplotlib.", replaces="output"),
        _tool("chart_svg", chart_svg, "Draw totals per category as bars, as SVG.", replaces="output"),
    ]
