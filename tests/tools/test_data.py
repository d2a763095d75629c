"""Tables of the workspace: read in every format, asked, described, drawn, converted; and nothing else is reached."""

import codecs
import gzip
import json
import os
import sqlite3
import zipfile
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.config.settings import SandboxSettings
from hermes_agent.tools.builtin.data import convert_data, describe_data, plot_data, query_data
from hermes_agent.tools.data.worker import answer
from hermes_agent.tools.processes import ProcessTable
from hermes_agent.tools.sandbox.bubblewrap import Bubblewrap
from hermes_agent.tools.tool import declared_tool
from hermes_agent.types.errors import ConfigError, PermissionRefused
from hermes_agent.types.tools import Capability, ToolResult
from tests.tools.context import ENVIRONMENT, Context

pytest.importorskip("duckdb")
SHEET = """<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">
<sheetData>{rows}</sheetData></worksheet>"""
WORKBOOK = """<?xml version="1.0"?><workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"
 xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets>{sheets}</sheets></workbook>"""
RELATIONS = """<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
{relations}</Relationships>"""
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = """<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>"""


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(tmp_path)


def cell(place: str, value: object) -> str:
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def workbook(path: Path, **sheets: str) -> None:
    """An Excel file with the given cells in each sheet."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("[Content_Types].xml", TYPES)
        main = f'<Relationship Id="r1" Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/>'
        packed.writestr("_rels/.rels", RELATIONS.format(relations=main))
        listed = [f'<sheet name="{name}" sheetId="{n}" r:id="r{n}"/>' for n, name in enumerate(sheets, 1)]
        packed.writestr("xl/workbook.xml", WORKBOOK.format(sheets="".join(listed)))
        relations = [
            f'<Relationship Id="r{n}" Type="{OFFICE}/worksheet" Target="worksheets/s{n}.xml"/>'
            for n, _ in enumerate(sheets, 1)
        ]
        packed.writestr("xl/_rels/workbook.xml.rels", RELATIONS.format(relations="".join(relations)))
        for n, rows in enumerate(sheets.values(), 1):
            packed.writestr(f"xl/worksheets/s{n}.xml", SHEET.format(rows=rows))


def ask(context: Context, sql: str, *files: str, limit: int = 50) -> dict[str, Any]:
    """The worker's answer, without the process around it."""
    arguments = {"sql": sql, "files": list(files), "limit": limit}
    return answer({"do": "query", "workspace": str(context.workspace), "with": arguments})


def rows(context: Context, sql: str, *files: str) -> list[str]:
    found = ask(context, sql, *files)
    assert "error" not in found, found
    return str(found["text"]).split("\n")


@pytest.mark.req("A4")
@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("name;price;day\nÄpfel;1.234,50;01.02.2024\nBirnen;-2,5;15.03.2024\n", "cp1252"),
        ("name\tprice\tday\r\nÄpfel\t1234,5\t2024-02-01\r\nBirnen\t-2,5\t2024-03-15\r\n", "utf-16"),
        ('name,price,day\n"Äpfel",1234.5,2024-02-01\nBirnen,-2.5,2024-03-15\n', "utf-8"),
        ("name|price|day\nÄpfel|1234.5|2024-02-01\nBirnen|-2.5|2024-03-15\n", "utf-8-sig"),
    ],
)
def test_csv_with_any_separator_decimal_mark_and_encoding(context: Context, text: str, encoding: str) -> None:
    context.write("a b/prices's [1].csv", text.encode(encoding))
    found = rows(context, "SELECT name, price * 2, day + 1 FROM 'a b/prices''s [1].csv' ORDER BY price")
    assert found[1:] == ["Birnen | -5 | 2024-03-16", "Äpfel | 2469 | 2024-02-02"]


def test_thousands_in_quotes_are_not_taken_for_decimals(context: Context) -> None:
    context.write("a.csv", 'n,v\nx,"1,234"\ny,"2,500"\n')
    context.write("b.csv", "n;v\nx;1,5\ny;unknown\n")
    assert rows(context, "SELECT v FROM 'a.csv'") == ["v", "1,234", "2,500"]
    assert rows(context, "SELECT v FROM 'b.csv'") == ["v", "1,5", "unknown"]


