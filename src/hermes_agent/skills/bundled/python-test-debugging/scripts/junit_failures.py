"""Group the failures of a test run by their cause, from the JUnit XML that pytest writes.

    pytest --junitxml=report.xml -q; junit_failures.py report.xml

One cause often fails many tests: work on the largest group first. Exit code 1 when anything failed.
"""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree

PLACE = re.compile(r"^([\w./\\-]+\.py):(\d+): ?(\w*)", re.MULTILINE)
NOISE = re.compile(r"0x[0-9a-f]+|\d+(?:\.\d+)?|(['\"]).{0,80}?\1")


def cause(message: str) -> str:
    """The first line of a message without what differs between tests."""
    return NOISE.sub("…", message.strip().splitlines()[0] if message.strip() else "no message")[:160]


def main() -> int:
    """Print the groups."""
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    try:
        root = ElementTree.parse(Path(sys.argv[1])).getroot()
    except ElementTree.ParseError as error:
        raise SystemExit(f"{sys.argv[1]} is not a whole report: {error}; was the run cut off?") from None
    groups: dict[str, list[str]] = {}
    ran = skipped = 0
    for case in root.iter("testcase"):
        ran += 1
        skipped += case.find("skipped") is not None
        for kind in ("failure", "error"):
            for found in case.findall(kind):
                places = PLACE.findall(found.text or "")
                where = f" at {places[-1][0]}:{places[-1][1]}" if places else ""
                stage = " (in set-up, not in the test)" if kind == "error" else ""
                name = f"{case.get('classname', '')}::{case.get('name', '')}{where}{stage}"
                groups.setdefault(cause(found.get("message") or found.text or ""), []).append(name)
    failed = sum(map(len, groups.values()))
    print(f"{ran} tests, {failed} failed, {skipped} skipped, {len(groups)} causes")
    for what, names in sorted(groups.items(), key=lambda item: -len(item[1])):
        print(f"{len(names)} x {what}")
        for name in names[:5]:
            print(f"    {name}")
        if len(names) > 5:
            print(f"    and {len(names) - 5} more")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
