"""`python -m benchmarks.adapters`: what a wire format's adapter costs beyond a bare httpx request, as a table.

The endpoint is a process of its own. Adapter and bare request send the same bytes and read the same answer, in turns,
so that whatever else the machine does is in both. A conversation grows by one call and one result per request, as an
agent's does. Imports are measured in fresh processes, with compiled modules.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Protocol, runtime_checkable
from urllib.parse import quote

import msgspec

from benchmarks.peers.endpoint_process import endpoint
from benchmarks.peers.measure import clean_environment
from hermes_agent.models.access import access_to
from hermes_agent.models.catalog import connect
from hermes_agent.models.client import ModelAnswer, ProviderOptions, TextListener
from hermes_agent.models.http import close_clients, http_client
from hermes_agent.models.request import ModelRequest, Prefix, ToolDeclaration, Transcript
from hermes_agent.types.events import AssistantMessage, CallFinished, UserMessage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import CallStatus

PER_CALL_MS, PER_TOKEN_US, IMPORT_MS = 2.0, 20.0, 150.0
TOKENS = 1000
DELTA = 24
"""How many characters the scripted endpoint puts into one event of a stream."""
SDKS = ("openai", "anthropic", "google", "boto3", "botocore")
ROUNDS, CALLS, LONG_CALLS, IMPORTS = 7, 40, 8, 9
_KEYS = {"region": "eu-central-1", "access_key_id": "AKIDBENCHMARK", "secret_access_key": "not-a-secret"}
_TOOL = ToolDeclaration(
    name="echo",
    description="Say it again.",
    parameters={"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
)


@runtime_checkable
class Adapter(Protocol):
    """A model client whose request can be had as bytes."""

    def body(self, request: ModelRequest) -> bytes: ...

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer: ...


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """One adapter: a model of its provider, where its requests go below the endpoint, and what they must carry."""

    model: str
    path: str
    base: str = ""
    headers: dict[str, str] = {}

    @property
    def name(self) -> str:
        """The file that speaks the format."""
        provider = self.model.partition(":")[0]
        return access_to(provider).spoken_by or provider

    def client(self, origin: str) -> Adapter:
        """A client as the router has it."""
        provider, _, model = self.model.partition(":")
        options = ProviderOptions(
            model=model,
            provider=provider,
            base_url=origin + self.base,
            api_key="" if provider == "bedrock" else "key",
            extra=_KEYS if provider == "bedrock" else {},
        )
        made = connect(self.model, options)
        assert isinstance(made, Adapter)
        return made


_BEDROCK = "anthropic.claude-sonnet-4-5-20250929-v1:0"
SUBJECTS = (
    Subject(model="openai:m", base="/v1", path="/v1/chat/completions"),
    Subject(model="openai_responses:gpt-5.6-sol", base="/v1", path="/v1/responses"),
    Subject(model="anthropic:claude-opus-5", path="/v1/messages", headers={"anthropic-version": "2023-06-01"}),
    Subject(
        model="gemini:gemini-3.1-pro",
        base="/v1beta",
        path="/v1beta/models/gemini-3.1-pro:streamGenerateContent?alt=sse",
    ),
    Subject(
        model=f"bedrock:{_BEDROCK}",
        path=f"/model/{quote(_BEDROCK, safe='')}/converse-stream",
        headers={"authorization": "Bearer key"},
    ),
)


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """One cell of the table."""

    value: float
    goal: float

    @property
    def reached(self) -> bool:
        return self.value <= self.goal


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One adapter's figures: milliseconds, microseconds, milliseconds; and the SDKs that were found loaded."""

    adapter: str
    per_call: Figure
    per_token: Figure
    importing: Figure
    sdks: tuple[str, ...]

    @property
    def reached(self) -> bool:
        return not self.sdks and all(figure.reached for figure in (self.per_call, self.per_token, self.importing))


def conversation(steps: int) -> Iterator[ModelRequest]:
    """The requests of a conversation that grows by a call and its result each time."""
    prefix = Prefix(system="You are a test.", tools=(_TOOL,))
    transcript = Transcript([UserMessage(text="Say some things.")])
    for step in range(steps):
        yield ModelRequest(prefix=prefix, transcript=transcript)
        call = ToolCall(id=f"call_{step}", name="echo", arguments={"text": f"thing {step}"})
        transcript.append(AssistantMessage(text="", calls=(call,), stop="tool_calls"))
        transcript.append(CallFinished(call_id=call.id, tool="echo", status=CallStatus.OK, text=f"thing {step}"))


