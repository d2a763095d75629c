"""Open-ended tasks, the control: whether a text is liked is a coin that belongs to the task, which nothing foresees.

A text must be there and speak of its subject; beyond that, no policy and no learning can raise the share of tasks that
succeed. Calls fail by chance too, so that there is something to be misled by.
"""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path

from ..verdict import read_plain
from .parameters import Parameters
from .stages import Stage
from .task import Draft, Step, Task
from .world import Family, FamilyWorld

TEXT, SKETCH = "text.txt", "sketch.txt"
_OF = ("the small", "the old", "the second", "the new", "the northern", "the late")
_SUBJECTS = ("harbour", "night train", "garden", "library", "bakery", "lighthouse", "market", "river walk", "choir")
_SKETCH = Stage(
    program="inventing",
    arguments={"subject": "what it is about", "form": "what it shall become", "output": "file to write"},
    paths=("output",),
    writes="output",
    ways={
        "sketch_free": "Sketch a short text freely.",
        "sketch_contrast": "Sketch a short text from a contrast.",
        "sketch_list": "Sketch a short text from a list of words.",
    },
)
_FINISH = Stage(
    program="inventing",
    arguments={"sketch": "file with the sketch", "subject": "what it is about", "output": "file to write"},
    paths=("sketch", "output"),
    writes="output",
    ways={"finish_short": "Make a short text of a sketch.", "finish_plain": "Make a whole sentence of a sketch."},
)


def _make(rng: random.Random, _seed: int, number: int, given: Parameters) -> Draft:
    form = given.drawn(rng, "form")
    subject = f"{rng.choice(_OF)} {rng.choice(_SUBJECTS)} {number}"
    request = (
        f"Think of a {form} for {subject}, something that people will like. "
        f"Write it into {TEXT}; it must name {subject}."
    )
    steps = (
        Step(tools=given.ways["sketch"], arguments={"subject": subject, "form": form, "output": SKETCH}),
        Step(tools=given.ways["finish"], arguments={"sketch": SKETCH, "subject": subject, "output": TEXT}),
    )
    return Draft(
        request=request,
        steps=steps,
        truth={"subject": subject, "liked": rng.random() < given.odds["liked"]},
    )


def _problem(task: Task, workspace: Path) -> str:
    data = read_plain(workspace / TEXT)
    if data is None:
        return f"there is no {TEXT} of a decent size"
    if task.truth["subject"] not in data.decode("utf-8", "replace"):
        return f"{TEXT} does not name {task.truth['subject']}"
    return "" if task.truth["liked"] else "people did not like it"


FAMILY = Family(name="open-ended", stages=(_SKETCH, _FINISH), make=_make, problem=_problem)
World = partial(FamilyWorld, FAMILY)
