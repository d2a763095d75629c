"""`hermes model`: what is there, what answers, and how good it is, from the installed command."""

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.models.catalog import provider_names
from hermes_agent.models.probe import ProbeQuestion, probe_sheet
from tests.cli.command import Hermes
from tests.endpoint import Calls, Endpoint, Fault, Reply, Request, Usage, call, fail, text

QUESTIONS = probe_sheet().questions
OWN_PRICE = "models: {openai:some-model: {input_usd: 1, output_usd: 2}}\n"


def _write(hermes: Hermes, name: str, content: str) -> Path:
    hermes.home.mkdir(exist_ok=True)
    path = hermes.home / name
    path.write_text(content)
    return path


def _right(question: ProbeQuestion) -> Reply:
    arguments = {name: values[0] for name, values in question.arguments.items()}
    usage = Usage(prompt_tokens=100, completion_tokens=10)
    return Calls(calls=(call(question.tool, **arguments),), usage=usage)


def _answering(wrong: dict[int, Reply]) -> Callable[[Request], Reply]:
    """Right answers to the questions of the probe, but for those whose numbers are given."""
    numbers = {question.request: number for number, question in enumerate(QUESTIONS)}

    def respond(request: Request) -> Reply:
        number = numbers[request.json["messages"][-1]["content"]]
        return wrong.get(number) or _right(QUESTIONS[number])

    return respond


@pytest.mark.req("A2")
def test_list_says_what_is_there_and_what_is_missing(hermes: Hermes) -> None:
    _write(
        hermes,
        "models.yaml",
        "aliases: {fast: openai:some-model}\n" + OWN_PRICE,
    )
    _write(hermes, "config.yaml", "model: {name: openai:some-model, fallbacks: [local]}\n")
    keys = {"MISTRAL_API_KEY": "one-key, another-key", "ANTHROPIC_API_KEY": "a-key"}
    done = hermes.run("model", "list", "--json", env=keys)
    assert done.returncode == 0 and "another-key" not in done.stdout
    got: dict[str, Any] = json.loads(done.stdout)
    providers = {one.pop("name"): one for one in got["providers"]}
    assert list(providers) == provider_names()
    ready = {"ready": True, "problem": "", "remedy": ""}
    assert providers["mistral"] == {**ready, "keys": 2, "variables": ["MISTRAL_API_KEY"]}
    assert providers["anthropic"] == {**ready, "keys": 1, "variables": ["ANTHROPIC_API_KEY"]}
    assert providers["ollama"] == {**ready, "keys": 0, "variables": ["OLLAMA_API_KEY"]}
    assert providers["openrouter"] == {
        "ready": False,
        "keys": 0,
        "variables": ["OPENROUTER_API_KEY"],
        "problem": "needs a key",
        "remedy": "set OPENROUTER_API_KEY",
    }
    assert [providers[name]["ready"] for name in ("openai", "gemini", "bedrock", "codex")] == [False] * 4
    assert (got["model"], got["fallbacks"], got["aliases"]) == (
        "openai:some-model",
        ["local"],
        {"fast": "openai:some-model"},
    )
    assert got["models"]["openai:some-model"]["input_usd"] == 1
    assert got["models"]["local:smollm2"]["output_usd"] == 0


def test_list_for_people(hermes: Hermes) -> None:
    _write(hermes, "models.yaml", "aliases: {fast: openai:some-model}\n")
    done = hermes.run("model", "list")
    lines = [line.split() for line in done.stdout.splitlines()]
    assert done.returncode == 0 and "no model is configured" in done.stderr
    assert ["provider", "state", "keys", "what", "to", "do"] in lines
    assert ["mistral", "needs", "a", "key", "set", "MISTRAL_API_KEY"] in lines
    assert lines[-1] == ["fast", "openai:some-model"]


def test_list_and_set_write_nothing_they_need_not(hermes: Hermes) -> None:
    assert hermes.run("model", "list").returncode == 0
    assert hermes.run("model", "set", "mistral:x").returncode == 2
    assert not hermes.home.exists()


