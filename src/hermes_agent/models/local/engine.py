"""llama.cpp in this process: one loaded model for all who use it, one answer at a time, stoppable between tokens.

Answers are made one after the other because two at once would share the same cores and lose each other's cache.
"""

from __future__ import annotations

import atexit
import importlib
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from ...types.base import Value
from ...types.errors import ConfigError, HermesError, ModelError, ModelFailure
from ...types.text import one_line
from .gguf import check_memory, check_pair
from .names import LocalFiles

ProgressListener = Callable[[str], None]
_LONGEST_WINDOW = 4_096
_BATCH = 128
_MOST_THREADS = 8
_SPARE_CACHE_MB = 128


class Overflow(Exception):
    """A prompt leaves too little room for an answer."""

    def __init__(self, tokens: int) -> None:
        super().__init__(f"{tokens} tokens")
        self.tokens = tokens


class Stopped(HermesError):
    """Nobody waits for the answer any more, or the program is ending."""


class Generation(Value, frozen=True, kw_only=True):
    """What the model wrote, and what it took. `cached` tokens of the prompt were known from an earlier request."""

    text: str
    finish: str
    prompt_tokens: int
    cached: int
    generated: int
    prompt_per_second: float
    generated_per_second: float


class Wish(Value, frozen=True, kw_only=True):
    """What to write: at most `tokens` tokens in the form of `schema`, refused when `room` tokens are not free."""

    messages: list[dict[str, str]]
    schema: dict[str, Any]
    tokens: int
    room: int


class LoadedModel:
    """A model in memory. Made by `loaded`; gone when the last of its users is."""

    def __init__(self, files: LocalFiles) -> None:
        self.window = min(files.window or _LONGEST_WINDOW, _LONGEST_WINDOW)
        check_memory(check_pair(files.weights, files.adapter), self.window)
        started = time.perf_counter()
        self._server = _server(files, self.window)
        self.load_seconds = time.perf_counter() - started
        self._turn = threading.Lock()

    def write(self, wish: Wish, stop: Callable[[], bool], on_piece: Callable[[str], None]) -> Generation:
        """Write an answer, piece by piece. Raises Overflow, Stopped, or ModelError."""
        with self._turn:
            if stop() or self._server is None:
                raise Stopped("the answer is no longer wanted")
            listener = _Listener(self.window - wish.room, stop, on_piece)
            self._server.handle_chat_completions(_body(wish), listener)
        return listener.generation()

    def close(self) -> None:
        """Take the model out of memory, once the answer under way is over."""
        with self._turn:
            self._server = None


class _Listener:
    """Hears every piece of one answer. Being true-valued for a piece ends the generation.

    The engine swallows what is raised here, so the reason to end is kept and raised by `generation`.
    """

    def __init__(self, most_prompt: int, stop: Callable[[], bool], on_piece: Callable[[str], None]) -> None:
        self._most_prompt = most_prompt
        self._stop = stop
        self._on_piece = on_piece
        self._pieces: list[str] = []
        self._finish = ""
        self._timings: dict[str, Any] = {}
        self._ended: Exception | None = ModelError(ModelFailure.MALFORMED, "the local model broke off")

    def __call__(self, chunk: dict[str, Any]) -> bool:
        if self._stop():
            self._ended = Stopped("the answer is no longer wanted")
            return True
        if "error" in chunk:
            self._ended = _refused(chunk["error"])
            return True
        total = chunk.get("prompt_progress", {}).get("total", 0)
        if total > self._most_prompt:
            self._ended = Overflow(total)
            return True
        for choice in chunk.get("choices", ())[:1]:
            self._hear(choice.get("delta", {}).get("content") or "")
            self._finish = choice.get("finish_reason") or self._finish
        if "timings" in chunk:
            self._timings = chunk["timings"]
        if self._finish:
            self._ended = None
        return False

    def _hear(self, text: str) -> None:
        if text:
            self._pieces.append(text)
            self._on_piece(text)

    def generation(self) -> Generation:
        """The whole answer, or the reason why there is none."""
        if self._ended is not None:
            raise self._ended
        timings = self._timings
        cached = int(timings.get("cache_n", 0))
        return Generation(
            text="".join(self._pieces),
            finish=self._finish,
            prompt_tokens=cached + int(timings.get("prompt_n", 0)),
            cached=cached,
            generated=int(timings.get("predicted_n", 0)),
            prompt_per_second=float(timings.get("prompt_per_second", 0.0)),
            generated_per_second=float(timings.get("predicted_per_second", 0.0)),
        )


def _refused(error: Any) -> Exception:
    if isinstance(error, dict) and error.get("type") == "exceed_context_size_error":
        return Overflow(int(error.get("n_prompt_tokens", 0)))
    said = error.get("message", error) if isinstance(error, dict) else error
    return ModelError(ModelFailure.BAD_REQUEST, f"the local model refused the request: {one_line(str(said), 200)}")


def _body(wish: Wish) -> dict[str, Any]:
    return {
        "messages": wish.messages,
        "response_format": {"type": "json_schema", "json_schema": {"name": "answer", "schema": wish.schema}},
        "max_tokens": wish.tokens,
        "temperature": 0,
        "cache_prompt": True,
        "stream": True,
        "return_progress": True,
        "timings_per_token": False,
    }


def _server(files: LocalFiles, window: int) -> Any:
    """The engine with these files. It also listens on a loopback port, which a key that nobody has keeps shut."""
    engine = importlib.import_module("xllamacpp")
    params = engine.CommonParams()
    params.model.path = str(files.weights)
    if files.adapter is not None:
        params.lora_adapters = [engine.CommonAdapterLoraInfo(str(files.adapter), 1.0)]
    params.api_keys = [secrets.token_urlsafe(32)]
    params.ui = False
    params.verbosity = -1
    params.warmup = False
    params.n_ctx = window
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = _BATCH
    params.cache_ram_mib = _SPARE_CACHE_MB
    for processors in (params.cpuparams, params.cpuparams_batch):
        processors.n_threads = _threads()
        processors.poll = 0
    try:
        return engine.Server(params)
    except RuntimeError as error:
        raise ConfigError(
            f"llama.cpp cannot load {str(files.weights)!r}" + (" with its adapter" if files.adapter else ""),
            remedy="the file may be cut short or newer than the engine; fetch it again or upgrade xllamacpp",
        ) from error


def _threads() -> int:
    """Half of the cores. Threads wait for each other at every layer by spinning, so that one core taken by another
    program makes them many times slower than fewer threads would be."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(_MOST_THREADS, cores // 2))


_models: weakref.WeakValueDictionary[LocalFiles, LoadedModel] = weakref.WeakValueDictionary()
_latest: list[LoadedModel] = []
_loading = threading.Lock()


@atexit.register
def _end() -> None:
    """Take models out of memory while the interpreter is whole: later the engine's own threads would crash it."""
    for model in list(_models.values()):
        model.close()


def loaded(files: LocalFiles, progress: ProgressListener) -> LoadedModel:
    """The model of these files, loaded once per process. The latest stays in memory even when nobody uses it."""
    with _loading:
        model = _models.get(files)
        if model is None:
            _latest.clear()
            progress(f"loading {files.weights.name} ({files.weights.stat().st_size >> 20} MB)")
            model = LoadedModel(files)
            _models[files] = model
            progress(f"loaded {files.weights.name} in {model.load_seconds:.1f} s")
        _latest[:] = [model]
        return model
