"""Runs as OpenTelemetry traces, named after the GenAI semantic conventions: a span for the run (`invoke_agent`), below
it one for each model call (`chat`) and one for each tool call (`execute_tool`).

What was said is in them only where that was asked for, and without secrets. Spans leave in a thread of their own; a
receiver that does not answer holds nothing up and costs at most the spans that do not fit into the queue.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ..config.settings import ObservabilitySettings
from ..safety.redact import Redactor
from ..types.errors import ConfigError
from ..types.events import (
    AnyEvent,
    AssistantMessage,
    CallFinished,
    CallIntended,
    DeliveryFinished,
    DeliveryIntended,
    Judged,
    ModelCalled,
    Recovered,
    RunFinished,
    RunStarted,
    UserMessage,
)
from ..types.text import clean
from ..types.tools import ToolCall
from ..types.trace import CallStatus, RunStatus
from ..version import __version__

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

INSTALL = "pip install 'hermes-harness[otel]'"
_MOST_RUNS = 1_000
_MOST_TOOLS = 1_000
_LONGEST = 8_000
_SECONDS_TO_LEAVE = 3.0
_LATER = (AssistantMessage, CallFinished, RunFinished, Judged, DeliveryIntended, DeliveryFinished)
"""What cannot be the first that is heard of a run: with these, its span is over."""


def sink_for(settings: ObservabilitySettings, redactor: Redactor, agent: str) -> TraceSink | None:
    """The sink that the configuration asks for; None where no receiver is named. Raises ConfigError for an address that
    is none, and where the packages are missing."""
    if not settings.otel_endpoint:
        return None
    return TraceSink(_provider(_address(settings.otel_endpoint)), redactor, agent, content=settings.otel_content)


def _address(endpoint: str) -> str:
    """Where traces go: the path that the protocol wants is added where none is given."""
    wrong = ConfigError(
        f"observability.otel_endpoint {endpoint!r} is no address",
        remedy="give the base address of an OTLP/HTTP receiver, such as http://127.0.0.1:4318",
    )
    try:
        parts = urlsplit(endpoint)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError as error:
        raise wrong from error
    if not good or parts.query or parts.fragment or any(char.isspace() for char in endpoint):
        raise wrong
    return endpoint if parts.path.strip("/") else f"{endpoint.rstrip('/')}/v1/traces"


def _provider(address: str) -> TracerProvider:
    """Ours alone: a program that has a provider of its own keeps it."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError as error:
        raise ConfigError("traces need packages that are not installed", remedy=INSTALL) from error
    import logging

    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())
    provider = TracerProvider(
        resource=Resource.create({"service.name": "hermes", "service.version": __version__}), shutdown_on_exit=False
    )
    exporter = OTLPSpanExporter(endpoint=address, timeout=_SECONDS_TO_LEAVE)
    provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=2_000))
    return provider


class _Open:
    """The spans of a run that are not over. A chat span waits for the answer that tells why the model stopped."""

    def __init__(self, span: Span) -> None:
        self.span = span
        self.chat: tuple[Span, int] | None = None
        self.tools: dict[str, Span] = {}
        self.asked: dict[str, ToolCall] = {}
        self.model = ""


