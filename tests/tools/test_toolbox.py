import json
from pathlib import Path

import pytest

from hermes_agent.tools.builtin.files import patch, read_file, write_file
from hermes_agent.tools.builtin.toolbox import compact_parameters, tool_search, use_tool
from hermes_agent.tools.shelf import rank
from hermes_agent.tools.tool import declared_tool
from hermes_agent.types.tools import ToolResult, ToolSpec
from tests.tools.context import Context

pytestmark = pytest.mark.req("A4", "A13")


def spec(name: str, description: str, family: str = "custom", **parameters: str) -> ToolSpec:
    properties = {parameter: {"type": kind} for parameter, kind in parameters.items()}
    return ToolSpec(
        name=name,
        description=description,
        family=family,
        parameters={"type": "object", "properties": properties},
    )


SHELF = [
    spec("browser_navigate", "Open a page in the browser.", "browser", url="string"),
    spec("browser_click", "Click on an element of the page.", "browser", ref="string"),
    spec("browser_screenshot", "Take a picture of the page.", "browser"),
    spec("sql_query", "Run SQL over CSV, Excel, Parquet and JSON files.", "data", sql="string"),
    spec("plot", "Draw a chart from data into a PNG.", "data", x="string", y="string"),
    spec("vision_analyze", "Describe a picture.", "vision", path="string"),
    spec("session_search", "Search earlier conversations.", "sessions", query="string"),
    spec("send_message", "Send a message to a person.", "messages", to="string"),
]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("browser_click", "browser_click"),
        ("Browser_Click", "browser_click"),
        ("clicking an element", "browser_click"),
        ("screenshots", "browser_screenshot"),
        ("take a screenshot of the page in the browser", "browser_screenshot"),
        ("describe pictures", "vision_analyze"),
        ("excel", "sql_query"),
        ("charts", "plot"),
        ("messaging", "send_message"),
        ("how do I search my conversations?", "session_search"),
        ("parq", "sql_query"),
    ],
)
def test_the_best_tool_comes_first(query: str, first: str) -> None:
    assert rank(SHELF, query, 3)[0].name == first
    assert rank(reversed(SHELF), query, 3) == rank(SHELF, query, 3)


def test_what_does_not_fit_is_left_out() -> None:
    assert [found.name for found in rank(SHELF, "browser", 10)] == [
        "browser_click",
        "browser_navigate",
        "browser_screenshot",
    ]
    assert rank(SHELF, "quantum", 10) == []
    assert rank([], "browser", 10) == []
    assert rank(SHELF, "browser", 0) == []
    assert [found.name for found in rank(SHELF, "  the of ", 2)] == ["browser_click", "browser_navigate"]


def test_ranking_hostile_words() -> None:
    assert rank(SHELF, "(" * 100_000 + "\0\ud800 browser", 5) == rank(SHELF, "", 5)
    assert rank(SHELF, "\ud800 browser", 1)[0].family == "browser"
    odd = ToolSpec(name="odd", description="x" * 1_000_000, parameters={"properties": ["no", "object"]})
    assert rank([odd], "odd " * 100_000, 5) == [odd]


@pytest.fixture
def context(tmp_path: Path) -> Context:
    made = Context(tmp_path)
    for function in (read_file, write_file, patch):
        declared = declared_tool(function)
        assert declared is not None
        made.tools.tools[declared.spec.name] = declared
    return made


def test_search_describes_tools_in_few_words(context: Context) -> None:
    result = context.now(tool_search, query="file", limit=1)
    assert result == ToolResult(
        text=json.dumps(
            {
                "name": "read_file",
                "description": "Read a text file. The first line of the result says which lines follow and how many "
                "there are.",
                "parameters": {
                    "path": "string: file, or blob:DIGEST of a cut output",
                    "offset?": "integer = 1: first line",
                    "limit?": "integer = 500: number of lines",
                },
            },
            separators=(",", ":"),
        )
    )
    assert len(context.now(tool_search, query="", limit=-4).text.splitlines()) == 1
    assert len(context.now(tool_search, query="", limit=1000).text.splitlines()) == 3
    assert context.now(tool_search, query="no\x1bsuch").text == (
        "no tool fits 'no\\\\u{001b}such'; try other words, or an empty query for all"
    )


def test_parameters_in_few_words() -> None:
    schema = {
        "properties": {
            "mode": {"enum": ["a", "b"], "type": "string", "default": "a"},
            "names": {"type": "array", "items": {"type": "string"}},
            "items": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
            "free": {},
            "odd": True,
            "wide": {"type": "string", "description": "line\n\x1b[31m" + "x" * 1000},
        },
        "required": ["mode"],
    }
    compact = compact_parameters(schema)
    assert compact.pop("wide?").startswith("string: line \\u{001b}[31mxxx")
    assert compact == {
        "mode": 'a|b = "a"',
        "names?": "string[]",
        "items?": '{"type":"array","items":{"type":"object","properties":{"x":{"type":"string"}}}}',
        "free?": "any",
        "odd?": "any",
    }
    assert compact_parameters({"properties": []}) == {}


def test_a_found_tool_is_called(context: Context) -> None:
    context.write("a.txt", "text")
    assert context.now(use_tool, name="read_file", arguments={"path": "a.txt"}) == context.now(read_file, path="a.txt")
    assert context.now(use_tool, name="none").error == "unknown_tool"
    assert context.now(use_tool, name="use_tool", arguments={"name": "use_tool"}).error == "bad_argument"
    assert context.tools.called == [("read_file", {"path": "a.txt"}), ("none", {})]
