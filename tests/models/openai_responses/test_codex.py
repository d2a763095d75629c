"""The ChatGPT login: the same format with tokens from a file that are renewed when they expire."""

import asyncio
import json
import os
import stat
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_agent.models.client import ProviderOptions
from hermes_agent.models.http import close_clients
from hermes_agent.models.providers.codex import Codex, connect
from hermes_agent.models.request import ModelRequest, Prefix, Transcript
from hermes_agent.models.wire.codex_tokens import TokenFile, Tokens
from hermes_agent.types.effort import Effort
from hermes_agent.types.errors import ConfigError, ModelError, ModelFailure
from tests.endpoint import Endpoint, call, calls, sequence, text
from tests.models.asking import PREFIX, QUESTION, ByteServer
from tests.models.openai_responses.conversing import ask_with, converse

ASKED = ModelRequest(prefix=PREFIX, transcript=Transcript((QUESTION,)), max_tokens=100)
FAR = 4_000_000_000


def token(expires: int, account: str = "") -> str:
    claims: dict[str, Any] = {"exp": expires}
    if account:
        claims["https://api.openai.com/auth"] = {"chatgpt_account_id": account}
    payload = urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{payload}.sig"


GOOD, OLD, NEW = token(FAR, "acc-claim"), token(1_000), token(FAR + 1)


def write(path: Path, access: str, **fields: Any) -> Path:
    tokens = {"id_token": "i", "access_token": access, "refresh_token": "r1", **fields}
    path.write_text(json.dumps({"OPENAI_API_KEY": None, "tokens": tokens, "mode": "chatgpt"}))
    return path


def codex(path: Path, url: str, token_url: str = "http://127.0.0.1:1/token") -> Codex:
    extra = {"auth_file": str(path), "token_url": token_url}
    return connect(ProviderOptions(model="gpt-5.6-sol", base_url=url, timeout=5.0, extra=extra))


def renewal(status: str = "200 OK", **answer: Any) -> bytes:
    body = json.dumps(answer).encode()
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "auth.json"


def test_a_tool_conversation_with_the_tokens_of_the_file(file: Path) -> None:
    write(file, GOOD, account_id="acc-1")
    with Endpoint(sequence([calls(call("echo", text="a"), thinking="hm"), text("done")]), key=GOOD) as endpoint:
        answers, _ = converse(codex(file, endpoint.url), ["go"], effort=Effort.HIGH)
        headers = endpoint.requests[0].headers
    assert [answer.text for answer in answers] == ["", "done"]
    assert (headers["chatgpt-account-id"], headers["authorization"]) == ("acc-1", f"Bearer {GOOD}")


def test_no_limit_is_sent_and_instructions_always_are(file: Path) -> None:
    write(file, GOOD)
    empty = ModelRequest(prefix=Prefix(system="", tools=()), transcript=Transcript((QUESTION,)), max_tokens=100)
    made = json.loads(codex(file, "http://127.0.0.1:1").body(empty))
    assert "max_output_tokens" not in made
    assert made["instructions"]


def test_expired_tokens_are_renewed_and_kept(file: Path) -> None:
    write(file, OLD)
    answer = renewal(access_token=NEW, refresh_token="r2", id_token=token(FAR, "acc-new"))
    with Endpoint(sequence([text("ok"), text("again")]), key=NEW) as endpoint, ByteServer([answer]) as tokens:
        client = codex(file, endpoint.url, tokens.url)
        assert ask_with(client, ASKED)[0].text == "ok"
        assert ask_with(client, ASKED)[0].text == "again"
        assert endpoint.requests[0].headers["chatgpt-account-id"] == "acc-new"
    kept = json.loads(file.read_text())
    assert kept.pop("last_refresh").endswith("Z")
    assert kept == {
        "OPENAI_API_KEY": None,
        "tokens": {"id_token": token(FAR, "acc-new"), "access_token": NEW, "refresh_token": "r2"},
        "mode": "chatgpt",
    }
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in file.parent.iterdir() if path.suffix == ".json") == ["auth.json"]


def test_tokens_that_are_refused_are_renewed_once(file: Path) -> None:
    write(file, GOOD)
    renewals = [renewal(access_token=NEW, refresh_token="r2")]
    with Endpoint(sequence([text("ok")]), key=NEW) as endpoint, ByteServer(renewals) as tokens:
        assert ask_with(codex(file, endpoint.url, tokens.url), ASKED)[0].text == "ok"
    write(file, GOOD)
    with Endpoint(sequence([]), key="another") as endpoint, ByteServer(renewals) as tokens:
        with pytest.raises(ModelError) as caught:
            ask_with(codex(file, endpoint.url, tokens.url), ASKED)
        assert len(endpoint.requests) == 2
    assert caught.value.failure is ModelFailure.AUTH
    assert caught.value.advice == "check the login: run `codex login`"


