"""Secrets reach no database, log or blob: looked for in the raw bytes of everything that was stored."""

import base64
import http.server
import random
import string
import threading
from functools import partial
from pathlib import Path

import pytest

from hermes_agent.safety.approvals import AlwaysYes
from hermes_agent.safety.redact import Redactor
from hermes_agent.store.database import Connection, Row
from hermes_agent.store.open import open_store
from hermes_agent.tools.tool import Tool
from hermes_agent.types.events import CallFinished, ProcessSpawned
from hermes_agent.types.tools import ToolContext, ToolResult
from tests.harness.rig import Rig, call, calling, events, of, saying

FROM_ENVIRONMENT = 'correct"horse\\battery-stäple'
_LETTERS = string.ascii_letters + string.digits
_rng = random.Random(7)


def _random(length: int, letters: str = _LETTERS) -> str:
    return "".join(_rng.choice(letters) for _ in range(length))


KEY = f"sk-{_random(40)}"
GITHUB = f"ghp_{_random(36)}"
AWS = f"AKIA{_random(16, string.ascii_uppercase)}"
JWT = f"eyJ{_random(20)}.eyJ{_random(30)}.{_random(40)}"
BODY = "\n".join(base64.b64encode(_rng.randbytes(48)).decode() for _ in range(20))
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{BODY}\n-----END RSA PRIVATE KEY-----"
ALL = [FROM_ENVIRONMENT, KEY, GITHUB, AWS, JWT]
NEEDLES = [*ALL, BODY.splitlines()[0], BODY.splitlines()[10], "horse", "stäple", "st\\u00e4ple"]


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    """A secret in the environment of the agent."""
    monkeypatch.setenv("SERVICE_API_KEY", FROM_ENVIRONMENT)
    return FROM_ENVIRONMENT


def stored(rig: Rig) -> bytes:
    """Everything on disk under the home, and everything in the database's tables."""
    kept = b"".join(path.read_bytes() for path in sorted(rig.home.rglob("*")) if path.is_file())
    return kept + _tables(rig)


def _tables(rig: Rig) -> bytes:
    store = open_store(rig.url, rig.home)
    try:
        names = ["sessions", "inbox", "runs", "events", "tool_calls", "decisions", "outcomes", "model_calls"]
        rows = [store.database.read_now(partial(_rows, name)) for name in names]
        return repr(rows).encode()
    finally:
        store.close()


def _rows(table: str, connection: Connection) -> list[Row]:
    return connection.run(f"SELECT * FROM {table}")


def found(rig: Rig) -> list[str]:
    """Which secrets are in what was stored."""
    data = stored(rig)
    return [needle for needle in NEEDLES if needle.encode() in data]


@pytest.mark.trunk
@pytest.mark.req("R14")
def test_the_redactor_knows_secrets_and_their_shapes() -> None:
    redactor = Redactor([FROM_ENVIRONMENT, "short"])
    text = f"a {KEY} b {GITHUB} c {AWS} d {JWT} e {FROM_ENVIRONMENT} short task-{_random(30)}"
    told = redactor.redact(text)
    assert told.startswith(
        "a [redacted:api-key] b [redacted:github-token] c [redacted:aws-key] d [redacted:jwt] e [redacted:secret] short"
        " task-"
    )
    assert redactor.redact(told) == told
    assert redactor.redact(f"x\n{PEM}\ny") == "x\n[redacted:private-key]\ny"
    assert redactor.redact(PEM[:200]) == "[redacted:private-key]"
    plain = "nothing here: sk-short, AKIA, eyJ., ghp_x, -----BEGIN CERTIFICATE-----"
    assert redactor.redact(plain) is plain


@pytest.mark.req("R14")
def test_values_inside_json_are_redacted_whole() -> None:
    redactor = Redactor([FROM_ENVIRONMENT])
    value = {"a": [1, None, {"b": f"x {KEY}"}], FROM_ENVIRONMENT: True}
    assert redactor.redact_json(value) == {"a": [1, None, {"b": "x [redacted:api-key]"}], "[redacted:secret]": True}
    plain = {"a": [1, "b"]}
    assert redactor.redact_json(plain) is plain


