"""The ways through a task as the simulated policy reads them: numbered steps, each with tools that may do it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

TABLE, RATES, ANSWER = "table.csv", "rates.csv", "answer.json"

_CLEAN = """import csv, json
from decimal import Decimal as D
once = {r["reference"]: r for r in csv.DictReader(open("table.csv", encoding="utf-8"))}
rows = [r for r in once.values() if r["amount"]]
def sums(key):
    found = {}
    for r in rows: found[key(r)] = found.get(key(r), D(0)) + D(r["amount"])
    return sorted(found.items())
c = lambda value: round(float(value), 2)
"""
_TOTALS = """answer = [{"category": k, "total": c(v)} for k, v in sums(lambda r: r["category"])]"""
_CODE = {
    "totals": _TOTALS,
    "report": _TOTALS,
    "top": """found = sorted(sums(lambda r: r["category"]), key=lambda p: -p[1])[:3]
answer = [{"name": k, "total": c(v)} for k, v in found]""",
    "mom": """found = sums(lambda r: r["date"][:7])
olds = [None] + [v for k, v in found]
answer = [{"month": k, "total": c(v), "change": None if o is None else c(v - o)} for (k, v), o in zip(found, olds)]""",
    "trend": """ys = [v for k, v in sums(lambda r: r["date"][:7])]
mid, mean = D(len(ys) - 1) / 2, sum(ys) / len(ys)
slope = sum((x - mid) * (y - mean) for x, y in enumerate(ys)) / sum((x - mid) ** 2 for x in range(len(ys)))
answer = [{"direction": "up" if slope > 0 else "down", "slope": c(slope)}]""",
    "anomalies": """from statistics import median
sizes = {}
for r in rows: sizes.setdefault(r["category"], []).append(abs(D(r["amount"])))
odd = [r for r in rows if abs(D(r["amount"])) > 5 * median(sizes[r["category"]])]
odd.sort(key=lambda r: r["reference"])
answer = [{"reference": r["reference"], "amount": c(r["amount"])} for r in odd]""",
    "fx": """rates = {(r["currency"], r["date"]): D(r["rate"]) for r in csv.DictReader(open("rates.csv"))}
for r in rows: r["amount"] = D(r["amount"]) * rates[r["currency"], r["date"]]
answer = [{"currency": k, "total_eur": c(v)} for k, v in sums(lambda r: r["currency"])]""",
}
_WRITE = """
json.dump(answer, open("answer.json", "w", encoding="utf-8"))
print(len(answer), "rows written")"""

_ROWS = "(SELECT * FROM (SELECT DISTINCT ON (reference) * FROM 'table.csv') WHERE amount IS NOT NULL)"
_MONTHS = f"(SELECT strftime(date, '%Y-%m') AS month, sum(amount) AS total FROM {_ROWS} GROUP BY month)"
_TOTALS_SQL = f"SELECT category, round(sum(amount), 2) AS total FROM {_ROWS} GROUP BY category ORDER BY category"
_SQL = {
    "totals": _TOTALS_SQL,
    "report": _TOTALS_SQL,
    "top": f"SELECT category AS name, round(sum(amount), 2) AS total FROM {_ROWS} GROUP BY name ORDER BY total DESC "
    "LIMIT 3",
    "mom": "SELECT month, round(total, 2) AS total, round(total - lag(total) OVER (ORDER BY month), 2) AS change "
    f"FROM {_MONTHS} ORDER BY month",
    "trend": "SELECT CASE WHEN slope > 0 THEN 'up' ELSE 'down' END AS direction, round(slope, 2) AS slope FROM "
    "(SELECT regr_slope(total, place) AS slope FROM "
    f"(SELECT total, row_number() OVER (ORDER BY month) AS place FROM {_MONTHS}))",
    "anomalies": "SELECT reference, round(amount, 2) AS amount FROM "
    f"(SELECT *, median(abs(amount)) OVER (PARTITION BY category) AS usual FROM {_ROWS}) "
    "WHERE abs(amount) > 5 * usual ORDER BY reference",
    "fx": "SELECT currency, round(sum(amount * rate), 2) AS total_eur FROM "
    f"{_ROWS} JOIN 'rates.csv' USING (currency, date) GROUP BY currency ORDER BY currency",
}


def steps_of(family: str, bank: str, files: Sequence[str], ways: Mapping[str, Sequence[str]]) -> str:
    """The numbered steps of a task, with the tools of each step in the order of `ways`."""
    steps = [_step(ways["import"], lambda tool: {"bank": bank, "files": list(files), "output": TABLE})]
    if family == "fx":
        steps.append(_step(ways["quotes"], lambda tool: {"table": TABLE, "output": RATES}))
    steps.append(_step(ways["analyse"], lambda tool: _analysis(tool, family)))
    if family == "report":
        steps.append(_step(ways["chart"], _chart))
    return "\n".join(f"{place}. {step}" for place, step in enumerate(steps, 1))


def _step(tools: Sequence[str], arguments: Any) -> str:
    return " or ".join(f"{tool} {json.dumps(arguments(tool), ensure_ascii=False)}" for tool in tools)


def _analysis(tool: str, family: str) -> dict[str, Any]:
    match tool:
        case "execute_code":
            return {"code": _CLEAN + _CODE[family] + _WRITE}
        case "convert_data":
            return {"source": _SQL[family], "output": ANSWER, "overwrite": True}
        case _:
            return {"question": family, "table": TABLE, "output": ANSWER}


def _chart(tool: str) -> dict[str, Any]:
    if tool == "plot_data":
        return {"source": ANSWER, "output": "chart.png", "kind": "bar", "x": "category", "y": ["total"]}
    return {"data": ANSWER, "output": "chart.png" if tool == "chart_png" else "chart.svg"}
