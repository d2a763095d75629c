"""Models on this machine, in this process: `local:smollm2` and any GGUF file. No key, no network.

The embedded model is small (135 million parameters): it picks tools and fills in arguments well, and is not reliable
over several steps. It is enough to try every feature offline.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import msgspec

from ...types.base import Value
from ...types.errors import ConfigError, HermesError, ModelError, ModelFailure
from ...types.events import Usage
from ..client import ModelAnswer, ProviderOptions, TextListener
from ..local.clauses import Split, clauses, left_failed, walked, whole
from ..local.engine import Generation, LoadedModel, Overflow, ProgressListener, Wish, loaded
from ..local.forms import answer_schema, without_knobs
from ..local.names import EMBEDDED, LocalFiles, files_of
from ..local.profile import Step, chat, offered, steps_of, system_text, to_drop
from ..local.reading import FinalText, read_answer
from ..request import ModelRequest, Prefix

T = TypeVar("T")
_ANSWER_TOKENS = 512
_SMALL = 1 << 30
_log = logging.getLogger(__name__)


class LocalStats(Value, frozen=True, kw_only=True):
    """What the last answer took. `prompt_tokens` includes the `cached` ones, which cost nothing."""

    load_seconds: float
    seconds: float
    prompt_tokens: int
    cached: int
    generated: int
    prompt_per_second: float
    generated_per_second: float


class LocalModel:
    """A model in this process, loaded with the first request; `progress` hears when that begins and ends."""

    provider = "local"

    def __init__(self, model: str, files: LocalFiles, progress: ProgressListener) -> None:
        self.model = model
        self.local_stats: LocalStats | None = None
        self._files = files
        self._progress = progress
        self._split = clauses if files.size < _SMALL else whole
        self._loaded: LoadedModel | None = None

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """One answer, made in a thread of its own. When the caller is cancelled, the model stops at its next token."""
        loop = asyncio.get_running_loop()
        return await _in_thread(
            lambda stop: self._answer(
                request, stop, lambda text: _post(loop, lambda: None if stop() else on_text(text))
            )
        )

    def _answer(self, request: ModelRequest, stop: Callable[[], bool], say: TextListener) -> ModelAnswer:
        started = time.perf_counter()
        try:
            model = self._loaded = loaded(self._files, self._progress)
        except ConfigError as error:
            raise ModelError(ModelFailure.BAD_REQUEST, str(error), remedy=error.advice) from error
        final = FinalText()

        def hear(piece: str) -> None:
            text = final.add(piece)
            if text:
                say(text)

        written = _fitted(model, self._offered(request), self._split, stop, hear)
        self._keep_stats(model, written, time.perf_counter() - started)
        found = _answer_of(request, written, final, say)
        note = "" if self._split is whole or found.calls or request.schema else left_failed(request.transcript)
        if note:
            say(note)
        return msgspec.structs.replace(found, text=found.text + note) if note else found

    def _offered(self, request: ModelRequest) -> ModelRequest:
        """The request as a model of this size can use it."""
        if self._split is whole:
            return request
        tools = tuple(without_knobs(tool) for tool in offered(request.prefix.tools, request.transcript))
        ends = request.tool_choice == "auto" and walked(request.transcript, self._split)
        return msgspec.structs.replace(
            request,
            prefix=Prefix(system=request.prefix.system, tools=tools),
            tool_choice="none" if ends else request.tool_choice,
        )

    def _keep_stats(self, model: LoadedModel, written: Generation, seconds: float) -> None:
        self.local_stats = LocalStats(
            load_seconds=model.load_seconds,
            seconds=seconds,
            prompt_tokens=written.prompt_tokens,
            cached=written.cached,
            generated=written.generated,
            prompt_per_second=written.prompt_per_second,
            generated_per_second=written.generated_per_second,
        )
        _log.info(
            "%s: %d prompt tokens (%d cached) at %.0f/s, %d generated at %.0f/s",
            self.model,
            written.prompt_tokens,
            written.cached,
            written.prompt_per_second,
            written.generated,
            written.generated_per_second,
        )

    async def close(self) -> None:
        """Let go of the model; its memory is freed when the last user of it has, and another model is loaded."""
        self._loaded = None


def _fitted(
    model: LoadedModel, request: ModelRequest, split: Split, stop: Callable[[], bool], hear: TextListener
) -> Generation:
    """The answer to as much of the conversation as the window holds: the oldest steps are left out first."""
    system, steps = system_text(request.prefix.tools), steps_of(request.transcript, split)
    tokens = request.max_tokens or _ANSWER_TOKENS
    room = min(tokens, model.window // 4)
    schema = answer_schema(request)
    dropped = 0
    while True:
        wish = Wish(messages=chat(system, steps, dropped), schema=schema, tokens=tokens, room=room)
        try:
            return model.write(wish, stop, hear)
        except Overflow as overflow:
            more = _more_to_drop(wish, steps, dropped, overflow.tokens, model.window - room)
            if more == dropped:
                raise ModelError(
                    ModelFailure.CONTEXT_TOO_LONG,
                    f"the newest message and the tools need {overflow.tokens} tokens of a window of {model.window}",
                    remedy="say it in fewer words, or use a model with a larger window",
                ) from overflow
            dropped = more


def _more_to_drop(wish: Wish, steps: list[Step], dropped: int, tokens: int, most: int) -> int:
    characters = sum(len(message["content"]) for message in wish.messages)
    return to_drop(steps, dropped, (tokens - most) * characters / max(tokens, 1))


def _answer_of(request: ModelRequest, written: Generation, final: FinalText, say: TextListener) -> ModelAnswer:
    usage = Usage(input=written.prompt_tokens, output=written.generated, cached=written.cached)
    if written.finish == "length" and final.text:
        return ModelAnswer(text=final.text, stop="length", usage=usage)
    found = read_answer(written.text, f"call_{request.transcript.assistant_messages}")
    if not isinstance(found, str):
        return ModelAnswer(text="", calls=(found,), stop="tool_calls", usage=usage)
    if not final.text:
        say(found)
    return ModelAnswer(text=found, stop="stop", usage=usage)


async def _in_thread(work: Callable[[Callable[[], bool]], T]) -> T:
    """The result of `work` in a thread. Its argument says whether to stop: nobody waits, or the program is ending.

    The thread is one that the interpreter waits for at its end: the engine must not be cut off inside its own code.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()
    abandoned = threading.Event()

    def stop() -> bool:
        return abandoned.is_set() or not threading.main_thread().is_alive()

    def run() -> None:
        outcome: T | HermesError = ModelError(ModelFailure.MALFORMED, "the local model failed")
        try:
            outcome = work(stop)
        except HermesError as error:
            outcome = error
        finally:
            _post(loop, partial(_settle, result, outcome))

    threading.Thread(target=run, name="hermes-local-model", daemon=False).start()
    try:
        return await result
    finally:
        abandoned.set()


def _settle(result: asyncio.Future[T], outcome: T | HermesError) -> None:
    if result.done():
        return
    if isinstance(outcome, HermesError):
        result.set_exception(outcome)
    else:
        result.set_result(outcome)


def _post(loop: asyncio.AbstractEventLoop, act: Callable[[], object]) -> None:
    """Do something on the loop; nothing when the loop is closed, because then nobody waits for it."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(act)


def on_terminal(line: str) -> None:
    """Show a line of progress to a person at a terminal; programs and pipes stay undisturbed."""
    if sys.stderr.isatty():
        print(line, file=sys.stderr, flush=True)


def connect(options: ProviderOptions, progress: ProgressListener = on_terminal) -> LocalModel:
    """A client for `local:smollm2`, `local:/path/to.gguf`, and either with `+/path/adapter.gguf` or `+none`."""
    return LocalModel(options.model or EMBEDDED, files_of(options.model), progress)
