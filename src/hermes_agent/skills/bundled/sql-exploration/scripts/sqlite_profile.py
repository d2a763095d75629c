"""Describe a SQLite database without changing it: tables, columns, keys, gaps, and joins that multiply rows.

    sqlite_profile.py FILE [--query SQL] [--limit 20]

The file is opened read-only. `--query` runs one statement and prints its plan and first rows.
"""

import argparse
import sqlite3
import sys
from pathlib import Path


def quoted(name: str) -> str:
    """An identifier as SQL wants it."""
    return '"' + name.replace('"', '""') + '"'


def describe(connection: sqlite3.Connection) -> None:
    """Print every table."""
    found = connection.execute("SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') ORDER BY name")
    for name, kind in [row for row in found if not row[0].startswith("sqlite_")]:
        table = quoted(name)
        (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
        print(f"{kind} {name}: {count} rows")
        for _, column, declared, required, _, key in connection.execute(f"PRAGMA table_info({table})").fetchall():
            said = quoted(column)
            empty, distinct = connection.execute(
                f"SELECT count(*) - count({said}), count(DISTINCT {said}) FROM {table}"
            ).fetchone()
            notes = [declared or "no type", *(["key"] if key else []), *(["required"] if required else [])]
            print(f"  {column}: {', '.join(notes)}; {distinct} distinct, {empty} null")
        for row in connection.execute(f"PRAGMA foreign_key_list({table})").fetchall():
            print(f"  {row[3]} -> {row[2]}.{row[4] or 'its key'}: {orphans(connection, name, row)} without a partner")
        for row in connection.execute(f"PRAGMA index_list({table})").fetchall():
            columns = [each[2] or "expression" for each in connection.execute(f"PRAGMA index_info({quoted(row[1])})")]
            print(f"  index on {', '.join(columns)}{' (unique)' if row[2] else ''}")


def orphans(connection: sqlite3.Connection, name: str, key: tuple[object, ...]) -> str:
    """How many rows point at nothing; a join would lose them."""
    parent, child, target = str(key[2]), str(key[3]), str(key[4] or "rowid")
    try:
        (count,) = connection.execute(
            f"SELECT count(*) FROM {quoted(name)} AS c WHERE c.{quoted(child)} IS NOT NULL AND NOT EXISTS "
            f"(SELECT 1 FROM {quoted(parent)} AS p WHERE p.{quoted(target)} = c.{quoted(child)})"
        ).fetchone()
    except sqlite3.OperationalError as error:
        return f"cannot be counted ({error})"
    return str(count)


def ask(connection: sqlite3.Connection, query: str, limit: int) -> None:
    """Print the plan and the first rows of a query."""
    for row in connection.execute(f"EXPLAIN QUERY PLAN {query}"):
        print("plan:", row[3])
    cursor = connection.execute(query)
    print(" | ".join(column[0] for column in cursor.description or ()))
    shown = cursor.fetchmany(limit + 1)
    for row in shown[:limit]:
        print(" | ".join("NULL" if value is None else str(value) for value in row))
    if len(shown) > limit:
        print(f"more than {limit} rows")


def main() -> int:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--query", default="")
    parser.add_argument("--limit", type=int, default=20)
    given = parser.parse_args()
    if not given.file.is_file():
        print(f"there is no file {given.file}", file=sys.stderr)
        return 2
    connection = sqlite3.connect(f"{given.file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        connection.execute("PRAGMA query_only = ON")
        if given.query:
            ask(connection, given.query, given.limit)
        else:
            describe(connection)
    except (sqlite3.Error, sqlite3.Warning) as error:
        print(f"SQLite says: {error}", file=sys.stderr)
        return 1
    finally:
        connection.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
