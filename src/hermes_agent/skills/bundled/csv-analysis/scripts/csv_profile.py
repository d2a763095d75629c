"""Profile a CSV file, or sum a column by group: encoding, delimiter, types, gaps, ragged rows.

    csv_profile.py FILE [--delimiter C] [--group COLUMN --sum COLUMN]

Streams the file, so its size does not matter. Exit code 3 when rows have another number of fields than the header.
"""

import argparse
import csv
import sys
from collections.abc import Iterator
from pathlib import Path

ENCODINGS = ("utf-8-sig", "cp1252")
MANY = 1000


def encoding_of(path: Path) -> str:
    """The first encoding that reads the whole file."""
    for name in ENCODINGS:
        try:
            with path.open(encoding=name) as file:
                for _ in file:
                    pass
        except UnicodeDecodeError:
            continue
        return name
    return "latin-1"


def delimiter_of(path: Path, encoding: str) -> str:
    """The separator that the header has most of."""
    with path.open(encoding=encoding) as file:
        header = file.readline()
    return max(",;\t|", key=header.count)


def number(text: str) -> float | None:
    """A number written as 1234.5, 1,234.50 or 1.234,50; None for anything else."""
    plain = text.strip().replace(" ", "")
    if plain.count(",") == 1 and plain.rfind(",") > plain.rfind("."):
        whole, part = plain.split(",")
        plain = whole.replace(".", "") + ("." + part if len(part) != 3 or "." in whole else part)
    else:
        plain = plain.replace(",", "")
    try:
        value = float(plain)
    except ValueError:
        return None
    return value if abs(value) < float("inf") else None


class Column:
    """What was seen of one column."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.missing = self.numbers = self.total = 0
        self.low, self.high, self.sum = float("inf"), float("-inf"), 0.0
        self.values: set[str] = set()

    def see(self, text: str) -> None:
        """Take one field into account."""
        self.total += 1
        if not text.strip() or text.strip().lower() in {"na", "n/a", "null", "none", "nan", "-"}:
            self.missing += 1
            return
        if len(self.values) < MANY:
            self.values.add(text)
        value = number(text)
        if value is not None:
            self.numbers += 1
            self.sum += value
            self.low, self.high = min(self.low, value), max(self.high, value)

    def line(self) -> str:
        """The column in one line."""
        present = self.total - self.missing
        distinct = f"{len(self.values)}{'+' if len(self.values) >= MANY else ''} distinct"
        kind = "number" if present and self.numbers == present else "text"
        if 0.9 * present <= self.numbers < present:
            kind = f"mostly number, {present - self.numbers} not"
        said = f"{self.name}: {kind}, {distinct}, {self.missing} missing"
        if self.numbers and kind != "text":
            said += f", min {self.low:g}, max {self.high:g}, mean {self.sum / self.numbers:g}"
        return said


def rows(path: Path, encoding: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Each row with the line on which it ends; blank lines are no rows."""
    with path.open(encoding=encoding, newline="") as file:
        reader = csv.reader(file, delimiter=delimiter)
        for row in reader:
            if row:
                yield reader.line_num, row


def profile(path: Path, encoding: str, delimiter: str) -> int:
    """Print what the file holds."""
    found = rows(path, encoding, delimiter)
    _, header = next(found, (0, []))
    columns = [Column(name) for name in header]
    count, ragged, seen, repeated = 0, [], set(), 0
    for line, row in found:
        count += 1
        if len(row) != len(header):
            ragged.append(line)
        repeated += hash(tuple(row)) in seen
        seen.add(hash(tuple(row)))
        for column, field in zip(columns, row, strict=False):
            column.see(field)
    print(f"{path.name}: {count} rows, {len(header)} columns, {encoding}, delimiter {delimiter!r}")
    for column in columns:
        print("-", column.line())
    if len(set(header)) < len(header):
        print("warning: column names are not unique")
    if repeated:
        print(f"warning: {repeated} repeated rows")
    if ragged:
        print(f"warning: {len(ragged)} rows have another number of fields, first on line {ragged[0]}")
    return 3 if ragged else 0


def grouped(path: Path, encoding: str, delimiter: str, group: str, value: str) -> int:
    """Print the sum, count and mean of one column for each value of another, largest first."""
    found = rows(path, encoding, delimiter)
    _, header = next(found, (0, []))
    for name in (group, value):
        if name not in header:
            print(f"there is no column {name!r}; there are: {', '.join(header)}", file=sys.stderr)
            return 2
    at, of = header.index(group), header.index(value)
    sums: dict[str, list[float]] = {}
    skipped = 0
    for _, row in found:
        amount = number(row[of]) if len(row) > max(at, of) else None
        if amount is None:
            skipped += 1
            continue
        sums.setdefault(row[at].strip(), []).append(amount)
    for name, amounts in sorted(sums.items(), key=lambda item: -sum(item[1])):
        print(f"{name}: sum {sum(amounts):.10g}, count {len(amounts)}, mean {sum(amounts) / len(amounts):g}")
    print(f"all: sum {sum(map(sum, sums.values())):.10g}, rows without a number: {skipped}")
    return 0


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--delimiter", default="")
    parser.add_argument("--group", default="")
    parser.add_argument("--sum", default="")
    given = parser.parse_args()
    if bool(given.group) != bool(given.sum):
        parser.error("--group and --sum belong together")
    csv.field_size_limit(10_000_000)
    encoding = encoding_of(given.file)
    delimiter = given.delimiter or delimiter_of(given.file, encoding)
    if given.group:
        return grouped(given.file, encoding, delimiter, given.group, given.sum)
    return profile(given.file, encoding, delimiter)


if __name__ == "__main__":
    sys.exit(main())