def test_other_formats(context: Context) -> None:
    context.write("l.ndjson", '{"a": 1, "b": "x"}\n{"a": 2}\n')
    context.write("l.json", '[{"a": 1, "b": {"c": [1, 2]}}]')
    context.write("z.csv.gz", gzip.compress(b"a,b\n1,2\n"))
    context.write("p/one.csv", "a,b\n1,2\n")
    context.write("p/two.csv", "b,a\n4,3\n")
    assert rows(context, "FROM 'l.ndjson'") == ["a | b", "1 | x", "2 | NULL"]
    assert rows(context, "SELECT b.c[2] AS c FROM 'l.json'") == ["c", "2"]
    assert rows(context, "FROM 'z.csv.gz'") == ["a | b", "1 | 2"]
    assert rows(context, "SELECT a, b FROM 'p/*.csv' ORDER BY a") == ["a | b", "1 | 2", "3 | 4"]
    assert rows(context, "SELECT one.a + two.a AS s FROM one, two", "p/one.csv", "p/two.csv") == ["s", "4"]


def test_workbooks_have_sheets(context: Context) -> None:
    first = f'<row r="1">{cell("A1", "item")}{cell("B1", "item")}{cell("C1", "n")}</row>'
    first += f'<row r="2">{cell("A2", "=1+1 &amp; x")}{cell("B2", "b")}{cell("C2", 3)}</row>'
    first += f'<row r="3">{cell("A3", "y")}{cell("C3", 4.5)}</row>'
    second = f'<row r="1">{cell("A1", "k")}</row><row r="2">{cell("A2", 7)}</row>'
    workbook(context.workspace / "book.xlsx", Data=first, Other=second)
    assert rows(context, "FROM 'book.xlsx'") == ["item | item_2 | n", "=1+1 & x | b | 3", "y | NULL | 4.5"]
    assert rows(context, "FROM 'book.xlsx#other'") == ["k", "7"]
    assert rows(context, "FROM book.Other", "book.xlsx") == ["k", "7"]
    assert rows(context, "SELECT sum(n) AS s FROM book", "book.xlsx") == ["s", "7.5"]
    assert ask(context, "FROM 'book.xlsx#None'") == {
        "error": "not_found",
        "text": "book.xlsx has no table 'None'; it has: Other, Data",
    }


def test_databases_have_tables_also_what_is_still_in_the_log(context: Context) -> None:
    path = context.workspace / "shop.db"
    database = sqlite3.connect(path)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("CREATE TABLE orders (id INTEGER, v REAL, t TEXT, b BLOB)")
    database.executemany(
        "INSERT INTO orders VALUES (?, ?, ?, ?)", [(1, 1.5, "x\0y", b"\1"), (2, None, '",\n\\N', None)]
    )
    database.execute("CREATE VIEW big AS SELECT id FROM orders WHERE id > 1")
    database.commit()
    before = sorted(os.listdir(context.workspace))
    assert rows(context, "FROM orders ORDER BY id", "shop.db") == [
        "id | v | t | b",
        "1 | 1.5 | x\N{REPLACEMENT CHARACTER}y | 01",
        '2 | NULL | ", \\N | NULL',
    ]
    assert rows(context, "FROM 'shop.db#big'") == ["id", "2"]
    assert sorted(os.listdir(context.workspace)) == before
    database.close()


@pytest.mark.req("R3")
@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO 'x.csv'",
        "COPY (SELECT 1) TO '/etc/x'",
        "SELECT 1; COPY (SELECT 1) TO 'x.csv'",
        "CREATE TABLE t AS SELECT 1",
        "INSTALL httpfs",
        "LOAD httpfs",
        "ATTACH '/etc/passwd' AS p",
        "PRAGMA version",
        "SET memory_limit = '100GB'",
        "RESET lock_configuration",
        "EXPORT DATABASE 'x'",
        "CALL pragma_version()",
        "EXPLAIN ANALYZE SELECT 1",
        "",
    ],
)
def test_only_questions_are_asked(context: Context, sql: str) -> None:
    context.write("a.csv", "a\n1\n")
    assert ask(context, sql)["error"] in ("not_a_question", "bad_sql")
    assert os.listdir(context.workspace) == ["a.csv"]