def test_tokens_that_another_process_renewed_are_used(file: Path) -> None:
    """No refresh token is spent: nobody listens where it would be."""
    write(file, NEW)
    found = asyncio.run(TokenFile(file, "http://127.0.0.1:1/").renewed(OLD))
    assert found == Tokens(access=NEW, refresh="r1", expires=FAR + 1)


def test_two_renewals_at_once_spend_one_token(file: Path) -> None:
    write(file, OLD)

    async def both(url: str) -> tuple[Tokens, Tokens]:
        try:
            return await asyncio.gather(TokenFile(file, url).current(), TokenFile(file, url).current())
        finally:
            await close_clients()

    with ByteServer([renewal(access_token=NEW, refresh_token="r2")]) as tokens:
        first, second = asyncio.run(both(tokens.url))
    assert first == second == Tokens(access=NEW, refresh="r2", expires=FAR + 1)


def test_the_clock_is_the_callers(file: Path) -> None:
    write(file, token(1_000))
    assert asyncio.run(TokenFile(file, "http://127.0.0.1:1/", now=lambda: 900.0).current()).expires == 1_000


@pytest.mark.parametrize(
    ("answer", "failure", "said"),
    [
        (
            renewal("400 Bad Request", error={"message": "already used", "code": "refresh_token_reused"}),
            ModelFailure.AUTH,
            "the login could not be renewed: already used (run `codex login`)",
        ),
        (renewal("503 Unavailable"), ModelFailure.OVERLOAD, "503 from URL"),
        (renewal(mood="fine"), ModelFailure.MALFORMED, "URL answered without a token"),
    ],
)
def test_a_renewal_that_fails_leaves_the_file_as_it_was(
    file: Path, answer: bytes, failure: ModelFailure, said: str
) -> None:
    before = write(file, OLD).read_text()
    with ByteServer([answer]) as tokens:
        url = tokens.url
        with pytest.raises(ModelError) as caught:
            ask_with(codex(file, "http://127.0.0.1:1", url), ASKED)
    assert (caught.value.failure, caught.value.explain().replace(url, "URL")) == (failure, said)
    assert file.read_text() == before
    assert [path.name for path in file.parent.iterdir() if path.suffix == ".json"] == ["auth.json"]


def test_no_network_no_renewal(file: Path) -> None:
    write(file, OLD)
    with pytest.raises(ModelError) as caught:
        ask_with(codex(file, "http://127.0.0.1:1"), ASKED)
    assert caught.value.failure is ModelFailure.NETWORK


def test_a_login_without_a_refresh_token_says_so(file: Path) -> None:
    write(file, OLD, refresh_token="")
    with pytest.raises(ModelError) as caught:
        ask_with(codex(file, "http://127.0.0.1:1"), ASKED)
    assert caught.value.explain() == f"the login in {file} has expired (run `codex login`)"


def test_a_login_that_vanished_is_a_failure_of_the_call(file: Path) -> None:
    write(file, GOOD)
    client = codex(file, "http://127.0.0.1:1")
    file.unlink()
    with pytest.raises(ModelError) as caught:
        ask_with(client, ASKED)
    assert (caught.value.failure, caught.value.advice) == (ModelFailure.AUTH, "run `codex login`")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no login in FILE (run `codex login`)"),
        (
            '{"OPENAI_API_KEY": "k"}',
            "FILE holds no ChatGPT login (run `codex login` with a ChatGPT account, or use "
            "openai_responses:NAME with a key)",
        ),
        (
            "[1]",
            "FILE holds no ChatGPT login (run `codex login` with a ChatGPT account, or use "
            "openai_responses:NAME with a key)",
        ),
        (
            '{"tokens": {"access_token": "a\\nb"}}',
            "the token in FILE holds characters that no token has (run `codex login`)",
        ),
    ],
)
def test_a_missing_login_is_one_line(file: Path, content: str | None, said: str) -> None:
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError) as caught:
        codex(file, "http://127.0.0.1:1")
    assert caught.value.explain().replace(str(file), "FILE") == said


def test_a_file_that_is_a_link_stays_one(file: Path, tmp_path: Path) -> None:
    real = write(tmp_path / "real.json", OLD)
    os.symlink(real, file)
    with ByteServer([renewal(access_token=NEW, refresh_token="r2")]) as tokens:
        asyncio.run(_renewed(TokenFile(file, tokens.url)))
    assert file.is_symlink()
    assert json.loads(real.read_text())["tokens"]["access_token"] == NEW


async def _renewed(tokens: TokenFile) -> None:
    try:
        await tokens.current()
    finally:
        await close_clients()
