"""Tasks out of the Berkeley Function Calling Leaderboard: its multi-turn tools and gold calls, in plain Python.

The package is installed apart (`.bench/bfcl`), because it would pull a machine-learning stack into the environment. A
task is one or more consecutive turns of a conversation: the state that the gold calls of the turns before lead to is
where it starts, its own gold calls are its steps, and the state and answers they lead to are what a run is checked
against.
"""

from __future__ import annotations

import ast
import copy
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".bench" / "bfcl"
SOURCES = "bfcl_eval.eval_checker.multi_turn_eval.func_source_code"
MODULES = {
    "GorillaFileSystem": "gorilla_file_system",
    "MathAPI": "math_api",
    "MessageAPI": "message_api",
    "TwitterAPI": "posting_api",
    "TicketAPI": "ticket_api",
    "TradingBot": "trading_bot",
    "TravelAPI": "travel_booking",
    "VehicleControlAPI": "vehicle_control",
}
_NEEDED = ("bfcl-eval", "mpmath")
_STATELESS = ("MathAPI",)


class Unusable(Exception):
    """A gold call that is no plain call with literal arguments, or that does not run."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One gold call. `changes` when it left its object in another state; `answer` is what it gave back."""

    owner: str
    function: str
    arguments: dict[str, Any]
    changes: bool
    answer: str


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One or more turns: what the user says, the gold calls, and the states before and after. `start` is copied
    before use."""

    id: str
    text: str
    steps: tuple[Step, ...]
    start: Any
    goal: str

    @property
    def owner(self) -> str:
        """The class that most of the calls go to."""
        owners = [step.owner for step in self.steps]
        return max(sorted(set(owners)), key=owners.count)

    @property
    def family(self) -> str:
        """The main class, and whether the task changes anything."""
        changing = any(step.changes and step.function != "cd" for step in self.steps)
        return f"{self.owner}.{'change' if changing else 'look'}"


def package() -> Path:
    """The folder of the installed package, made when it is missing."""
    if not (FOLDER / "bfcl_eval").is_dir() or not (FOLDER / "mpmath").is_dir():
        print(f"installing {' and '.join(_NEEDED)} into {FOLDER.relative_to(ROOT)}", file=sys.stderr, flush=True)
        uv = Path(sys.executable).with_name("uv")
        command = [str(uv), "pip", "install", "--quiet", "--no-deps", "--target", str(FOLDER), *_NEEDED]
        try:
            subprocess.run(command, check=True, cwd=ROOT)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(f"bfcl-eval could not be installed ({error}); by hand: {' '.join(command)}") from error
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return FOLDER


@lru_cache(maxsize=1)
def classes() -> dict[str, type]:
    """The simulated services by name."""
    package()
    return {name: getattr(importlib.import_module(f"{SOURCES}.{module}"), name) for name, module in MODULES.items()}


@lru_cache(maxsize=1)
def documents() -> dict[str, dict[str, Any]]:
    """What the package says about each function: description and parameters."""
    folder = package() / "bfcl_eval" / "data" / "multi_turn_func_doc"
    found = {}
    for owner, module in MODULES.items():
        for line in (folder / f"{module}.json").read_text().splitlines():
            document = json.loads(line)
            found[f"{owner}.{document['name']}"] = document
    return found


def entries() -> Iterator[tuple[dict[str, Any], list[list[str]]]]:
    """Every conversation with its gold calls, turn by turn."""
    data = package() / "bfcl_eval" / "data"
    (questions,) = data.glob("BFCL_v*_multi_turn_base.json")
    (answers,) = (data / "possible_answer").glob("BFCL_v*_multi_turn_base.json")
    gold = {row["id"]: row["ground_truth"] for row in map(json.loads, answers.read_text().splitlines())}
    for line in questions.read_text().splitlines():
        entry = json.loads(line)
        yield entry, gold[entry["id"]]


def fresh_objects(names: Sequence[str], config: dict[str, Any]) -> dict[str, Any]:
    """The services of a conversation as it begins."""
    objects = {}
    for name in names:
        objects[name] = classes()[name]()
        if name not in _STATELESS:
            objects[name]._load_scenario(copy.deepcopy(config.get(name, {})), long_context=False)
    return objects


def state_of(objects: dict[str, Any]) -> str:
    """Everything that distinguishes two states, as text. Times of modification do not."""
    return json.dumps({name: _plain(vars(thing)) for name, thing in sorted(objects.items())}, sort_keys=True)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            str(key): _plain(item) for key, item in value.items() if key not in ("_last_modified", "_api_description")
        }
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, str | int | float | bool) or value is None:
        return value
    kind = type(value).__name__
    if kind == "Directory":
        inside = {name: _plain(item) for name, item in value.contents.items()}
        return {"directory": value.name, "contents": inside, "path": _path(value)}
    if kind == "File":
        return {"file": value.name, "content": value.content}
    return "random" if kind == "Random" else repr(value)


def _path(directory: Any) -> str:
    names = []
    while directory is not None and directory.parent is not directory:
        names.append(directory.name)
        directory = directory.parent
    return "/".join(reversed(names))


def call(objects: dict[str, Any], owner: str, function: str, arguments: dict[str, Any]) -> tuple[bool, str]:
    """Call a service as the leaderboard does: whether it worked, and what it said."""
    try:
        value = getattr(objects[owner], function)(**arguments)
    except Exception as error:  # noqa: BLE001 - the tool boundary: the services raise whatever they like
        return False, f"{type(error).__name__}: {error}"
    worked = not (isinstance(value, dict) and "error" in value)
    return worked, value if isinstance(value, str) else json.dumps(value, default=str)


def parsed(written: str, names: Sequence[str]) -> tuple[str, str, dict[str, Any]]:
    """Class, function and arguments of a gold call."""
    try:
        node = ast.parse(written.strip(), mode="eval").body
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            raise Unusable(written)
        function = node.func.id
        owner = next(name for name in names if f"{name}.{function}" in documents())
        parameters = list(documents()[f"{owner}.{function}"]["parameters"]["properties"])
        positional = dict(zip(parameters, map(ast.literal_eval, node.args), strict=False))
        return owner, function, positional | {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
    except (SyntaxError, ValueError, StopIteration) as error:
        raise Unusable(written) from error


def _made(objects: dict[str, Any], gold: Sequence[str], names: Sequence[str]) -> tuple[Step, ...]:
    """The gold calls of one turn, made."""
    steps = []
    for written in gold:
        owner, function, arguments = parsed(written, names)
        before = state_of(objects)
        worked, answer = call(objects, owner, function, arguments)
        if not worked:
            raise Unusable(f"{written}: {answer}")
        changes = state_of(objects) != before
        steps.append(Step(owner=owner, function=function, arguments=arguments, changes=changes, answer=answer))
    return tuple(steps)


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One turn of a conversation, done as the gold calls say."""

    text: str
    steps: tuple[Step, ...]
    start: Any
    goal: str


