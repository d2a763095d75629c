"""Names of models, and who speaks for them."""

import pytest

from hermes_agent.models.catalog import PROVIDERS, connect, provider_names, split_name
from hermes_agent.models.client import ProviderOptions
from hermes_agent.types.errors import ConfigError, HermesError, UsageError


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("openai:gpt-x", ("openai", "gpt-x")),
        ("openai:org/model:free", ("openai", "org/model:free")),
        ("apprentice", ("apprentice", "")),
        ("scripted:/a b/c.json", ("scripted", "/a b/c.json")),
    ],
)
def test_a_name_is_provider_and_model(name: str, parts: tuple[str, str]) -> None:
    assert split_name(name) == parts


@pytest.mark.parametrize("name", ["", ":x", "Open AI:x", "../x:y", "__init__", "a/b", "ö:x", "open-ai:x", "openai\n:x"])
def test_what_is_no_name_is_said(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        split_name(name)
    assert (str(caught.value), caught.value.advice) == (
        f"{name!r} is no model name",
        "write provider:model, such as openai:NAME",
    )


def test_an_unknown_provider_is_told_the_known_ones() -> None:
    with pytest.raises(UsageError) as caught:
        connect("opnai:x", ProviderOptions(model="x"))
    assert (str(caught.value), caught.value.advice) == (
        "there is no provider 'opnai'",
        f"known are: {', '.join(provider_names())}; anything OpenAI-compatible works as openai:NAME with --base-url",
    )


def test_every_file_is_a_provider_by_the_name_users_write() -> None:
    files = {path.stem for path in PROVIDERS.glob("*.py")} - {"__init__", "openai_chat"}
    assert provider_names() == sorted(files | {"openai"})
    assert {"apprentice", "openai", "scripted"} <= set(provider_names())


@pytest.mark.parametrize(
    ("name", "options", "message", "remedy"),
    [
        (
            "openai",
            ProviderOptions(model="", api_key="k"),
            "openai: needs a model name",
            "write openai:NAME",
        ),
        (
            "openai:x",
            ProviderOptions(model="x"),
            "openai: needs a key or another endpoint",
            "set OPENAI_API_KEY, or OPENAI_BASE_URL / --base-url",
        ),
        (
            "apprentice:soon",
            ProviderOptions(model="soon"),
            "'soon' is no seed",
            "write apprentice or apprentice:NUMBER",
        ),
        (
            "apprentice:²",
            ProviderOptions(model="²"),
            "'²' is no seed",
            "write apprentice or apprentice:NUMBER",
        ),
    ],
)
def test_what_a_provider_lacks_is_said(name: str, options: ProviderOptions, message: str, remedy: str) -> None:
    with pytest.raises(HermesError) as caught:
        connect(name, options)
    assert (str(caught.value), caught.value.advice) == (message, remedy)
    assert isinstance(caught.value, ConfigError | UsageError)


def test_clients_know_their_names() -> None:
    openai = connect("openai:x", ProviderOptions(model="x", api_key="k"))
    seeded = connect("apprentice:7", ProviderOptions(model="7"))
    plain = connect("apprentice", ProviderOptions(model=""))
    assert [(client.provider, client.model) for client in (openai, seeded, plain)] == [
        ("openai", "x"),
        ("apprentice", "7"),
        ("apprentice", "0"),
    ]