class TraceSink:
    """Listens to runs and makes spans of them. Not for several threads at once, as all sinks."""

    def __init__(
        self,
        provider: TracerProvider,
        redactor: Redactor,
        agent: str,
        *,
        content: bool = False,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        from opentelemetry import trace

        self._provider = provider
        self._tracer = provider.get_tracer("hermes_agent", __version__)
        self._trace = trace
        self._redactor = redactor
        self._agent = agent
        self._content = content
        self._clock = clock
        self._runs: dict[str, _Open] = {}

    def text(self, run_id: str, delta: str) -> None:
        return None

    def event(self, run_id: str, event: AnyEvent) -> None:
        run = self._runs.get(run_id)
        if run is None:
            if isinstance(event, _LATER):
                return
            run = self._begin(run_id, event)
        if run.chat is not None and not isinstance(event, AssistantMessage):
            self._end_chat(run)
        self._follow(run_id, run, event)

    def close(self) -> None:
        """End what is open, and give what waits a moment to leave."""
        for run_id in list(self._runs):
            self._drop(run_id)
        leaving = threading.Thread(target=self._provider.shutdown, name="hermes-traces", daemon=True)
        leaving.start()
        leaving.join(_SECONDS_TO_LEAVE)

    def _begin(self, run_id: str, event: AnyEvent) -> _Open:
        while len(self._runs) >= _MOST_RUNS:
            self._drop(next(iter(self._runs)))
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": self._agent,
            "hermes.run.id": run_id,
        }
        if isinstance(event, Recovered):
            attributes["hermes.resumed"] = True
        span = self._tracer.start_span(
            f"invoke_agent {self._agent}",
            self._trace.set_span_in_context(self._trace.INVALID_SPAN),
            attributes=attributes,
            start_time=self._clock(),
        )
        run = self._runs[run_id] = _Open(span)
        return run

    def _follow(self, run_id: str, run: _Open, event: AnyEvent) -> None:
        match event:
            case RunStarted():
                self._name_model(run, *event.model.partition(":")[::2])
            case UserMessage():
                self._say(run.span, "gen_ai.input.messages", [_said("user", event.text)])
            case ModelCalled():
                self._name_model(run, event.provider, event.model)
                self._chat(run, event)
            case AssistantMessage():
                self._answer(run, event)
            case CallIntended():
                self._intend(run, event)
            case CallFinished():
                self._finish_call(run, event)
            case RunFinished():
                self._say(run.span, "gen_ai.output.messages", [_said("assistant", event.answer)])
                run.span.set_attribute("hermes.run.status", event.status.value)
                run.span.set_attribute("hermes.run.judged_by", event.outcome.judged_by.value)
                if event.status is not RunStatus.DONE:
                    self._fail(run.span, event.status.value)
                self._drop(run_id)
            case _:
                return

    def _name_model(self, run: _Open, provider: str, model: str) -> None:
        """The model that a run began with stands on its span."""
        if run.model:
            return
        run.model = model
        for name, value in (("provider.name", provider), ("system", provider), ("request.model", model)):
            run.span.set_attribute(f"gen_ai.{name}", clean(value))

    def _chat(self, run: _Open, event: ModelCalled) -> None:
        from opentelemetry.trace import SpanKind

        end = self._clock()
        attributes: dict[str, Any] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": event.provider,
            "gen_ai.system": event.provider,
            "gen_ai.request.model": event.model,
            "gen_ai.usage.input_tokens": event.usage.input,
            "gen_ai.usage.output_tokens": event.usage.output,
            "gen_ai.usage.cache_read.input_tokens": event.usage.cached,
        }
        if event.usd:
            attributes["hermes.cost.usd"] = event.usd
        span = self._tracer.start_span(
            f"chat {event.model}",
            self._below(run.span),
            SpanKind.CLIENT,
            attributes,
            start_time=end - int(max(0.0, event.latency_ms) * 1e6),
        )
        if event.failure is not None:
            self._fail(span, event.failure.value)
        run.chat = (span, end)

    def _answer(self, run: _Open, event: AssistantMessage) -> None:
        run.asked |= {call.id: call for call in event.calls} if self._content else {}
        if run.chat is None:
            return
        span, _ = run.chat
        if event.stop:
            span.set_attribute("gen_ai.response.finish_reasons", [event.stop])
        parts = [{"type": "tool_call", "id": call.id, "name": call.name} for call in event.calls]
        self._say(span, "gen_ai.output.messages", [_said("assistant", event.text, *parts)])
        self._end_chat(run)

    def _end_chat(self, run: _Open) -> None:
        if run.chat is not None:
            span, end = run.chat
            span.end(end)
        run.chat = None

    def _intend(self, run: _Open, event: CallIntended) -> None:
        while len(run.tools) >= _MOST_TOOLS:
            run.tools.pop(next(iter(run.tools))).end(self._clock())
        asked = run.asked.pop(event.call_id, None)
        span = self._tool(run, event.call_id, event.tool, event.parent, self._clock())
        span.set_attribute("hermes.tool.effect", event.effect.value)
        arguments = event.arguments or (asked.arguments if asked is not None else {})
        self._say(span, "gen_ai.tool.call.arguments", arguments)
        run.tools[event.call_id] = span

    def _finish_call(self, run: _Open, event: CallFinished) -> None:
        now = self._clock()
        started = now - int(max(0.0, event.duration_ms) * 1e6)
        span = run.tools.pop(event.call_id, None) or self._tool(run, event.call_id, event.tool, event.parent, started)
        span.set_attribute("hermes.tool.status", event.status.value)
        span.set_attribute("hermes.tool.attempts", event.attempts)
        if event.status is not CallStatus.OK:
            self._fail(span, event.error or event.status.value)
        self._say(span, "gen_ai.tool.call.result", event.text)
        span.end(now)

    def _tool(self, run: _Open, call_id: str, tool: str, parent: str, start: int) -> Span:
        attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": clean(tool),
            "gen_ai.tool.call.id": clean(call_id),
            "gen_ai.tool.type": "function",
        }
        above = run.tools.get(parent, run.span)
        return self._tracer.start_span(
            f"execute_tool {clean(tool)}", self._below(above), attributes=attributes, start_time=start
        )

    def _below(self, span: Span) -> Any:
        return self._trace.set_span_in_context(span)

    def _fail(self, span: Span, kind: str) -> None:
        from opentelemetry.trace import Status, StatusCode

        span.set_attribute("error.type", clean(kind))
        span.set_status(Status(StatusCode.ERROR))

    def _say(self, span: Span, name: str, value: Any) -> None:
        """Put content on a span, where that was asked for: redacted first, then cut."""
        if not self._content or not value:
            return
        value = self._redactor.redact_json(json.loads(json.dumps(value, default=str)))
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        span.set_attribute(name, clean(text)[:_LONGEST])

    def _drop(self, run_id: str) -> None:
        """End the spans of a run, those that were left open included."""
        run = self._runs.pop(run_id)
        self._end_chat(run)
        now = self._clock()
        for span in run.tools.values():
            span.end(now)
        run.span.end(now)


def _said(role: str, text: str, *more: dict[str, str]) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}, *more]}
