"""Check research notes: every claim has sources, every source is listed, and they do not all come from one site.

    check_sources.py NOTES.md [--least 2]

A claim is a list item with marks such as [1]; a source is a line `[1]: https://… title, YYYY-MM-DD`. Exit code 1 when
something is missing.
"""

import argparse
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit

SOURCE = re.compile(r"^\[(\d+)\]:\s*(\S+)\s*(.*)$")
CLAIM = re.compile(r"^\s*[-*]\s+(.*)$")
MARK = re.compile(r"\[(\d+)\]")
DATE = re.compile(r"\b(?:19|20)\d\d(?:-\d\d){0,2}\b")


def site(address: str) -> str:
    """The host without www: two pages of one site are one voice."""
    return (urlsplit(address).hostname or "").removeprefix("www.")


def main() -> int:
    """Print what is missing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notes", type=Path)
    parser.add_argument("--least", type=int, default=2)
    given = parser.parse_args()
    sources: dict[str, tuple[str, str]] = {}
    claims: list[tuple[int, str]] = []
    found: list[str] = []
    for number, line in enumerate(given.notes.read_text(encoding="utf-8").splitlines(), 1):
        if source := SOURCE.match(line):
            if source[1] in sources:
                found.append(f"line {number}: source [{source[1]}] is listed twice")
            sources[source[1]] = (source[2], source[3])
        elif claim := CLAIM.match(line):
            claims.append((number, claim[1]))
    used: set[str] = set()
    for number, text in claims:
        marks = set(MARK.findall(text))
        used |= marks
        if unknown := sorted(marks - sources.keys()):
            found.append(f"line {number}: [{'], ['.join(unknown)}] is not among the sources")
        sites = {site(sources[mark][0]) for mark in marks & sources.keys()}
        if len(sites) < given.least and "unverified" not in text.lower():
            found.append(f"line {number}: {len(sites)} independent sites, {given.least} wanted, or say 'unverified'")
    for mark, (address, about) in sources.items():
        if not site(address):
            found.append(f"source [{mark}]: {address!r} is no address")
        if not DATE.search(about):
            found.append(f"source [{mark}]: no date")
        if mark not in used:
            found.append(f"source [{mark}]: no claim uses it")
    print(f"{len(claims)} claims, {len(sources)} sources, {len({site(a) for a, _ in sources.values()})} sites")
    for each in found:
        print("-", each)
    if not claims:
        print("there is no claim in it")
    return 1 if found or not claims else 0


if __name__ == "__main__":
    sys.exit(main())