@pytest.mark.req("H1")
def test_set_checks_and_writes(hermes: Hermes) -> None:
    _write(hermes, "models.yaml", "aliases: {fast: mistral:small, again: fast}\n")
    config = _write(hermes, "config.yaml", "model:\n  base_url: http://me:pass@127.0.0.1:1/v1  # mine\n")
    done = hermes.run("model", "set", "again", env={"MISTRAL_API_KEY": "k", "HERMES_MODEL": "openai:y"})
    assert done.returncode == 0, done
    assert config.read_text() == ("model:\n  name: mistral:small\n  base_url: http://me:pass@127.0.0.1:1/v1  # mine\n")
    assert f"model.name is now mistral:small in {config}" in done.stderr
    assert "model.base_url is " in done.stderr and "pass@" not in done.stderr
    assert "HERMES_MODEL is openai:y and comes before it" in done.stderr
    got = hermes.json("model", "set", "apprentice")
    assert (got["model"], got["path"], got["facts"]["input_usd"]) == ("apprentice", str(config), 0)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mistral:x", "mistral: needs a key"),
        ("openrouter:a/b", "openrouter: needs a key"),
        ("openai:x", "openai: needs a key or another endpoint"),
        ("openai", "openai: needs a model name"),
        ("opnai:x", "there is no provider 'opnai'"),
        ("Some Model", "'Some Model' is no model name"),
        ("circle", "lead in a circle"),
        ("local:/not/there.gguf", "/not/there.gguf"),
    ],
)
def test_set_and_test_refuse_what_cannot_connect(hermes: Hermes, name: str, message: str) -> None:
    _write(hermes, "models.yaml", "aliases: {circle: other, other: circle}\n")
    config = _write(hermes, "config.yaml", "model: {name: apprentice}\n")
    for command in ("set", "test"):
        done = hermes.run("model", command, name)
        assert done.returncode == 2 and message in done.stderr and "try:" in done.stderr, done
        assert "Traceback" not in done.stderr
    assert config.read_text() == "model: {name: apprentice}\n"


def test_a_bad_file_of_facts_is_one_line(hermes: Hermes) -> None:
    _write(hermes, "models.yaml", "models:\n  openai:x: {context_windw: 5}\n")
    for command in (("list",), ("set", "apprentice"), ("test", "apprentice")):
        done = hermes.run("model", *command)
        assert done.returncode == 2 and "did you mean models.openai:x.context_window?" in done.stderr, done
        assert len(done.stderr.splitlines()) <= 2


@pytest.mark.req("A2")
def test_the_score_is_printed_as_it_is(hermes: Hermes) -> None:
    wrong: dict[int, Reply] = {
        1: text("I would rather not."),
        2: Calls(calls=(call(QUESTIONS[2].tool, nonsense=1),)),
        4: Calls(calls=(call("no_such_tool"),)),
        6: fail(Fault.SERVER_ERROR),
    }
    with Endpoint(_answering(wrong)) as endpoint:
        env = {"OPENAI_BASE_URL": endpoint.url, "HERMES_MODEL": "openai:scripted"}
        done = hermes.run("model", "test", env=env)
        asked = hermes.json("model", "test", "openai:scripted", "--base-url", endpoint.url)
        few = hermes.json("model", "test", "openai:scripted", "--base-url", endpoint.url, "--calls", "3")
    assert done.returncode == 0, done
    assert "openai:scripted: 16 of 20 calls right (right tool: 17) in " in done.stdout.splitlines()[-1]
    assert "tokens/s" in done.stdout.splitlines()[-1]
    assert len(done.stdout.splitlines()) == 1 + 4 + 1
    assert "✓ 1/20" in done.stderr and "✗ 2/20" in done.stderr and "✓ 20/20" in done.stderr
    assert {key: asked[key] for key in ("model", "asked", "right_tool", "right_arguments")} == {
        "model": "openai:scripted",
        "asked": 20,
        "right_tool": 17,
        "right_arguments": 16,
    }
    assert asked["tokens_per_second"] > 0 and asked["seconds"] > 0
    assert [place for place, one in enumerate(asked["answers"]) if not one["right_arguments"]] == [1, 2, 4, 6]
    assert (few["asked"], few["right_tool"], few["right_arguments"]) == (3, 2, 1)


def test_a_model_that_cannot_be_reached_exits_with_one(hermes: Hermes) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        done = hermes.run("model", "test", "openai:x", "--base-url", url)
    assert done.returncode == 1 and "error: " in done.stderr and "Traceback" not in done.stderr, done
    with Endpoint(_answering({}), key="the-right-key") as endpoint:
        env = {"OPENAI_BASE_URL": endpoint.url, "OPENAI_API_KEY": "a-wrong-key"}
        done = hermes.run("model", "test", "openai:scripted", env=env)
        assert done.returncode == 1 and "OPENAI_API_KEY" in done.stderr, done
        assert len(endpoint.requests) == 1
    with Endpoint(lambda request: fail(Fault.SERVER_ERROR)) as endpoint:
        got = hermes.json("model", "test", "openai:scripted", "--base-url", endpoint.url, "--calls", "2", code=1)
    assert (got["asked"], got["right_tool"], got["tokens_per_second"]) == (2, 0, None)


def test_without_a_model_there_is_nothing_to_test(hermes: Hermes) -> None:
    done = hermes.run("model", "test")
    assert done.returncode == 2 and "no model is named or configured" in done.stderr
    assert hermes.run("model", "test", "apprentice", "--calls", "21").returncode == 2
    assert hermes.run("model", "test", "apprentice", "--calls", "0").returncode == 2
