"""Reads a query before it is asked: one SELECT, which tables and files it names, and no function that reaches further.

The engine's own parser is used, so that comments, quoting and nesting hide nothing. What remains is asked of an engine
that can open nothing but the files found here (see opening.py): this is the first of two fences.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .refusal import Refused

if TYPE_CHECKING:
    import duckdb

_READERS = frozenset(
    (
        "read_csv",
        "read_csv_auto",
        "sniff_csv",
        "read_json",
        "read_json_auto",
        "read_json_objects",
        "read_ndjson",
        "read_ndjson_auto",
        "read_ndjson_objects",
        "read_parquet",
        "parquet_scan",
        "parquet_schema",
        "parquet_metadata",
    )
)
_PRODUCERS = frozenset(("range", "generate_series", "unnest", "repeat", "json_each", "json_tree"))
_CLOSED = frozenset(("getenv", "current_setting", "query", "query_table", "json_execute_serialized_sql", "write_log"))
_ONE_SELECT = "send one SELECT (or WITH, FROM, SUMMARIZE, DESCRIBE) statement; convert_data writes files"
_LONGEST = 100_000


class TableName(NamedTuple):
    """A table as the query names it."""

    schema: str
    name: str


class Question(NamedTuple):
    """What a query reads: tables by name, and paths that it hands to readers itself."""

    tables: tuple[TableName, ...]
    paths: tuple[str, ...]


def read_question(connection: duckdb.DuckDBPyConnection, sql: str) -> Question:
    """What `sql` reads. Raises Refused for everything that is not one plain question."""
    import duckdb

    if len(sql) > _LONGEST or "\0" in sql:
        raise Refused("bad_sql", f"a query has at most {_LONGEST} characters and no NUL among them")
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise Refused("bad_sql", str(error)) from error
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        raise Refused("not_a_question", _ONE_SELECT)
    row = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [sql]).fetchone()
    try:
        tree = json.loads(row[0]) if row else {"error": True}
        if tree["error"]:
            raise Refused("not_a_question", f"{tree.get('error_message', 'this cannot be read')}; {_ONE_SELECT}")
        return _question(tree)
    except RecursionError as error:
        raise Refused("bad_sql", "the query is too deeply nested") from error


def _question(tree: Any) -> Question:
    tables: list[TableName] = []
    paths: list[str] = []
    defined: set[str] = set()
    for node in _nodes(tree):
        defined.update(str(entry["key"]).lower() for entry in _defined(node))
        name = str(node.get("function_name", "")).lower()
        if name in _CLOSED:
            raise Refused("refused", f"{name} may not be used here")
        match node.get("type"):
            case "BASE_TABLE":
                tables.append(TableName(str(node["schema_name"]), str(node["table_name"])))
            case "TABLE_FUNCTION":
                paths += _read_by(node["function"])
    known = [table for table in tables if table.schema or table.name.lower() not in defined]
    return Question(tuple(dict.fromkeys(known)), tuple(dict.fromkeys(paths)))


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


def _defined(node: dict[str, Any]) -> list[dict[str, Any]]:
    """The names that a WITH gives to its parts."""
    found = node.get("cte_map")
    return found["map"] if isinstance(found, dict) else []


def _read_by(function: dict[str, Any]) -> list[str]:
    """The paths that a table function reads."""
    name = str(function["function_name"]).lower()
    if name in _PRODUCERS:
        return []
    if name not in _READERS:
        raise Refused("refused", f"{name}() may not be used; write FROM 'FILE', or 'FILE#PART' for a sheet or table")
    arguments = _arguments(function)
    first = arguments[0] if arguments else {}
    parts = _arguments(first) if first.get("function_name") == "list_value" else [first]
    paths = [_text(part) for part in parts]
    if not paths or None in paths:
        raise Refused("refused", f"{name}() needs its files as plain strings")
    return [path for path in paths if path is not None]


def _arguments(function: dict[str, Any]) -> list[dict[str, Any]]:
    return [argument["expression"] for argument in function.get("arguments", ())]


def _text(node: dict[str, Any]) -> str | None:
    literal = node.get("literal") or {}
    return str(literal["text"]) if literal.get("kind") == "STRING" else None