def _turns(entry: dict[str, Any], gold: Sequence[Sequence[str]]) -> list[Turn]:
    """The turns of a conversation, up to the first whose gold calls are not plain or do not work."""
    names = [name for name in entry["involved_classes"] if name in MODULES]
    objects = fresh_objects(names, entry["initial_config"])
    turns: list[Turn] = []
    for said, calls in zip(entry["question"], gold, strict=True):
        start = copy.deepcopy(objects)
        try:
            steps = _made(objects, calls, names)
        except Unusable:
            break
        text = " ".join(said[-1]["content"].split()) if said else ""
        turns.append(Turn(text=text, steps=steps, start=start, goal=state_of(objects)))
    return turns


@lru_cache(maxsize=2)
def tasks(shortest: int = 3, longest: int = 5) -> tuple[Task, ...]:
    """Every stretch of consecutive turns that takes this many steps and no fewer turns than needed for the shortest."""
    found = []
    for entry, gold in entries():
        turns = _turns(entry, gold)
        for first in range(len(turns)):
            for last in range(first, len(turns)):
                part = turns[first : last + 1]
                steps = tuple(step for turn in part for step in turn.steps)
                if len(steps) >= shortest:
                    break
            else:
                break
            if len(steps) <= longest:
                name = f"{entry['id']}.{first}-{last}"
                text = " ".join(turn.text for turn in part)
                found.append(Task(id=name, text=text, steps=steps, start=part[0].start, goal=part[-1].goal))
    return tuple(found)
