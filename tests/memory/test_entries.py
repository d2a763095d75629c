"""Entries: any text is a file, every byte is kept, and a change of one entry leaves the others as they were."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.memory.entries import (
    Alike,
    Form,
    Noted,
    alike,
    carried,
    matching,
    parse,
    rendered,
    said_already,
    tidied,
    with_entry,
    with_replaced,
    without,
)

BY_HAND = (
    "# Work\n\nBuilds with `make`.\nSecond line.\n\n- one\n  more of one\nlazy line\n* two\n-\ttabbed\r\n## End\nfree"
)
lines = st.sampled_from(
    ["- a", "* b", "  more", "\tmore", "", " ", "# head", "word", "-", "#", "- - c", "x\r", "\u2028", "-x"]
)
files = st.one_of(st.lists(lines, max_size=12).map("\n".join), st.text(max_size=80))
texts = st.one_of(st.lists(lines, min_size=1, max_size=4).map("\n".join), st.text(min_size=1, max_size=40)).filter(
    tidied
)


def said(text: str) -> list[str]:
    return [one.text for one in parse(text)]


def test_a_file_written_by_hand() -> None:
    found = parse(BY_HAND)
    assert [(one.number, one.line, one.form, one.text) for one in found] == [
        (1, 1, Form.HEADING, "Work"),
        (2, 3, Form.PARAGRAPH, "Builds with `make`.\nSecond line."),
        (3, 6, Form.ITEM, "one\nmore of one\nlazy line"),
        (4, 9, Form.ITEM, "two"),
        (5, 10, Form.ITEM, "tabbed"),
        (6, 11, Form.HEADING, "End"),
        (7, 12, Form.PARAGRAPH, "free"),
    ]
    assert parse("") == ()
    assert parse("- x") == (Noted(number=1, text="x", line=1, form=Form.ITEM, start=0, end=3),)


@settings(max_examples=150)
@given(files)
def test_entries_are_pieces_of_the_text_and_only_blank_lines_are_none(text: str) -> None:
    rest, place = "", 0
    for one in parse(text):
        rest += text[place : one.start]
        place = one.end
        assert text[one.start : one.end].strip(" \t\r\n")
    assert not (rest + text[place:]).strip(" \t\r\n")


@settings(max_examples=150)
@given(files, texts)
def test_adding_keeps_every_byte_and_reads_back(text: str, fresh: str) -> None:
    longer = with_entry(text, fresh)
    assert longer.startswith(text)
    assert said(longer) == [*said(text), tidied(fresh)]
    assert said(rendered(fresh)) == [tidied(fresh)]


@settings(max_examples=150)
@given(files, texts, st.integers(0, 20))
def test_replacing_and_removing_leave_the_others(text: str, fresh: str, which: int) -> None:
    entries = parse(text)
    if not entries:
        return
    old = entries[which % len(entries)]
    expected = said(text)
    replaced = with_replaced(text, old, fresh)
    assert said(replaced) == [*expected[: old.number - 1], tidied(fresh), *expected[old.number :]]
    assert replaced.startswith(text[: old.start]) and replaced.endswith(text[old.end :])
    assert said(without(text, old)) == expected[: old.number - 1] + expected[old.number :]


def test_line_ends_of_the_file_are_kept() -> None:
    assert with_entry("- a\r\n", "b\nc") == "- a\r\n- b\r\n  c\r\n"
    assert said("- a\r\n- b\r\n  c\r\n") == ["a", "b\nc"]


def test_an_entry_is_named_by_number_text_or_a_part() -> None:
    entries = parse("- port 8080\n- port 80\n- 2\n")
    assert [one.number for one in matching(entries, "2")] == [2]
    assert [one.number for one in matching(entries, "port 80")] == [2]
    assert [one.number for one in matching(entries, "port")] == [1, 2]
    assert [one.number for one in matching(entries, "8080")] == [1]
    assert matching(entries, "") == [] and matching(entries, "  ") == [] and matching(entries, "²") == []


def test_what_is_said_already_is_known_in_any_case_and_spacing() -> None:
    entries = parse("- Prefers  Tabs\n")
    assert said_already(entries, "prefers tabs") == entries[0]
    assert said_already(entries, "prefers spaces") is None


def test_entries_that_say_nearly_the_same() -> None:
    entries = parse(
        "- The user deploys the shop with make ship on Fridays\n- Likes tea\n"
        "- Deploys shop with make ship, Fridays only\n"
    )
    assert alike(entries) == (Alike(first=1, second=3, likeness=1.0),)
    assert alike(parse("- make\n- make\n# make\n")) == (Alike(first=1, second=2, likeness=1.0),)


@pytest.mark.parametrize(
    ("before", "after", "onto", "result"),
    [
        ("- a\n", "- a\n- b\n", "- a\n", "- a\n- b\n"),
        ("- a\n- b\n", "- a\n", "- c\n- a\n- b\n", "- c\n- a\n"),
        ("- a\n", "- b\n", "- x\n- a\n", "- x\n- b\n"),
        ("", "- a\n", "- a\n", "- a\n"),
        ("", "# h\n\npara\n", "- a", "- a\n\n# h\n\npara\n"),
        ("- a\n", "", "- other\n", "- other\n"),
    ],
)
def test_a_change_is_carried_onto_another_text(before: str, after: str, onto: str, result: str) -> None:
    assert carried(before, after, onto) == result
