"""Changing one value leaves every other as it was, whatever the file looks like."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from hermes_agent.config.edit import with_value
from hermes_agent.config.load import parse_yaml
from hermes_agent.types.errors import ConfigError

_text = st.text(st.characters(codec="utf-8", exclude_characters="\ufeff"), max_size=30)
_values = _text | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.booleans()
_names = st.sampled_from(["name", "timeout", "seconds", "files.read", "shell"])
_sections = st.sampled_from(["model", "limits", "permissions", "store"])
_files = st.dictionaries(_sections, st.dictionaries(_names, _values, max_size=4), max_size=4)


@given(_files, _sections, _names, _values, st.sampled_from([True, False, None]), st.integers(2, 6))
def test_round_trip(
    data: dict[str, dict[str, Any]], section: str, name: str, value: Any, flow: bool | None, indent: int
) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, indent=indent, allow_unicode=True)
    before = parse_yaml(text, "x")
    changed = with_value(text, section, name, value)
    wanted = {**before, section: {**before.get(section, {}), name: value}}
    assert parse_yaml(changed, "x") == wanted


@given(_values)
def test_every_other_line_stays(value: Any) -> None:
    text = "# a\nmodel:  # b\n  name: x  # c\n  timeout: 3\n# d\nlimits: {seconds: 5}  # e\n# f\n"
    changed = with_value(text, "model", "name", value)
    before, behind = "# a\nmodel:  # b\n  name: ", "  # c\n  timeout: 3\n# d\nlimits: {seconds: 5}  # e\n# f\n"
    assert changed.startswith(before) and changed.endswith(behind)


@pytest.mark.parametrize(
    "text",
    [
        "model:\n  name: |\n    block\n    of lines\n  timeout: 3\n",
        "model:\n  name: >-\n    folded\n",
        "model:\n  name:\n  timeout: 3\n",
        "model:\n  name: 'quoted # x'\n",
        '{"model": {"name": "json"}}\n',
        "  model:\n    name: indented\n",
        "---\nmodel:\n  name: x\n...\n",
        "model: {name: x,}\n",
        "\ufeffmodel:\n  name: x\n",
        "model:\n  name: x",
        "limits:\n  seconds: 5",
        "limits: {}",
    ],
)
@pytest.mark.parametrize("key", [("model", "name"), ("model", "attempts"), ("store", "url")])
def test_shapes_people_write(text: str, key: tuple[str, str]) -> None:
    before = parse_yaml(text, "x")
    section, name = key
    after = parse_yaml(with_value(text, section, name, "new value"), "x")
    assert after == {**before, section: {**(before.get(section) or {}), name: "new value"}}


def test_what_cannot_be_changed_safely_is_left_to_the_user() -> None:
    with pytest.raises(ConfigError, match="cannot be changed safely"):
        with_value("model:\n  ? name\n  : complex\n", "model", "attempts", 2)
