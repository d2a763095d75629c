"""Names of models, and who speaks for them."""

import pytest

from hermes_agent.models.access import options_for
from hermes_agent.models.catalog import PROVIDERS, clients, connect, provider_names, split_name
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
    compatible = {"openai", "openrouter", "mistral", "ollama", "vllm", "llamacpp"}
    assert provider_names() == sorted(files | compatible)
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


BASE = ProviderOptions(model="", timeout=1.0, connect_timeout=2.0)


@pytest.mark.req("A2", "R8")
def test_each_key_is_a_client_of_its_own() -> None:
    found = options_for("mistral", "m", {"MISTRAL_API_KEY": "one, two,"}, BASE)
    assert found == [
        ProviderOptions(
            model="m",
            provider="mistral",
            base_url="https://api.mistral.ai/v1",
            api_key=key,
            timeout=1.0,
            connect_timeout=2.0,
        )
        for key in ("one", "two")
    ]
    assert [client.provider for client in clients("mistral:m", {"MISTRAL_API_KEY": "one,two"}, BASE)] == ["mistral"] * 2


@pytest.mark.parametrize(
    ("explicit", "variables", "configured", "address"),
    [
        ("http://a", {"OPENAI_BASE_URL": "http://b"}, "http://c", "http://a"),
        ("", {"OPENAI_BASE_URL": "http://b"}, "http://c", "http://b"),
        ("", {}, "http://c", "http://c"),
        ("", {"OTHER_BASE_URL": "http://d"}, "", ""),
    ],
)
def test_flag_before_environment_before_configuration(
    explicit: str, variables: dict[str, str], configured: str, address: str
) -> None:
    base = ProviderOptions(model="", base_url=explicit)
    assert options_for("openai", "x", variables, base, configured)[0].base_url == address


def test_a_new_provider_finds_its_key_by_its_name() -> None:
    found = options_for("newcomer", "x", {"NEWCOMER_API_KEY": "k", "NEWCOMER_BASE_URL": "http://n"}, BASE)[0]
    assert (found.api_key, found.base_url) == ("k", "http://n")


def test_what_only_some_providers_know_comes_from_their_variables() -> None:
    aws = {"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s", "HOME": "/x"}
    (found,) = options_for("bedrock", "id", aws, BASE)
    assert found.extra == {"region": "eu-central-1", "access_key_id": "a", "secret_access_key": "s"}
