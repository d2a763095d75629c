"""The features of a call and the class of an error: the same for the same shape, small, and safe to store."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.learning.cells import hidden
from hermes_agent.learning.context import NEVER_LEARNED, error_class, features_of

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.sampled_from(["http://[::1", "https://user:secret@example.org:99999/a?b=c", "//", "a.b", "x" * 300, "\x00"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
KEYS = st.text(st.characters(exclude_categories=()), max_size=40)


def nested(depth: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.req("H2")
def test_a_call_is_described_by_the_shapes_of_its_arguments_and_what_came_before() -> None:
    arguments = {
        "path": "in/ledger 2024.CSV",
        "encoding": "Latin-1",
        "limit": 7,
        "offset": -1,
        "header": True,
        "columns": ["a", "b"],
    }
    assert features_of(arguments, "find:ok") == (
        "keys=columns,encoding,header,limit,offset,path",
        "columns:list",
        "encoding=latin-1",
        "header=true",
        "limit:number",
        "offset:negative",
        "path.suffix=.csv",
        "after=find:ok",
    )


@pytest.mark.parametrize(
    ("value", "feature"),
    [
        ("", "x:empty"),
        ("   ", "x:empty"),
        ("12345", "x:digits"),
        ("report.tar.gz", "x.suffix=.gz"),
        ("notes.md", "x.suffix=.md"),
        ("v1.0", "x=v1.0"),
        ("src/main", "x:path"),
        ("/", "x:path"),
        ("SELECT * FROM users", "x.head=select"),
        ("42 is the answer", "x:text"),
        ("word " * 100, "x:long"),
        ("line one\nline.two", "x.head=line"),
        ("https://api.example.org:8080/v1?token=abc", "x.host=api.example.org"),
        ("https://user:secret@example.org/", "x.host=example.org"),
        ("http://[::1", "x.host=none"),
        ("file:///etc/passwd", "x.host=none"),
        ([], "x:empty"),
        ([1], "x:list"),
        ({}, "x:object"),
        (None, "x:none"),
        (float("nan"), "x:number"),
        (float("-inf"), "x:negative"),
        (10**4000, "x:number"),
        (b"bytes", "x:none"),
        (object, "x:none"),
    ],
)
def test_each_kind_of_value_has_one_shape(value: object, feature: str) -> None:
    assert features_of({"x": value}) == ("keys=x", feature)


@pytest.mark.req("H14")
def test_an_argument_never_looks_like_a_shape_of_the_call_so_its_words_are_hidden() -> None:
    """What is stored tells the names of the arguments and the call before, and no word that an argument held."""
    assert features_of({"after": "Hunter2", "keys": "hunter2"}, "find:ok") == (
        "keys=after,keys",
        "argument.after=hunter2",
        "argument.keys=hunter2",
        "after=find:ok",
    )
    for name in ("keys", "after", "x.suffix", "keys=", "a & keys", "after=x & after", "a>b"):
        keys, word, after = features_of({name: "hunter2"}, "find:a > b & c")
        assert word.endswith("hunter2"), name
        for condition in (word, f"{keys} & {word}", f"{word} & {after}", f"{after} & {word}"):
            assert "hunter2" not in hidden(condition), (name, condition)
    assert [hidden(one) for one in ("keys=after,keys", "after=find:ok")] == ["keys=after,keys", "after=find:ok"]


def test_no_arguments_say_nothing() -> None:
    assert features_of({}) == ()
    assert features_of({}, "a:ok") == ("after=a:ok",)


@pytest.mark.req("H14")
def test_hostile_arguments_become_a_few_short_features_that_every_database_takes() -> None:
    arguments: dict[Any, Any] = {
        "b\x00d": "http://a\x00b\ud800/x",
        "\ud800": "\ud800",
        7: "seven",
        "deep": nested(5000),
        "long": "secret " * 1_000_000,
        "many": list(range(100_000)),
        "x" * 500: "y" * 24,
        **{f"k{number:04}": number for number in range(2000)},
    }
    found = features_of(arguments, "tool\x00:" + "e" * 500)
    assert len(found) <= 10
    assert all(len(feature) <= 100 and "\x00" not in feature and feature.encode() for feature in found)
    assert not any("secret" in feature for feature in found)
    assert found == features_of(dict(reversed(arguments.items())), "tool\x00:" + "e" * 500)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(KEYS, JSON, max_size=8), st.text(max_size=100))
def test_whatever_the_arguments_are_features_are_few_short_and_the_same_again(
    arguments: dict[str, Any], previous: str
) -> None:
    found = features_of(arguments, previous)
    assert found == features_of(dict(reversed(arguments.items())), previous)
    assert len(found) <= 10
    assert all(len(feature.encode()) <= 600 and len(feature) <= 100 and "\x00" not in feature for feature in found)


@pytest.mark.parametrize(
    ("error", "text", "found"),
    [
        ("ParseProblem", "", "parseproblem"),
        ("", "", "error"),
        ("error", "", "error"),
        ("", "HTTP 429: slow down", "rate_limit"),
        ("RuntimeError", "the deadline has passed", "timeout"),
        ("exit", "bash: jq: command not found", "missing_program"),
        ("nonzero_exit", "exit code 127", "missing_program"),
        ("", "401 Unauthorized", "credentials"),
        ("InvalidApiKey", "", "credentials"),
        ("invalid api key", "", "credentials"),
        ("", "No such file or directory", "not_found"),
        ("", "permission denied", "forbidden"),
        ("", "connection refused", "unreachable"),
        ("", "'utf-8' codec can't decode byte 0xe4", "encoding"),
        ("failed", "invalid JSON at line 3", "parse"),
        ("exception", "expected int got str", "type"),
        ("", "value out of range", "value"),
        ("bad_arguments", "anything", "bad_arguments"),
        ("  Quota  ", "", "quota"),
    ],
)
def test_an_error_has_the_class_its_tool_gave_or_the_one_its_text_speaks_of(error: str, text: str, found: str) -> None:
    assert error_class(error, text) == found


@pytest.mark.req("H14")
def test_a_class_is_never_long_and_only_the_beginning_of_a_text_counts() -> None:
    assert error_class("x" * 1_000_000) == "x" * 40
    assert error_class("", "fine " * 100 + "timeout") == "error"
    assert error_class("oh\x00no\ud800") == "oh no�"
    assert {error_class("credentials are missing"), error_class("missing_program")} <= NEVER_LEARNED
