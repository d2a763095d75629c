"""What can go wrong with a visit, as something a model can act on."""

from __future__ import annotations

from ...safety.urls import AddressRefused, HostUnknown
from ...types.errors import HermesError
from ...types.tools import ToolResult


class WebFailure(HermesError):
    """A visit that brought nothing. `error` is the result's short class; `transient` means it may work later."""

    def __init__(self, error: str, message: str, *, transient: bool = False) -> None:
        super().__init__(message)
        self.error = error
        self.transient = transient


def visit_failure(error: HermesError) -> ToolResult:
    """The failure as a result."""
    match error:
        case WebFailure():
            return ToolResult(ok=False, error=error.error, text=error.explain(), transient=error.transient)
        case AddressRefused():
            return ToolResult(ok=False, error="address_refused", text=error.explain())
        case HostUnknown():
            return ToolResult(ok=False, error="host_unknown", text=error.explain(), transient=True)
        case _:
            return ToolResult(ok=False, error="web", text=error.explain())
