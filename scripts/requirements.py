"""Which rows of the requirements register have tests: `docs/requirements.md` against the `req` marks of the tests."""

import argparse
import re
import sys
from pathlib import Path

import msgspec

from scripts.marks import UnreadableMark, marked_tests

ROW = re.compile(r"^\| ([A-Z]\d+) \| (.+?) \|$")


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One promise and the tests that name it."""

    id: str
    title: str
    tests: tuple[str, ...]


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """The register with its tests; `unknown` are marks that name no row, as `test: row`."""

    rows: tuple[Row, ...]
    unknown: tuple[str, ...]


def coverage(root: Path) -> Coverage:
    """Read the register and the tests of the tree at `root`. Raises UnreadableMark."""
    text = (root / "docs" / "requirements.md").read_text(encoding="utf-8")
    titles = {match[1]: match[2] for line in text.splitlines() if (match := ROW.match(line))}
    tests: dict[str, dict[str, None]] = {row: {} for row in titles}
    unknown: list[str] = []
    for marked in marked_tests(root):
        if marked.mark != "req":
            continue
        for row in marked.arguments:
            if row in tests:
                tests[row][marked.test] = None
            else:
                unknown.append(f"{marked.test}: {row}")
    return Coverage(
        rows=tuple(Row(id=row, title=title, tests=tuple(tests[row])) for row, title in titles.items()),
        unknown=tuple(unknown),
    )


def table(rows: tuple[Row, ...]) -> str:
    """Rows as aligned text: id, title, then one test on each line."""
    width = max((len(row.title) for row in rows), default=0)
    lines: list[str] = []
    for row in rows:
        first, *rest = row.tests or ("-",)
        lines.append(f"{row.id:<4}| {row.title:<{width}} | {first}")
        lines.extend(f"{'':<4}| {'':<{width}} | {test}" for test in rest)
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print the register with its tests; 1 when a mark names no row or cannot be read."""
    parser = argparse.ArgumentParser(prog="requirements", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--missing", action="store_true", help="only the rows without a test")
    parser.add_argument("--root", type=Path, default=Path.cwd(), help="the project's folder")
    options = parser.parse_args(arguments)
    try:
        found = coverage(options.root)
    except UnreadableMark as error:
        print(error, file=sys.stderr)
        return 1
    rows = tuple(row for row in found.rows if not (options.missing and row.tests))
    if options.json:
        print(msgspec.json.format(msgspec.json.encode(rows)).decode())
    else:
        tested = sum(bool(row.tests) for row in found.rows)
        print(f"{table(rows)}\n{tested} of {len(found.rows)} rows have tests".lstrip())
    for name in found.unknown:
        print(f"no such row: {name}", file=sys.stderr)
    return 1 if found.unknown else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
