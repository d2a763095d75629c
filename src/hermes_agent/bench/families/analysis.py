"""Data analysis: measurements from a file of one of four kinds, and one of three questions about them."""

from __future__ import annotations

import csv
import io
import json
import random
from functools import partial
from pathlib import Path
from typing import Any

from .parameters import Parameters
from .stages import Stage
from .task import Draft, Step, Task, json_problem
from .world import Family, FamilyWorld

ANSWER, TABLE = "answer.json", "table.csv"
_COLUMNS = ("reference", "site", "units")
_SITES = ("Aldern", "Birk", "Colm", "Doorn", "Elster", "Fahl", "Grevel")
_QUESTIONS = {
    "total": 'the sum of units over all rows, as {"total": SUM}',
    "groups": "the sum of units of each site, as an object from site to sum",
    "largest": "for each site the reference of the row with the most units, as an object from site to reference",
}
_CODE = """import csv, json
rows = list(csv.DictReader(open("table.csv", encoding="utf-8")))
answer = {}
"""
_CODES = {
    "total": 'answer["total"] = sum(int(r["units"]) for r in rows)',
    "groups": 'for r in rows: answer[r["site"]] = answer.get(r["site"], 0) + int(r["units"])',
    "largest": 'for r in sorted(rows, key=lambda r: int(r["units"])): answer[r["site"]] = r["reference"]',
}
_WRITE = """
json.dump(answer, open("answer.json", "w", encoding="utf-8"))
print(len(answer), "written")"""

_LOAD = Stage(
    program="analysing",
    arguments={"data": "file with the measurements", "output": "CSV file to write: reference, site, units"},
    paths=("data", "output"),
    writes="output",
    ways={
        "load_comma": "Load measurements with fields between commas.",
        "load_delimited": "Load measurements with fields between commas or tabs.",
        "load_records": "Load measurements with fields between commas or tabs, or a JSON object on each line.",
        "load_any": "Load measurements with fields between commas or tabs, in columns, or JSON on each line.",
    },
)
_ANSWER = Stage(
    program="analysing",
    arguments={
        "table": "CSV file with reference, site, units",
        "question": "total or groups",
        "output": "JSON file to write",
    },
    paths=("table", "output"),
    writes="output",
    ways={
        "answer_sum": "Add up all units of a table.",
        "answer_groups": "Add up all units of a table, or those of each site.",
    },
)


def _data(kind: str, rows: list[dict[str, Any]]) -> str:
    match kind:
        case "jsonl":
            return "".join(json.dumps(row) + "\n" for row in rows)
        case "fwf":
            lines = [dict(zip(_COLUMNS, _COLUMNS, strict=True)), *rows]
            return "".join(f"{row['reference']:<12}{row['site']:<10}{row['units']}\n" for row in lines)
        case _:
            written = io.StringIO()
            table = csv.DictWriter(written, _COLUMNS, delimiter="," if kind == "csv" else "\t", lineterminator="\n")
            table.writeheader()
            table.writerows(rows)
            return written.getvalue()


def _answer(question: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    if question == "total":
        return {"total": sum(row["units"] for row in rows)}
    sites = sorted({row["site"] for row in rows})
    of = {site: [row for row in rows if row["site"] == site] for site in sites}
    if question == "groups":
        return {site: sum(row["units"] for row in of[site]) for site in sites}
    return {site: max(of[site], key=lambda row: row["units"])["reference"] for site in sites}


def _make(rng: random.Random, _seed: int, number: int, given: Parameters) -> Draft:
    kind, question = given.drawn(rng, "format"), given.drawn(rng, "question")
    sites = rng.sample(_SITES, rng.randrange(3, 6))
    size = rng.randrange(30, 80)
    units = rng.sample(range(1, 9_999), size)
    rows = [
        {"reference": f"M{number:03d}-{place:03d}", "site": rng.choice(sites), "units": units[place]}
        for place in range(size)
    ]
    source = f"measured_{number}.{kind}"
    request = (
        f"Analyse the measurements in {source}, which has the columns reference, site and units. "
        f"Write {ANSWER}: {_QUESTIONS[question]}."
    )
    code = {"code": _CODE + _CODES[question] + _WRITE}
    steps = (
        Step(tools=given.ways["load"], arguments={"data": source, "output": TABLE}),
        Step(
            tools=given.ways["answer"],
            arguments={"table": TABLE, "question": question, "output": ANSWER},
            own={"execute_code": code},
        ),
    )
    return Draft(
        request=request,
        steps=steps,
        files={source: _data(kind, rows).encode()},
        truth=_answer(question, rows),
    )


def _problem(task: Task, workspace: Path) -> str:
    return json_problem(workspace, ANSWER, task.truth)


FAMILY = Family(name="analysis", stages=(_LOAD, _ANSWER), make=_make, problem=_problem)
World = partial(FamilyWorld, FAMILY)
