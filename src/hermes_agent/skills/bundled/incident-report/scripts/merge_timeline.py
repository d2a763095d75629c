"""Merge notes and logs with timestamps into one timeline in UTC, with the durations a report needs.

    merge_timeline.py FILE... [--zone +02:00]

A line counts when it begins with an ISO date and time, or an epoch number. `--zone` is for times without one. Lines
that say `[began]`, `[detected]`, `[mitigated]`, `[resolved]` mark those moments. Exit code 1 when no line has a time.
"""

import argparse
import re
import sys
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

ISO = re.compile(r"^\W{0,3}(\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{1,6})?)?)\s?(Z|UTC|[+-]\d\d:?\d\d)?\W*(.*)$")
EPOCH = re.compile(r"^\W{0,3}(1\d{9})(?:\.\d+)?\W+(.*)$")
MARKS = ("began", "detected", "mitigated", "resolved")
SPANS = (("began", "detected"), ("detected", "mitigated"), ("mitigated", "resolved"), ("began", "resolved"))


def zone_of(text: str) -> timezone:
    """`+02:00`, `-0530`, `Z` or `UTC`."""
    if text in ("Z", "UTC", ""):
        return UTC
    found = re.fullmatch(r"([+-])(\d\d):?(\d\d)", text)
    if found is None:
        raise SystemExit(f"{text!r} is no offset; write it as +02:00")
    offset = timedelta(hours=int(found[2]), minutes=int(found[3]))
    return timezone(offset if found[1] == "+" else -offset)


def moment(line: str, zone: timezone) -> tuple[datetime, str] | None:
    """When a line happened and what it says; None when it has no time."""
    if found := ISO.match(line):
        try:
            at = datetime.fromisoformat(found[1].replace(",", "."))
            return at.replace(tzinfo=zone_of(found[2]) if found[2] else zone).astimezone(UTC), found[3].strip()
        except (ValueError, OverflowError):
            return None
    if found := EPOCH.match(line):
        return datetime.fromtimestamp(int(found[1]), UTC), found[2].strip()
    return None


def spoken(length: timedelta) -> str:
    """A duration in hours and minutes."""
    minutes = round(length.total_seconds() / 60)
    return f"{minutes // 60} h {minutes % 60} min" if abs(minutes) >= 60 else f"{minutes} min"


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--zone", default="Z")
    given = parser.parse_args()
    zone = zone_of(given.zone)
    events: list[tuple[datetime, str, str]] = []
    without = 0
    for file in given.files:
        for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
            if found := moment(line, zone):
                events.append((found[0], file.name, found[1]))
            else:
                without += bool(line.strip())
    if not events:
        print("no line begins with a time")
        return 1
    events.sort(key=lambda event: event[0])
    marks: dict[str, datetime] = {}
    print("| UTC | source | what |\n|---|---|---|")
    for at, source, what in events:
        print(f"| {at:%Y-%m-%d %H:%M:%S} | {source} | {what.replace('|', '/')[:200]} |")
        for mark in MARKS:
            if f"[{mark}]" in what.lower():
                marks.setdefault(mark, at)
    print()
    for start, end in SPANS:
        if start in marks and end in marks:
            print(f"{start} to {end}: {spoken(marks[end] - marks[start])}")
            if marks[end] < marks[start]:
                print(f"warning: {end} lies before {start}; look at the zones")
    missing = [mark for mark in MARKS if mark not in marks]
    print(f"{len(events)} events, {without} lines without a time, not marked: {', '.join(missing) or 'nothing'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
