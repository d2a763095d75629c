"""Summarise log files: how many lines of each level, which messages, when they began, and the worst minutes.

    log_summary.py FILE... [--level error] [--top 10]

Lines that differ only in numbers, addresses and ids count as one message. Exit code 1 when nothing of that level is
found.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

LEVELS = ("trace", "debug", "info", "notice", "warning", "error", "critical")
NAMES = {"warn": "warning", "err": "error", "fatal": "critical", "panic": "critical", "severe": "error"}
LEVEL = re.compile(r"\b(trace|debug|info|notice|warn(?:ing)?|err(?:or)?|severe|critical|fatal|panic)\b", re.IGNORECASE)
TIME = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d:\d\d(?:[.,]\d+)?"
)
PARTS = (
    (re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b", re.IGNORECASE), "<id>"),
    (re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b"), "<address>"),
    (re.compile(r"\b0x[0-9a-f]+\b|\b(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,}\b", re.IGNORECASE), "<hex>"),
    (re.compile(r"""(["']).{0,200}?\1"""), "<text>"),
    (re.compile(r"\d+(?:\.\d+)?"), "<n>"),
)
TRACE = re.compile(r"^(?:\s+(?:at |File |\.\.\. )|Caused by:|Traceback )")


class Message:
    """One kind of line."""

    def __init__(self, place: str, when: str, line: str) -> None:
        self.count = 0
        self.first, self.last, self.place, self.example = when, when, place, line


def shape(line: str) -> str:
    """A line without what changes from one time to the next."""
    line = TIME.sub("", line[:2000])
    for pattern, name in PARTS:
        line = pattern.sub(name, line)
    return " ".join(line.split())


def level_of(line: str) -> str:
    """The level a line states near its beginning; empty when it states none."""
    found = LEVEL.search(line[:200])
    return NAMES.get(found[1].lower(), found[1].lower()) if found else ""


def read(files: list[Path], least: int) -> tuple[Counter[str], Counter[str], dict[str, Message], int]:
    """Lines by level, bad lines by minute, the messages, and how many stack frames were skipped."""
    levels: Counter[str] = Counter()
    minutes: Counter[str] = Counter()
    messages: dict[str, Message] = {}
    frames = 0
    for file in files:
        with file.open(encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, 1):
                if TRACE.match(line):
                    frames += 1
                    continue
                level = level_of(line)
                levels[level or "none"] += 1
                if not level or LEVELS.index(level) < least:
                    continue
                found = TIME.search(line)
                when = found[0] if found else ""
                message = messages.setdefault(shape(line), Message(f"{file.name}:{number}", when, line.strip()[:200]))
                message.count += 1
                message.last = when or message.last
                if when:
                    minutes[when[:16] if when[4:5] == "-" else when[:5]] += 1
    return levels, minutes, messages, frames


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--level", choices=LEVELS, default="error")
    parser.add_argument("--top", type=int, default=10)
    given = parser.parse_args()
    levels, minutes, messages, frames = read(given.files, LEVELS.index(given.level))
    print("lines:", ", ".join(f"{count} {level}" for level, count in levels.most_common()), f"({frames} stack frames)")
    if not messages:
        print(f"nothing at level {given.level} or above")
        return 1
    print(f"{len(messages)} different messages at {given.level} or above")
    ranked = sorted(messages.values(), key=lambda message: (-message.count, message.first))
    for message in ranked[: given.top]:
        print(f"{message.count} x {message.example}")
        print(f"    first {message.first or '?'} at {message.place}, last {message.last or '?'}")
    if earliest := min(
        (message for message in messages.values() if message.first), key=lambda m: m.first, default=None
    ):
        print(f"earliest: {earliest.first} {earliest.example}")
    for minute, count in minutes.most_common(3):
        print(f"busiest minute: {minute} with {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
