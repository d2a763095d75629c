"""Sketches a short text and finishes it. Now and then nothing comes to mind, whatever was asked.

Runs as a program of its own in the sandbox: one JSON object on standard input, one on standard output.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from pathlib import Path
from typing import Any

_WORDS = ("early", "quiet", "warm", "open", "clear", "bright", "patient", "plain", "steady", "kind", "light", "new")
_LINES = {"sketch_free": 1, "sketch_contrast": 2, "sketch_list": 3}


def stuck(way: str, subject: str, odds: float) -> bool:
    """Whether nothing comes to mind: the same for the same subject and way, and foreseen by nothing else."""
    return zlib.crc32(f"{way}:{subject}".encode()) % 1000 < 1000 * odds


def sketched(way: str, form: str, subject: str) -> str:
    """Some words about a subject."""
    rng = random.Random(f"{way}:{form}:{subject}")
    return "\n".join(f"{' '.join(rng.sample(_WORDS, 3))} {subject}" for _ in range(_LINES[way]))


def run(asked: dict[str, Any]) -> dict[str, Any]:
    """One request: sketch, or finish a sketch."""
    try:
        if stuck(asked["way"], asked["subject"], float(asked["stuck"])):
            return {"error": "no_idea", "text": "nothing comes to mind"}
        if asked["way"] in _LINES:
            written = sketched(asked["way"], asked["form"], asked["subject"])
        else:
            first = Path(asked["sketch"]).read_text("utf-8").splitlines()[0]
            written = first if asked["way"] == "finish_short" else f"{first}."
    except (OSError, ValueError, IndexError) as error:
        return {"error": "not_found", "text": f"there is no sketch: {error}"}
    Path(asked["output"]).write_text(written + "\n", "utf-8")
    return {"text": f"wrote {asked['output']}"}


if __name__ == "__main__":
    json.dump(run(json.load(sys.stdin)), sys.stdout)
