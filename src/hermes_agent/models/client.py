"""What every model looks like to the harness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from ..types.base import Value
from ..types.events import Usage
from ..types.tools import ToolCall
from .request import ModelRequest

TextListener = Callable[[str], None]


class ProviderOptions(Value, frozen=True, kw_only=True):
    """What a provider needs to connect. Keys come from the environment and are never stored.

    `extra` is what only some providers know: each names its keys where it connects.
    """

    model: str
    provider: str = ""
    base_url: str = ""
    api_key: str = ""
    timeout: float = 120.0
    connect_timeout: float = 10.0
    extra: dict[str, str] = {}


class ModelAnswer(Value, frozen=True, kw_only=True):
    """A complete answer. An answer that broke off is an error, never a part of one.

    `replay` is what this wire format wants back unchanged (see AssistantMessage).
    """

    text: str
    calls: tuple[ToolCall, ...] = ()
    stop: str = ""
    usage: Usage = Usage()
    replay: dict[str, Any] = {}


class ModelClient(Protocol):
    """One model behind one endpoint. Stateless: everything it knows is in the request."""

    @property
    def provider(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        """The answer to `request`, streamed to `on_text` as it comes. Raises ModelError."""

    async def close(self) -> None:
        """Let go of connections."""
