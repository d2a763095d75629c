"""Every setting with its type and default. A key that is not here is an error with a suggestion."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from ..types.tools import Capability


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of the configuration file."""


class Verdict(StrEnum):
    """What happens when a tool wants to use a capability. With nobody to ask, `ask` is `deny`."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Resume(StrEnum):
    """What happens to interrupted runs when the agent starts again."""

    AUTO = "auto"
    OFF = "off"


class ModelSettings(Group, frozen=True, kw_only=True):
    """Which model answers, and how long it may take."""

    name: str = ""
    base_url: str = ""
    timeout: float = 120.0
    connect_timeout: float = 10.0
    attempts: int = 4
    max_tokens: int = 0


class StoreSettings(Group, frozen=True, kw_only=True):
    """Where state lives. An empty URL is SQLite under the home."""

    url: str = ""
    lease_seconds: float = 15.0


class LimitSettings(Group, frozen=True, kw_only=True):
    """What one request may use."""

    iterations: int = 90
    seconds: float = 3600.0
    retries: int = 4
    call_retries: int = 2
    same_failure: int = 5
    parallel_calls: int = 8
    tool_output: int = 16_000


def _default_permissions() -> dict[Capability, Verdict]:
    return {
        Capability.FILES_READ: Verdict.ALLOW,
        Capability.FILES_WRITE: Verdict.ALLOW,
        Capability.SHELL: Verdict.ASK,
        Capability.NETWORK: Verdict.ASK,
    }


class ApprovalSettings(Group, frozen=True, kw_only=True):
    """How long a question waits. No answer in time is no."""

    timeout: float = 300.0


class RuntimeSettings(Group, frozen=True, kw_only=True):
    """What happens at start and between processes."""

    resume: Resume = Resume.AUTO
    heartbeat: float = 1.0


class PromptSettings(Group, frozen=True, kw_only=True):
    """What the frozen prefix holds, and how long a provider's cache is believed to keep it."""

    identity: str = ""
    cache_minutes: float = 60.0


class RetentionSettings(Group, frozen=True, kw_only=True):
    """How long unused sessions are kept; 0 is for ever."""

    days: float = 0.0


class Settings(Group, frozen=True, kw_only=True):
    """The whole configuration."""

    model: ModelSettings = ModelSettings()
    store: StoreSettings = StoreSettings()
    limits: LimitSettings = LimitSettings()
    permissions: dict[Capability, Verdict] = msgspec.field(default_factory=_default_permissions)
    approvals: ApprovalSettings = ApprovalSettings()
    runtime: RuntimeSettings = RuntimeSettings()
    prompt: PromptSettings = PromptSettings()
    retention: RetentionSettings = RetentionSettings()