async def bare(url: str, headers: dict[str, str], bodies: Sequence[bytes]) -> float:
    """CPU seconds of these requests with httpx alone."""
    client = http_client(url)
    sent = {"content-type": "application/json", "accept-encoding": "identity", **headers}
    started = time.process_time()
    for body in bodies:
        async with client.stream("POST", url, content=body, headers=sent) as response:
            async for _ in response.aiter_raw():
                continue
    return time.process_time() - started


async def adapted(client: Adapter, requests: Iterator[ModelRequest], listener: TextListener) -> float:
    """CPU seconds of the same requests through an adapter."""
    spent = 0.0
    for request in requests:
        started = time.process_time()
        await client.answer(request, listener)
        spent += time.process_time() - started
    return spent


async def beyond_bare(subject: Subject, origin: str, calls: int) -> float:
    """CPU seconds of one call beyond a bare request, the median of several rounds."""
    client = subject.client(origin)
    bodies = [client.body(request) for request in conversation(calls)]
    differences: list[float] = []
    for place in range(ROUNDS + 1):
        through = await adapted(client, conversation(calls), lambda text: None)
        alone = await bare(origin + subject.path, subject.headers, bodies)
        if place:
            differences.append((through - alone) / calls)
    await close_clients()
    return median(differences)


def answer_cost(subject: Subject, deltas: int, calls: int) -> float:
    """CPU seconds of one answer of so many events of text, beyond a bare request."""
    script = {"type": "by_results", "replies": [{"type": "text", "text": "x" * DELTA * deltas}] * (calls + 1)}
    with endpoint(script) as server:
        return asyncio.run(beyond_bare(subject, server.url.removesuffix("/v1"), calls))


def import_cost(module: str) -> tuple[float, tuple[str, ...]]:
    """CPU seconds of importing a module, and which SDKs that loaded. The least of several, since others' work on the
    machine only ever adds; the first, which may compile, does not count."""
    code = (
        "import sys, time\n"
        "started = time.process_time()\n"
        f"import {module}\n"
        "spent = time.process_time() - started\n"
        f"print(spent, *(name for name in {SDKS} if name in sys.modules))\n"
    )
    spent: list[float] = []
    loaded: set[str] = set()
    with tempfile.TemporaryDirectory(prefix="import-") as folder:
        env = clean_environment(Path(folder))
        for _ in range(IMPORTS + 1):
            done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
            seconds, *found = done.stdout.split()
            spent.append(float(seconds))
            loaded |= set(found)
    return min(spent[1:]), tuple(sorted(loaded))


def measure(subject: Subject) -> Row:
    short = answer_cost(subject, 1, CALLS)
    long = answer_cost(subject, TOKENS, LONG_CALLS)
    importing, loaded = import_cost(f"hermes_agent.models.providers.{subject.name}")
    loaded_here = tuple(name for name in SDKS if name in sys.modules)
    return Row(
        adapter=subject.name,
        per_call=Figure(value=short * 1e3, goal=PER_CALL_MS),
        per_token=Figure(value=(long - short) / (TOKENS - 1) * 1e6, goal=PER_TOKEN_US),
        importing=Figure(value=importing * 1e3, goal=IMPORT_MS),
        sdks=tuple(sorted({*loaded, *loaded_here})),
    )


def table(rows: Sequence[Row]) -> str:
    """The figures with their goals, one line for each adapter."""
    head = f"{'adapter':18}{'CPU per call':>14}{'per streamed token':>20}{'import, CPU':>13}  SDKs  reached"
    goal = f"{'goal':18}{f'<= {PER_CALL_MS:g} ms':>14}{f'<= {PER_TOKEN_US:g} us':>20}{f'<= {IMPORT_MS:g} ms':>13}  none"
    lines = [
        f"{row.adapter:18}{row.per_call.value:>11.3f} ms{row.per_token.value:>17.2f} us{row.importing.value:>10.1f} ms"
        f"  {','.join(row.sdks) or 'none'}  {'yes' if row.reached else 'NO'}"
        for row in rows
    ]
    return "\n".join([head, goal, *lines])


def main() -> None:
    rows = [measure(subject) for subject in SUBJECTS]
    print(table(rows))
    print(f"`import httpx` alone, in the same way: {import_cost('httpx')[0] * 1e3:.1f} ms")
    sys.exit(0 if all(row.reached for row in rows) else 1)


if __name__ == "__main__":
    main()