@pytest.mark.req("R3", "A4")
@pytest.mark.parametrize(
    "source",
    [
        "read_csv('{outside}')",
        "'{outside}'",
        "read_csv('../secret.csv')",
        "'../secret.csv'",
        "'../*.csv'",
        "read_csv('../*.csv')",
        "read_csv(['a.csv', '{outside}'])",
        "read_csv('link.csv')",
        "'link.csv'",
        "read_csv('folder/secret.csv')",
        "'folder/secret.csv'",
        "read_csv('a.csv' || '')",
        "read_csv((SELECT '{outside}'))",
        "read_csv(/* 'a.csv' */ '{outside}')",
        "read_text('{outside}')",
        "read_blob('/proc/self/environ')",
        "glob('/etc/*')",
        "read_csv('/proc/self/fd/0')",
        "read_csv('fifo')",
        "'fifo'",
        "query('FROM ''{outside}''')",
        "json_execute_serialized_sql('x')",
        "arrow_scan(1::POINTER, 2::POINTER, 3::POINTER)",
        "pandas_scan(1::POINTER)",
        "duckdb_settings()",
        "sqlite_scan('{outside}', 't')",
        "'http://127.0.0.1:9/x.csv'",
        "read_parquet('s3://bucket/x.parquet')",
        "read_csv('https://127.0.0.1:9/x.csv')",
        "'a.csv' WHERE getenv('HOME') <> ''",
        "'a.csv' WHERE current_setting('secret_directory') <> ''",
        "'a.csv' WHERE EXISTS (FROM read_csv('{outside}'))",
    ],
)
def test_a_question_stays_in_the_workspace(context: Context, tmp_path: Path, source: str) -> None:
    outside = tmp_path / "secret.csv"
    outside.write_text("secret\nZwiebelkuchen\n")
    context.write("a.csv", "a\n1\n")
    (context.workspace / "link.csv").symlink_to(outside)
    (context.workspace / "folder").symlink_to(tmp_path)
    os.mkfifo(context.workspace / "fifo")
    found = ask(context, f"SELECT * FROM {source.format(outside=outside)}")
    assert "error" in found and "Zwiebelkuchen" not in found["text"], found


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("empty.csv", b"", "empty"),
        ("noise.bin", b"\x00\x01\x02" * 100, "not_a_table"),
        ("nul.csv", b"a,b\n1,\x002\n", "not_a_table"),
        ("half.parquet", b"PAR1" + b"\xff" * 200 + b"PAR1", "sql_"),
        ("short.parquet", b"PAR1", "sql_"),
        ("broken.xlsx", b"PK\x03\x04" + b"\0" * 300, "damaged"),
        ("broken.xls", b"\xd0\xcf\x11\xe0" + b"\0" * 300, "damaged"),
        ("broken.db", b"SQLite format 3\0" + b"\xff" * 3000, "damaged"),
        ("broken.json", b'[{"a": 1}, {"a"', "sql_"),
        ("deep.json", b"[" * 100_000, "sql_"),
        ("late.csv", b"a,b\n" + b"1,2\n" * 10 + b"3,4,5,6\n", "sql_"),
    ],
)
def test_damaged_files_are_said_to_be_so(context: Context, name: str, content: bytes, error: str) -> None:
    context.write(name, content)
    found = ask(context, f"SELECT count(*), * FROM '{name}' GROUP BY ALL")
    assert found.get("error", "").startswith(error) or (name == "late.csv" and "rows" in found), found


def test_bombs_are_refused(context: Context) -> None:
    with zipfile.ZipFile(context.workspace / "bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/worksheets/s1.xml", b"0" * 1000)
        packed.filelist[0].file_size = 301 << 20
    context.write("wide.csv", b"a," * 300_000 + b"\n" + b"1," * 300_000)
    context.write("quote.csv", b'a,b\n1,"' + b"x" * 3_000_000)
    assert ask(context, "FROM 'bomb.xlsx'") == {"error": "too_large", "text": "bomb.xlsx unpacks to more than 300 MB"}
    for name in ("wide.csv", "quote.csv"):
        found = ask(context, f"FROM '{name}'")
        assert found["error"] in ("too_large", "sql_invalidinput") and len(found["text"]) < 2_000, found


