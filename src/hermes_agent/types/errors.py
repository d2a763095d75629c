"""One error tree. Every error a person can meet says what to do about it."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar


class HermesError(Exception):
    """A failure with a remedy. `str()` is one line for people; `remedy` is the next step."""

    remedy: ClassVar[str] = ""
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.advice = remedy or type(self).remedy

    def explain(self) -> str:
        """The message and, where there is one, the remedy behind it."""
        message = str(self)
        return f"{message} ({self.advice})" if self.advice else message


class UsageError(HermesError):
    """The caller asked for something that does not exist or does not fit."""

    exit_code = 2


class NotFound(UsageError):
    """An id or a name that nothing answers to."""


class ConfigError(HermesError):
    """The configuration cannot be read or does not fit its types."""

    remedy = "`hermes config path` names the file; `hermes config show` lists every key"
    exit_code = 2


class MissingExtra(HermesError):
    """An optional dependency is needed and not installed."""

    exit_code = 2


class StoreError(HermesError):
    """The database cannot do what was asked."""


class StoreDamaged(StoreError):
    """The database file is not readable as one; it was set aside, not overwritten."""

    remedy = "restore a file from the backups folder, or start again: the next command makes a new database"


class StoreTooNew(StoreError):
    """The database was written by a newer version of the product."""

    remedy = "upgrade hermes, or point HERMES_HOME at another folder"


class StoreUnwritable(StoreError):
    """The disk is full, the home is read-only, or the file system cannot carry a database."""

    remedy = "free some space or make the folder writable, or move it with HERMES_HOME"


class LeaseLost(StoreError):
    """Another process took this run over; this one must write nothing more."""


class SessionBusy(StoreError):
    """Another process is driving this session right now."""


class LimitReached(HermesError):
    """A configured limit stopped the run."""


class PermissionRefused(HermesError):
    """A call asked for more than it was granted."""


class ModelFailure(StrEnum):
    """Why a model call failed: the router decides by this, never by text."""

    AUTH = "auth"
    QUOTA = "quota"
    RATE_LIMIT = "rate_limit"
    OVERLOAD = "overload"
    CONTEXT_TOO_LONG = "context_too_long"
    REFUSED = "refused"
    BAD_REQUEST = "bad_request"
    NETWORK = "network"
    MALFORMED = "malformed"


class ModelError(HermesError):
    """A model call failed. `failure` says how; `retry_after` is the provider's own wish in seconds; `billed` whether
    the answer had begun, so that it may have to be paid for."""

    def __init__(
        self, failure: ModelFailure, message: str, *, retry_after: float | None = None, remedy: str = ""
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.failure = failure
        self.retry_after = retry_after
        self.billed = False
