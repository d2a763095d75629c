"""What every driver shares: its command line, the trivial tool's text, and the line it prints.

A driver runs in a peer's own environment, so this module uses the standard library only.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

MODEL = "scripted"
KEY = "no-key-needed"
QUESTION = "Echo until you are told to stop."
TOOL = "echo"
DESCRIPTION = "Gives the text back."
RESULT = "echoed-result"
"""In every result and nowhere else, so that the endpoint can count results in any peer's request."""


class Options(argparse.Namespace):
    url: str
    iterations: int
    state: Path
    json: bool
    default_tools: bool
    sessions: int


def options() -> Options:
    parser = argparse.ArgumentParser()
    parser.add_argument("--url", required=True, help="base URL of the endpoint, ending in /v1")
    parser.add_argument("--iterations", type=int, required=True, help="tool calls before the final answer")
    parser.add_argument("--state", type=Path, default=Path(), help="folder for whatever the peer stores")
    parser.add_argument("--json", action="store_true", help="print the result as one line of JSON")
    parser.add_argument("--default-tools", action="store_true", help="offer the peer's own default tools as well")
    parser.add_argument("--sessions", type=int, default=1, help="conversations at once, for drivers that can")
    return parser.parse_args(namespace=Options())


class Echo:
    """The tool: no effect, almost no cost, and it counts how often it really ran."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, text: str) -> str:
        self.calls += 1
        return f"{RESULT} {text}"


def report(given: Options, *, answer: str, calls: int) -> None:
    """Last line of a driver's output: the orchestrator refuses a run whose calls or answer are not as scripted."""
    if given.json:
        print(json.dumps({"answer": answer, "calls": calls}), flush=True)
    else:
        print(f"{calls} calls, answer: {answer}", flush=True)