@pytest.mark.req("R3")
def test_a_worker_that_dies_is_a_failure_and_no_more(context: Context) -> None:
    """A sheet with its only cells at the far corners would take hundreds of gigabytes."""
    corners = f'<row r="1">{cell("A1", "x")}</row><row r="1048576">{cell("XFD1048576", 1)}</row>'
    workbook(context.workspace / "corners.xlsx", S=corners)
    found = context.now(query_data, sql="FROM 'corners.xlsx'")
    assert (found.ok, found.error) in ((False, "crashed"), (False, "too_large"), (False, "damaged")), found


def test_a_query_through_the_process(context: Context) -> None:
    context.write("d/a.csv", "x,y\n1,\x1b[2Jü\n")
    found = context.now(query_data, sql="SELECT * FROM read_csv('d/*.csv', delim=',')")
    assert found == ToolResult(text="x | y\n1 | \\u{001b}[2Jü\n[1 row]", origin="d/a.csv")
    long = context.now(query_data, sql="SELECT range AS n FROM range(30000)", limit=3)
    assert long.text == (
        f"n\n0\n1\n2\n[rows 1-3 of more than 20000; read_file(path='blob:{long.blob[:16]}') has 20000 as CSV]"
    )
    assert context.blobs.get(long.blob).decode().split("\n")[:3] == ["n", "0", "1"]
    missing = context.now(query_data, sql="FROM read_csv('d/b.csv')")
    assert missing == ToolResult(ok=False, error="not_found", text="'d/b.csv' does not exist; similar: a.csv")
    assert context.now(query_data, sql=" ").error == "bad_argument"
    assert context.now(query_data, sql="SELECT 1", limit=0).error == "bad_argument"
    unknown = context.now(query_data, sql="SELECT nope FROM 'd/a.csv'")
    assert unknown.error == "sql_binder" and 'Candidate bindings: "x"' in unknown.text


def test_what_is_not_there_is_named(context: Context) -> None:
    context.write("sales.csv", "a\n1\n")
    found = context.now(query_data, sql="FROM sales.csv UNION ALL FROM 'Sale.csv'")
    assert found == ToolResult(ok=False, error="not_found", text="'Sale.csv' does not exist; similar: sales.csv")
    assert rows(context, "FROM sales.csv") == ["a", "1"]
    assert ask(context, "FROM nothing")["error"] == "sql_catalog"
    assert ask(context, "FROM 'sales.csv#part'")["error"] == "not_found"
    assert ask(context, f"SELECT {'[' * 900}1{']' * 900}")["error"] == "bad_sql"
    assert ask(context, f"SELECT {'(' * 9000}1{')' * 9000}")["error"] == "bad_sql"


@pytest.mark.req("R3")
def test_in_the_sandbox(context: Context, tmp_path: Path) -> None:
    try:
        sandbox = Bubblewrap(SandboxSettings(), ENVIRONMENT)
        sandbox.prove(context.workspace)
    except ConfigError as error:
        pytest.skip(str(error))
    table = ProcessTable(sandbox, tmp_path / "confined", context.blobs, context.workspace)
    context.processes = table.for_call(context.journal.announce)
    context.write("s.csv", "a;b\n1;2,5\n")
    done = context.now(convert_data, source="s.csv", output="new/t.json")
    assert done == ToolResult(text="wrote new/t.json: 1 rows, 21 bytes", origin="s.csv")
    assert json.loads((context.workspace / "new/t.json").read_bytes()) == [{"a": 1, "b": 2.5}]


def test_describe(context: Context) -> None:
    context.write("s.csv", "name,n\nb,1\na,\nc,3\n")
    assert context.now(describe_data, path="s.csv") == ToolResult(
        text="s.csv: 3 rows, 2 columns\n"
        "column | type | missing_percent | distinct_about | min | max | mean\n"
        "name | VARCHAR | 0.00 | 3 | a | c | NULL\n"
        "n | BIGINT | 33.33 | 2 | 1 | 3 | 2.0\n"
        "first rows:\nname | n\nb | 1\na | NULL\nc | 3",
        origin="s.csv",
    )
    assert context.now(describe_data, path="none.csv").error == "not_found"
    assert context.now(describe_data, path="../x.csv").error == "permission"


