"""Report generation: figures from a file of one of four kinds, put into a template of one of three."""

from __future__ import annotations

import csv
import io
import json
import random
from functools import partial
from pathlib import Path
from xml.sax.saxutils import quoteattr

from ..verdict import read_plain
from .parameters import Parameters
from .stages import Stage
from .task import Draft, Step, Task
from .world import Family, FamilyWorld

REPORT, FIGURES = "report.md", "figures.json"
_TEAMS = ("Harbour", "Orchard", "Foundry", "Library", "Workshop", "Nursery", "Bakery", "Depot")
_FIGURES = ("visitors", "orders", "returns", "complaints", "staff_days", "energy_kwh", "deliveries", "repairs")
_PLACEHOLDER = {"txt": "${%s}", "tmpl": "%%(%s)s", "mustache": "{{%s}}"}

_COLLECT = Stage(
    program="reporting",
    arguments={
        "data": "file with the figures",
        "output": "JSON file to write: name and value of each figure",
    },
    paths=("data", "output"),
    writes="output",
    ways={
        "collect_json": "Collect the figures of a report from JSON.",
        "collect_flat": "Collect the figures of a report from JSON or lines of name,value.",
        "collect_sections": "Collect the figures of a report from JSON, lines of name,value or an INI file.",
        "collect_any": "Collect the figures of a report from JSON, lines of name,value, an INI file or XML.",
    },
)
_FILL = Stage(
    program="reporting",
    arguments={
        "template": "file with placeholders",
        "figures": "JSON file with the name and value of each figure",
        "output": "file to write",
    },
    paths=("template", "figures", "output"),
    writes="output",
    ways={
        "fill_dollar": "Fill a template whose placeholders are ${name}.",
        "fill_classic": "Fill a template whose placeholders are ${name} or %(name)s.",
        "fill_any": "Fill a template whose placeholders are ${name}, %(name)s or {{name}}.",
    },
)


def _data(kind: str, figures: dict[str, str]) -> str:
    match kind:
        case "json":
            return json.dumps(figures, indent=1)
        case "csv":
            written = io.StringIO()
            csv.writer(written, lineterminator="\n").writerows([("name", "value"), *figures.items()])
            return written.getvalue()
        case "ini":
            half = len(figures) // 2
            lines = [f"{name} = {value}" for name, value in figures.items()]
            return "\n".join(["[first]", *lines[:half], "", "[second]", *lines[half:], ""])
        case _:
            inner = [f"<figure name={quoteattr(name)} value={quoteattr(value)}/>" for name, value in figures.items()]
            return "\n".join(["<figures>", *inner, "</figures>", ""])


def _make(rng: random.Random, _seed: int, _number: int, given: Parameters) -> Draft:
    data, template = given.drawn(rng, "data"), given.drawn(rng, "template")
    team, week = rng.choice(_TEAMS), rng.randrange(1, 53)
    names = rng.sample(_FIGURES, rng.randrange(4, 7))
    figures = {"team": team, "week": str(week), **{name: str(rng.randrange(10, 9_999)) for name in names}}
    hole = _PLACEHOLDER[template]
    lines = [f"# {hole % 'team'}, week {hole % 'week'}", ""]
    lines += [f"- {name.replace('_', ' ')}: {hole % name}" for name in rng.sample(names, len(names))]
    text = "\n".join([*lines, "", f"Prepared for the meeting of week {hole % 'week'}.", ""])
    report = text
    for name, value in figures.items():
        report = report.replace(hole % name, value)
    source, form = f"figures_{week}.{data}", f"report.{template}"
    request = (
        f"Generate the weekly status report of the team {team}: the template is {form}, the figures are in {source}. "
        f"Write {REPORT}: the template with every placeholder replaced by its figure, and nothing else changed."
    )
    steps = (
        Step(tools=given.ways["collect"], arguments={"data": source, "output": FIGURES}),
        Step(tools=given.ways["fill"], arguments={"template": form, "figures": FIGURES, "output": REPORT}),
    )
    return Draft(
        request=request,
        steps=steps,
        files={source: _data(data, figures).encode(), form: text.encode()},
        truth={"report": report},
    )


def _problem(task: Task, workspace: Path) -> str:
    data = read_plain(workspace / REPORT)
    if data is None:
        return f"there is no {REPORT} of a decent size"
    found = data.decode("utf-8", "replace").strip().splitlines()
    return "" if found == task.truth["report"].strip().splitlines() else f"{REPORT} is not the report that was wanted"


FAMILY = Family(name="reports", stages=(_COLLECT, _FILL), make=_make, problem=_problem)
World = partial(FamilyWorld, FAMILY)
