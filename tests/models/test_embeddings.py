"""Vectors of texts, from a server on loopback that speaks OpenAI's embeddings format; the official client agrees."""

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import openai
import pytest

from hermes_agent.models.embeddings import embeddings
from hermes_agent.models.http import close_clients
from hermes_agent.types.errors import ConfigError, ModelError, ModelFailure

AXES = ("csv", "log", "git")


class Speaker(BaseHTTPRequestHandler):
    """Answers with how often three words occur, or with whatever the model's name asks for."""

    asked: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.asked.append({**body, "key": self.headers.get("Authorization")})
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        vectors = [[float(text.count(axis)) for axis in AXES] for text in texts]
        data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(vectors)]
        answers = {
            "short": data[:-1],
            "uneven": [*data[:-1], {**data[-1], "embedding": [1.0]}],
            "twice": [data[0], *data[:-1]],
        }
        status = 401 if body["model"] == "refusing" else 200
        answer = {"object": "list", "data": answers.get(body["model"], list(reversed(data))), "model": body["model"]}
        raw = b"<html>" if body["model"] == "html" else json.dumps({**answer, "usage": USAGE}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def log_message(self, format: str, *args: Any) -> None:
        return None


USAGE = {"prompt_tokens": 1, "total_tokens": 1}


@pytest.fixture
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Speaker)
    Speaker.asked = []
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def vectors(address: str, model: str, texts: list[str]) -> list[list[float]]:
    async def ask() -> list[list[float]]:
        access = {"OPENAI_API_KEY": "sk-test", "OPENAI_BASE_URL": address}
        try:
            return await embeddings(f"openai:{model}", access).vectors(texts)
        finally:
            await close_clients()

    return asyncio.run(ask())


def test_the_official_client_understands_the_server(address: str) -> None:
    client = openai.OpenAI(base_url=address, api_key="sk-test")
    answer = client.embeddings.create(model="words", input=["csv git", "log"], encoding_format="float")
    assert {one.index: one.embedding for one in answer.data} == {0: [1.0, 0.0, 1.0], 1: [0.0, 1.0, 0.0]}


@pytest.mark.req("L6")
def test_vectors_have_length_one_and_the_order_of_the_texts(address: str) -> None:
    assert vectors(address, "words", ["csv csv", "log git", "none"]) == [
        [1.0, 0.0, 0.0],
        [0.0, 1 / 2**0.5, 1 / 2**0.5],
        [0.0, 0.0, 0.0],
    ]
    assert Speaker.asked == [{"model": "words", "input": ["csv csv", "log git", "none"], "key": "Bearer sk-test"}]


@pytest.mark.parametrize(
    ("model", "failure"),
    [
        ("refusing", ModelFailure.REFUSED),
        ("html", ModelFailure.MALFORMED),
        ("short", ModelFailure.MALFORMED),
        ("uneven", ModelFailure.MALFORMED),
        ("twice", ModelFailure.MALFORMED),
    ],
)
def test_an_answer_that_does_not_fit_is_an_error(address: str, model: str, failure: ModelFailure) -> None:
    with pytest.raises(ModelError) as caught:
        vectors(address, model, ["csv", "log"])
    assert caught.value.failure is failure


def test_nobody_there() -> None:
    with pytest.raises(ModelError) as caught:
        vectors("http://127.0.0.1:9/v1", "words", ["csv"])
    assert caught.value.failure is ModelFailure.NETWORK


def test_a_name_without_a_model() -> None:
    with pytest.raises(ConfigError):
        embeddings("openai:", {})