def draw(context: Context, **arguments: Any) -> dict[str, Any]:
    wish = {"kind": "line", "x": "", "y": [], "title": "", "output": "p.png", **arguments}
    return answer({"do": "plot", "workspace": str(context.workspace), "with": wish})


@pytest.mark.slow
def test_plots(context: Context) -> None:
    context.write("s.csv", "day,$x_1$,b\n2024-01-01,1,2\n2024-01-02,3,\n2024-01-03,2,5\n")
    for kind in ("line", "bar", "scatter", "hist", "box", "area"):
        made = draw(context, source="s.csv", kind=kind, output=f"out/{kind}.png", title="$\\frac{ \x1b[0m")
        assert made.get("read") == ["s.csv"], made
        assert (context.workspace / f"out/{kind}.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert draw(context, source="SELECT 1 AS a", y=["z"])["error"] == "not_found"
    assert draw(context, source="SELECT 'x' AS a, 'y' AS b")["error"] == "not_numeric"
    assert draw(context, source="SELECT 1 AS a, 2 AS b WHERE false")["error"] == "empty"
    assert draw(context, source="SELECT range AS a, 1 AS b FROM range(300)", kind="bar")["error"] == "too_many"
    assert draw(context, source="SELECT range AS a, 1 AS b FROM range(100001)")["error"] == "too_many"
    assert draw(context, source="SELECT 1 AS a, 2 AS b", output="../p.png")["error"] == "permission"
    assert draw(context, source="COPY (SELECT 1) TO 'x'")["error"] == "not_found"
    assert sorted(os.listdir(context.workspace)) == ["out", "s.csv"]


def test_plot_through_the_process(context: Context) -> None:
    context.write("s.csv", "a,b\n1,2\n2,3\n")
    drawn = context.now(plot_data, source="s.csv", output="p.png", kind="scatter")
    assert drawn.ok and drawn.text.startswith("drew p.png: scatter of b by a, 2 rows, "), drawn
    assert context.now(plot_data, source="s.csv", output="p.jpg").error == "bad_argument"


def convert(context: Context, source: str, output: str) -> dict[str, Any]:
    return answer({"do": "convert", "workspace": str(context.workspace), "with": {"source": source, "output": output}})


def test_conversions(context: Context) -> None:
    context.write("s.csv", 'name;v\nä;1,5\n"q""";2\n'.encode("cp1252"))
    for output in ("t.parquet", "t.json", "t.ndjson", "t.csv"):
        assert "error" not in convert(context, "s.csv", output)
        assert rows(context, f"FROM '{output}'") == ["name | v", "ä | 1.5", 'q" | 2']
    assert json.loads((context.workspace / "t.json").read_bytes()) == [{"name": "ä", "v": 1.5}, {"name": 'q"', "v": 2}]
    assert (context.workspace / "t.csv").read_bytes()[:3] != codecs.BOM_UTF8
    assert convert(context, "SELECT 1 AS a -- all", "u.json")["text"] == "u.json: 1 rows, 13 bytes"
    assert convert(context, "s.csv", "t.xlsx")["error"] == "bad_argument"
    assert convert(context, "s.csv", "/etc/t.csv")["error"] == "permission"


def test_convert_never_overwrites_unasked(context: Context) -> None:
    context.write("s.csv", "a\n1\n")
    context.write("old.json", "mine")
    refused = context.now(convert_data, source="s.csv", output="old.json")
    assert refused.error == "exists" and (context.workspace / "old.json").read_text() == "mine"
    done = context.now(convert_data, source="s.csv", output="old.json", overwrite=True)
    assert done == ToolResult(text="wrote old.json: 1 rows, 13 bytes", origin="s.csv")
    with pytest.raises(PermissionRefused):
        context.now(convert_data, source="s.csv", output="../s.json")


def test_what_they_declare() -> None:
    specs = [tool.spec for tool in map(declared_tool, (query_data, describe_data, plot_data, convert_data)) if tool]
    assert [spec.rare for spec in specs] == [True] * 4
    assert [spec.replaces for spec in specs] == [(), (), ("output",), ("output",)]
    read, write = Capability.FILES_READ, Capability.FILES_WRITE
    reads, both = frozenset((read,)), frozenset((read, write))
    assert [spec.capabilities for spec in specs] == [reads, reads, both, both]
