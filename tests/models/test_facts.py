"""Facts about models: ours, the user's, and what holds for a model nobody knows."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes_agent.models.facts import (
    ModelFacts,
    UserModels,
    aliases,
    cost_usd,
    facts_for,
    known_models,
    models_path,
    parse_models,
    resolve,
)
from hermes_agent.models.providers.gemini import effort_for as gemini_effort
from hermes_agent.models.wire.claude import effort_for as claude_effort
from hermes_agent.models.wire.openai_models import effort_for as openai_effort
from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ConfigError, UsageError
from hermes_agent.types.events import Usage

UNKNOWN = ModelFacts(context_window=32_768, max_output=4_096)
UP_TO_HIGH = (Effort.LOW, Effort.MEDIUM, Effort.HIGH)
GPT_5 = ModelFacts(
    context_window=400_000,
    max_output=128_000,
    input_usd=1.25,
    output_usd=10,
    cached_usd=0.125,
    efforts=UP_TO_HIGH,
    vision=True,
    as_of="2025-12",
)
FREE = ModelFacts(context_window=4_096, max_output=1_024, input_usd=0, output_usd=0, cached_usd=0)


def unpriced(facts: ModelFacts) -> ModelFacts:
    return msgspec.structs.replace(facts, input_usd=None, output_usd=None, cached_usd=None, as_of="")


def written(home: Path, text: str) -> Path:
    models_path(home).write_text(text)
    return home


@pytest.mark.req("A2")
@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("openai:gpt-5", GPT_5),
        ("openai_responses:gpt-5-2025-08-07", GPT_5),
        ("openai:gpt-5-latest", GPT_5),
        ("openai:gpt-5-something", unpriced(GPT_5)),
        ("codex:gpt-5", unpriced(GPT_5)),
        ("openrouter:openai/gpt-5", unpriced(GPT_5)),
        ("openai:gpt-59", UNKNOWN),
        ("openai:gpt-5x", UNKNOWN),
        ("openai:my-gpt-5", UNKNOWN),
        ("openai:nobody-knows", UNKNOWN),
        ("openai:local:free-of-charge", UNKNOWN),
        ("openai:local", UNKNOWN),
        ("somebody:else", UNKNOWN),
        ("local", FREE),
        ("local:smollm2", FREE),
        ("local:/weights/big.gguf", FREE),
    ],
)
def test_the_longest_name_wins_and_prices_hold_where_they_are_sure(name: str, facts: ModelFacts, home: Path) -> None:
    assert facts_for(name, home) == facts


def test_gateways_spell_names_in_their_own_way(home: Path) -> None:
    sonnet = facts_for("anthropic:claude-sonnet-4-5-20250929", home)
    assert sonnet.context_window == 200_000 and sonnet.input_usd == 3
    for name in (
        "openrouter:anthropic/claude-sonnet-4.5",
        "bedrock:us.anthropic.claude-sonnet-4-5-20250929-v1:0",
        "bedrock:arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-4-5-20250929-v1:0",
    ):
        assert facts_for(name, home) == unpriced(sonnet)


def test_a_later_version_is_not_priced_like_an_earlier_one(home: Path) -> None:
    assert facts_for("anthropic:claude-opus-4-20250514", home).input_usd == 15
    assert facts_for("anthropic:claude-opus-4-0", home).input_usd == 15
    assert facts_for("anthropic:claude-opus-4-5", home).input_usd == 5
    assert facts_for("anthropic:claude-opus-4-99", home).input_usd is None
    assert facts_for("openai:gpt-4o-2024-05-13", home).input_usd == 5
    assert facts_for("openai:gpt-4o-2024-08-06", home).input_usd == 2.5


def test_every_fact_of_ours_is_whole(home: Path) -> None:
    found = known_models(home)
    assert {"openai", "anthropic", "gemini", "mistral", "local"} == {name.partition(":")[0] for name in found}
    for name, facts in found.items():
        assert facts_for(name, home) == facts
        assert (facts.input_usd is None) == (facts.output_usd is None), name
        assert facts.cached_usd is None or (facts.input_usd is not None and facts.cached_usd <= facts.input_usd), name
        assert bool(facts.as_of) == bool(facts.input_usd), name
        assert facts.max_output < facts.context_window, name


@pytest.mark.req("A15")
def test_efforts_are_those_that_the_adapters_send(home: Path) -> None:
    def named(tell: Callable[[str, Effort], str], model: str) -> tuple[Effort, ...]:
        return tuple(level for level in Effort if tell(model, level) == level.value)

    def told_apart(model: str) -> tuple[Effort, ...]:
        levels: dict[str, Effort] = {}
        for level in Effort:
            if (config := gemini_effort(model, level)) is not None:
                levels.setdefault(repr(config), level)
        return tuple(levels.values())

    for name, facts in known_models(home).items():
        provider, _, model = name.partition(":")
        match provider:
            case "openai":
                assert facts.efforts == named(openai_effort, model), name
            case "anthropic":
                assert facts.efforts == named(claude_effort, model), name
            case "gemini":
                assert facts.efforts == told_apart(model), name


@pytest.mark.req("A2")
def test_the_user_extends_and_overrides(home: Path) -> None:
    written(
        home,
        "models:\n"
        "  gpt-5: {context_window: 1000, as_of: '2030-02'}\n"
        "  openai:gpt-5-mini: {input_usd: 1, output_usd: 2}\n"
        "  'ollama:': {input_usd: 0, output_usd: 0, tools: false}\n"
        "  ollama:qwen3:8b: {context_window: 40960, efforts: [low, max], vision: true, as_of: '2030-01'}\n",
    )
    assert facts_for("openai:gpt-5", home) == msgspec.structs.replace(GPT_5, context_window=1000, as_of="2030-02")
    mini = facts_for("openai:gpt-5-mini", home)
    assert (mini.input_usd, mini.output_usd, mini.cached_usd, mini.as_of) == (1, 2, None, "")
    assert (mini.context_window, mini.efforts) == (400_000, UP_TO_HIGH)
    assert facts_for("ollama:anything", home) == ModelFacts(input_usd=0, output_usd=0, tools=False)
    qwen = ModelFacts(context_window=40_960, efforts=(Effort.LOW, Effort.MAX), vision=True, as_of="2030-01")
    assert facts_for("ollama:qwen3:8b", home) == qwen
    assert facts_for("openai:qwen3:8b", home) == UNKNOWN
    assert {"openai:gpt-5-mini", "ollama:qwen3:8b"} <= known_models(home).keys()


def test_a_changed_file_is_read_again(home: Path) -> None:
    written(home, "models: {openai:x: {context_window: 1000}}\n")
    assert facts_for("openai:x", home).context_window == 1000
    written(home, "models: {openai:x: {context_window: 2000}}\n")
    os.utime(models_path(home), ns=(1, 1))
    assert facts_for("openai:x", home).context_window == 2000
    models_path(home).unlink()
    assert facts_for("openai:x", home) == UNKNOWN


@pytest.mark.parametrize("text", ["", "# nothing\n", "models:\n", "models: {}\naliases:\n", "models: {x: }\n"])
def test_empty_files_say_nothing(text: str) -> None:
    assert parse_models(text, "f") == UserModels()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("modles: {}\n", "f: unknown key modles; did you mean models?"),
        ("zzz: {}\n", "f: unknown key zzz; known are: models, aliases"),
        (
            "models: {a:b: {context_windw: 5}}\n",
            "unknown key models.a:b.context_windw; did you mean models.a:b.context",
        ),
        ("models: {a:b: {sold_by: [x]}}\n", "f: unknown key models.a:b.sold_by; known are: context_window"),
        ("models: {a:b: {context_window: much}}\n", "f: models.a:b.context_window: Expected `int`, got `str`"),
        ("models: {a:b: {context_window: 0}}\n", "Expected `int` >= 1"),
        ("models: {a:b: {input_usd: -1}}\n", "Expected `float` >= 0.0"),
        ("models: {a:b: {input_usd: .nan}}\n", "f: models.a:b.input_usd: Expected `float`"),
        ("models: {a:b: {input_usd: 1}}\n", "f: models.a:b: input_usd alone is no price"),
        ("models: {a:b: {output_usd: 1}}\n", "f: models.a:b: output_usd alone is no price"),
        ("models: {a:b: {input_usd: 1, cached_usd: 1}}\n", "f: models.a:b: input_usd alone is no price"),
        ("models: {gpt-5: {cached_usd: 1}}\n", "f: models.gpt-5: cached_usd alone is no price"),
        ("models: {a:b: {efforts: [extreme]}}\n", "Invalid enum value 'extreme'"),
        ("models: {a:b: 5}\n", "f: models.a:b: Expected `object`, got `int`"),
        ("models: 5\n", "f: models: Expected `object`, got `int`"),
        ("aliases: {a: 5}\n", "f: aliases: Expected `str`, got `int`"),
        ("models: &m {}\naliases: *m\n", "f: line 2, column 10: YAML aliases (*name) are not allowed"),
        ("models: [\n", "f: line 2, column 1"),
        ("- a\n", "f: the file must be a mapping of sections, not a list"),
    ],
)
def test_what_does_not_fit_is_said(text: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_models(text, "f")
    assert message in str(caught.value) and caught.value.advice


def test_aliases(home: Path) -> None:
    assert resolve("fast", home) == "fast"
    assert aliases(home) == {}
    written(home, "aliases: {fast: openai:gpt-5-mini, daily: fast, a: b, b: c, c: a, me: me}\n")
    assert [resolve(name, home) for name in ("fast", "daily", "openai:x", "")] == [
        "openai:gpt-5-mini",
        "openai:gpt-5-mini",
        "openai:x",
        "",
    ]
    for name, circle in (("a", "a → b → c → a"), ("me", "me → me")):
        with pytest.raises(ConfigError, match=circle):
            resolve(name, home)


def test_an_unreadable_file_is_said(home: Path) -> None:
    models_path(home).mkdir()
    with pytest.raises(ConfigError, match=r"cannot read .*models\.yaml"):
        facts_for("openai:x", home)


@pytest.mark.parametrize("name", ["", "Open AI:x"])
def test_what_is_no_name_has_no_facts(name: str, home: Path) -> None:
    with pytest.raises(UsageError):
        facts_for(name, home)


@pytest.mark.req("B4")
@pytest.mark.parametrize(
    ("prices", "usage", "usd"),
    [
        ({"input_usd": 2, "output_usd": 10, "cached_usd": 0.5}, (1_000_000, 100_000, 400_000), 1.2 + 0.2 + 1.0),
        ({"input_usd": 2, "output_usd": 10}, (1_000_000, 100_000, 400_000), 3.0),
        ({"input_usd": 2, "output_usd": 10, "cached_usd": 1}, (100, 0, 1_000), 0.0001),
        ({"input_usd": 0, "output_usd": 0}, (10**9, 10**9, 0), 0.0),
        ({"input_usd": 2}, (1, 1, 0), None),
        ({}, (0, 0, 0), None),
    ],
)
def test_cost(prices: dict[str, Any], usage: tuple[int, int, int], usd: float | None) -> None:
    given, output, cached = usage
    cost = cost_usd(ModelFacts(**prices), Usage(input=given, output=output, cached=cached))
    assert cost == (usd if usd is None else pytest.approx(usd))
