"""`hermes usage` after real runs of the installed command, on both databases."""

from datetime import date

import pytest

from tests.cli.command import Hermes, say
from tests.endpoint import Calls, Endpoint, Reply, Text, Usage, call, sequence

FIRST = Usage(prompt_tokens=1_000_000, completion_tokens=100_000, cached_tokens=0)
SECOND = Usage(prompt_tokens=1_000_000, completion_tokens=100_000, cached_tokens=600_000)


def _prepared(hermes: Hermes, store_url: str, models: str) -> None:
    hermes.home.mkdir()
    (hermes.home / "models.yaml").write_text(models)
    if store_url:
        hermes.run("config", "set", "store.url", store_url)


def _worked(hermes: Hermes) -> str:
    """One session of two calls to an endpoint that says what they used."""
    replies: list[Reply] = [Calls(calls=(call("list_files"),), usage=FIRST), Text(text="done", usage=SECOND)]
    with Endpoint(sequence(replies)) as endpoint:
        got = hermes.json("run", "look here", "-m", "openai:scripted", "--base-url", endpoint.url)
    assert got["answer"] == "done"
    return str(got["session"])


@pytest.mark.req("R9", "B4")
@pytest.mark.slow
def test_tokens_cache_and_money(hermes: Hermes, store_url: str) -> None:
    _prepared(hermes, store_url, "models: {openai:scripted: {input_usd: 2, output_usd: 10, cached_usd: 0.5}}\n")
    session = _worked(hermes)
    keys = {"model": "openai:scripted", "provider": "openai", "session": session, "day": date.today().isoformat()}
    for by, key in keys.items():
        got = hermes.json("usage", "--by", by)
        (row,) = got["rows"]
        used = row.pop("used")
        assert row == {
            "key": key,
            "title": "look here" if by == "session" else "",
            "cached_share": 0.3,
            "usd": 5.1,
            "usd_known": 5.1,
            "unpriced": [],
        }
        fixed, conversation = used.pop("fixed"), used.pop("conversation")
        assert used == {"calls": 2, "failures": 0, "input": 2_000_000, "output": 200_000, "cached": 600_000}
        assert fixed > 1000 and fixed % 2 == 0 and fixed + conversation == 2_000_000
        assert got["total"] == {**row, "key": "total", "title": "", "used": got["total"]["used"]}
        assert (got["by"], got["since_days"]) == (by, None)


@pytest.mark.slow
def test_the_table_says_what_is_unknown(hermes: Hermes) -> None:
    _prepared(hermes, "", "models: {}\n")
    _worked(hermes)
    hermes.run("run", "hello", "-m", hermes.script(say("hi")))
    done = hermes.run("usage", "--by", "provider")
    head, openai, scripted, total, estimate = done.stdout.splitlines()
    assert head.split() == ["provider", "calls", "failed", "input", "output", "cached", "from", "cache", "cost"]
    assert openai.split() == ["openai", "2", "0", "2,000,000", "200,000", "600,000", "30%", "unknown"]
    assert scripted.split()[:3] == ["scripted", "1", "0"] and scripted.endswith("$0.0000")
    assert total.split()[:3] == ["total", "3", "0"] and total.endswith("unknown")
    assert estimate.startswith("estimate: ") and "fixed overhead (system prompt and tools" in estimate
    assert "no price is known for openai:scripted: give it in models.yaml" in done.stderr
    got = hermes.json("usage", "--by", "provider")
    assert (got["total"]["usd"], got["total"]["unpriced"]) == (None, ["openai:scripted"])


@pytest.mark.slow
def test_failures_are_counted(hermes: Hermes) -> None:
    _prepared(hermes, "", "")
    model = hermes.script({"failure": "bad_request"})
    assert hermes.run("run", "hello", "-m", model).returncode == 1
    used = hermes.json("usage", "--since", "1")["total"]["used"]
    assert used["failures"] >= 1 and used["calls"] == used["failures"] and used["input"] == 0


def test_nothing_yet(hermes: Hermes) -> None:
    done = hermes.run("usage")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "no model was called yet\n")
    assert hermes.run("usage", "--since", "7").stderr == "no model was called in the last 7 days\n"
    got = hermes.json("usage", "--since", "7", "--by", "model")
    assert (got["rows"], got["total"]["usd"], got["since_days"]) == ([], 0, 7)


@pytest.mark.parametrize("arguments", [("--by", "week"), ("--since", "0"), ("--since", "soon"), ("--since", "-1")])
def test_wrong_usage(hermes: Hermes, arguments: tuple[str, ...]) -> None:
    assert hermes.run("usage", *arguments).returncode == 2
