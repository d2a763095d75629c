"""The record of a history: a line for each task, safe against a crash at any moment."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from .study import Study, TaskRecord

_FILE = "tasks.jsonl"


def done(study: Study) -> list[TaskRecord]:
    """The tasks that were done so far. What a crash cut off does not count, nor anything behind it."""
    path = study.folder / _FILE
    if not path.exists():
        return []
    records: list[TaskRecord] = []
    for line in path.read_bytes().splitlines():
        try:
            record = msgspec.json.decode(line, type=TaskRecord)
        except msgspec.MsgspecError:
            break
        if record.number != len(records):
            break
        records.append(record)
    return records


def append(study: Study, record: TaskRecord) -> None:
    """Add a task, on disk when this returns."""
    with _file(study).open("ab") as file:
        file.write(msgspec.json.encode(record) + b"\n")
        file.flush()
        os.fsync(file.fileno())


def rewrite(study: Study, records: Sequence[TaskRecord]) -> None:
    """Leave whole lines only."""
    fresh = _file(study).with_suffix(".new")
    fresh.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    fresh.replace(_file(study))


def _file(study: Study) -> Path:
    study.folder.mkdir(parents=True, exist_ok=True)
    return study.folder / _FILE