@pytest.mark.req("R14")
def test_secrets_in_messages_and_results_are_not_stored(rig: Rig, secret: str) -> None:
    def text() -> str:
        return " ".join([*ALL, PEM])

    def value() -> dict[str, str]:
        return {"key": secret, "pem": PEM}

    def fail() -> str:
        raise ValueError(f"bad key {secret} {KEY}")

    def result() -> ToolResult:
        return ToolResult(ok=False, text=f"{KEY} {secret}", error="denied")

    tools = [Tool(item.__name__, item, capabilities=[], effect="none") for item in (text, value, fail, result)]
    script = [calling(*(call(tool.spec.name) for tool in tools)), saying(f"your key is {KEY}, {secret}")]
    agent = rig.agent(script, tools)
    result_ = agent.run(f"my keys are {' '.join(ALL)}\n{PEM}")
    assert result_.answer == "your key is [redacted:api-key], [redacted:secret]"
    assert len(of(CallFinished, events(agent, result_))) == 4
    assert "[redacted:private-key]" in agent.state.trace(result_.run_id).request
    agent.close()
    assert found(rig) == []


@pytest.mark.req("R14")
def test_secrets_in_large_outputs_are_not_stored(rig: Rig, secret: str) -> None:
    filler = "line of output\n" * 3000
    (rig.workspace / "big.txt").write_text(f"{filler}{secret}\n{PEM}\n{KEY}\n{filler}")

    def large() -> str:
        return f"{filler}{secret} {KEY}\n{PEM}\n{filler}"

    def keep(context: ToolContext) -> str:
        return context.blobs.put(f"{secret} {PEM} {KEY}".encode())

    tools = [Tool("large", large, capabilities=[], effect="none"), Tool("keep", keep, capabilities=[], effect="none")]
    script = [
        calling(call("large"), call("keep")),
        calling(call("terminal", command="cat big.txt")),
        calling(call("read_file", path="big.txt")),
        saying("done"),
    ]
    agent = rig.agent(script, tools, approver=AlwaysYes())
    result = agent.run("read it all")
    done = {item.call_id: item for item in of(CallFinished, events(agent, result))}
    assert done["call_1_0"].blob and done["call_0_0"].blob
    agent.close()
    assert found(rig) == []
    spilled = (rig.home / "blobs" / agent.session_id).rglob("*")
    texts = [path.read_text() for path in spilled if path.is_file()]
    assert any(text.count("[redacted:private-key]") == 1 and text.count("line of output") == 6000 for text in texts)


@pytest.mark.req("R14")
def test_secrets_in_commands_run_but_are_not_stored(rig: Rig, secret: str) -> None:
    command = f"printf %s {KEY} | wc -c > length"
    agent = rig.agent([calling(call("terminal", command=command)), saying("done")], approver=AlwaysYes())
    result = agent.run("run it")
    journal = events(agent, result)
    assert (rig.workspace / "length").read_text().strip() == str(len(KEY))
    shown = "printf %s [redacted:api-key] | wc -c > length"
    assert [spawned.command for spawned in of(ProcessSpawned, journal)] == [shown]
    assert agent.state.tool_history[-1]["input"] == {"command": shown}
    agent.close()
    assert found(rig) == []


@pytest.mark.req("R14")
def test_secrets_an_endpoint_repeats_in_its_error_are_not_stored(
    rig: Rig, secret: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Echo(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            body = f'{{"error": {{"message": "bad key {KEY} in {GITHUB}"}}}}'.encode()
            self.send_response(401)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return None

    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        rig.configure(model={"base_url": f"http://127.0.0.1:{server.server_address[1]}/v1"})
        agent = rig.agent("openai:m")
        result = agent.run("hello")
        server.shutdown()
    assert "bad key [redacted:secret] in [redacted:github-token]" in result.reason
    agent.close()
    assert found(rig) == []


@pytest.mark.req("R14")
def test_a_secret_across_pieces_of_a_file_is_found(local_rig: Rig, tmp_path: Path) -> None:
    agent = local_rig.agent([saying("hello")])
    agent.run("hi")
    harness = agent.app.harness_for(agent.model, {})
    blobs = harness.blobs(agent.session_id)
    for place in (999_980, 1_000_000 - 300, 1_000_000 - 5):
        for filler in ("x" * 79 + "\n", "word "):
            source = tmp_path / "output"
            before = (filler * place)[: place - 1] + "\n"
            source.write_text(f"{before}{KEY} {PEM}\n{filler * 10}")
            kept = blobs.get(blobs.put_file(source)).decode()
            assert kept == f"{before}[redacted:api-key] [redacted:private-key]\n{filler * 10}"
