"""Every setting with its type and default. A key that is not here is an error with a suggestion."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import msgspec

from ..types.effort import Effort
from ..types.tools import Capability

Count = Annotated[int, msgspec.Meta(ge=1)]
CountOrNone = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e9)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=1e9)]


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A section of the configuration file."""


class Verdict(StrEnum):
    """What happens when a tool wants to use a capability. With nobody to ask, `ask` is `deny`.

    `confined` is for commands: allowed where a sandbox holds them and nothing about them is alarming, else asked.
    """

    ALLOW = "allow"
    CONFINED = "confined"
    ASK = "ask"
    DENY = "deny"


class Resume(StrEnum):
    """What happens to interrupted runs when the agent starts again."""

    AUTO = "auto"
    OFF = "off"


class ModelSettings(Group, frozen=True, kw_only=True):
    """Which model answers, and how long it may take."""

    name: str = ""
    fallbacks: tuple[str, ...] = ()
    base_url: str = ""
    timeout: Seconds = 120.0
    connect_timeout: Seconds = 10.0
    attempts: Count = 4
    retry_wait: Seconds = 0.5
    max_tokens: CountOrNone = 0
    effort: Effort | None = None


class BudgetSettings(Group, frozen=True, kw_only=True):
    """Hard caps in money, tokens and time; 0 is none. Nothing is spent beyond them."""

    run_usd: Amount = 0.0
    run_tokens: CountOrNone = 0
    run_seconds: Amount = 0.0
    session_usd: Amount = 0.0
    session_tokens: CountOrNone = 0
    session_seconds: Amount = 0.0
    day_usd: Amount = 0.0
    day_tokens: CountOrNone = 0
    day_seconds: Amount = 0.0


class StoreSettings(Group, frozen=True, kw_only=True):
    """Where state lives. An empty URL is SQLite under the home."""

    url: str = ""
    lease_seconds: Seconds = 15.0


class LimitSettings(Group, frozen=True, kw_only=True):
    """What one request may use."""

    iterations: Count = 90
    seconds: Seconds = 3600.0
    retries: CountOrNone = 4
    call_retries: CountOrNone = 2
    retry_wait: Seconds = 0.2
    same_failure: Count = 5
    parallel_calls: Count = 8
    tool_output: Count = 16_000
    check_seconds: Seconds = 300.0


def _default_permissions() -> dict[Capability, Verdict]:
    return {
        Capability.FILES_READ: Verdict.ALLOW,
        Capability.FILES_WRITE: Verdict.ALLOW,
        Capability.SHELL: Verdict.CONFINED,
        Capability.NETWORK: Verdict.ASK,
    }


class SandboxKind(StrEnum):
    """Where commands run. `auto` takes bubblewrap, else Landlock; `none` must be asked for by name."""

    AUTO = "auto"
    BUBBLEWRAP = "bubblewrap"
    LANDLOCK = "landlock"
    CONTAINER = "container"
    SSH = "ssh"
    NONE = "none"


class SandboxSettings(Group, frozen=True, kw_only=True):
    """Which sandbox, and what one command may use in it. `readable` are further folders it may read."""

    kind: SandboxKind = SandboxKind.AUTO
    image: str = "docker.io/library/debian:stable-slim"
    host: str = ""
    memory_mb: Count = 4096
    processes: Count = 512
    cpu_seconds: Count = 3600
    file_mb: Count = 8192
    readable: tuple[str, ...] = ()


class WebSettings(Group, frozen=True, kw_only=True):
    """How the web is searched and reached. `allowed` are private addresses (host:port) that may be reached."""

    search: str = "auto"
    search_url: str = ""
    allowed: tuple[str, ...] = ()
    browser: str = ""


class ApprovalSettings(Group, frozen=True, kw_only=True):
    """How long a question waits: no answer in time is no. `tainted` is for calls that strangers' text may have caused:
    `ask` needs a person also with `--yes`."""

    timeout: Seconds = 300.0
    tainted: Verdict = Verdict.ASK


class RuntimeSettings(Group, frozen=True, kw_only=True):
    """What happens at start and between processes."""

    resume: Resume = Resume.AUTO
    heartbeat: Seconds = 1.0


class PromptSettings(Group, frozen=True, kw_only=True):
    """What the frozen prefix holds, and how long a provider's cache is believed to keep it."""

    identity: str = ""
    compact_share: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.75
    keep_share: Annotated[float, msgspec.Meta(gt=0, lt=1)] = 0.25
    cache_minutes: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 60.0


class RetentionSettings(Group, frozen=True, kw_only=True):
    """How long unused sessions are kept; 0 is for ever."""

    days: Annotated[float, msgspec.Meta(ge=0, le=1e9)] = 0.0


class Learning(StrEnum):
    """Whether runs are learned from and what was learned is applied."""

    ON = "on"
    OFF = "off"


Share = Annotated[float, msgspec.Meta(ge=0, le=0.5)]


class LearningSettings(Group, frozen=True, kw_only=True):
    """How the harness learns. `approve` names what waits for a person before it acts: kinds of heuristics, and `once`
    for whatever touches a tool whose effect must happen only once. `explore` is how often a finding is left aside to
    see whether it still holds; `roll_back` how sure the guard must be (see docs/learning.md)."""

    mode: Learning = Learning.ON
    approve: tuple[str, ...] = ("skip_step", "once")
    explore: Share = 0.1
    roll_back: Annotated[float, msgspec.Meta(ge=20, le=1e9)] = 250.0
    probation: Count = 10


class SkillSettings(Group, frozen=True, kw_only=True):
    """Skills, which `mode` switches off as a whole. After `creation_nudge_interval` steps with tools a background
    review looks for something worth keeping; 0 is never. `guard_agent_created` scans what agents write.
    `index_characters` bounds the list of skills in the prompt. `project` reads `.hermes/skills` of the workspace,
    `team` is a shared folder or the address of a git repository. `embeddings` names an embedding model for
    similarity; empty is lexical. `rate` is how fast the moving success rate follows. `curate` merges overlapping skills
    of the review as soon as there are some; `check_days` is how often skills are tried on their test inputs and
    `archive_days` how long an unused one of the review is kept, 0 is never."""

    mode: Learning = Learning.ON
    creation_nudge_interval: CountOrNone = 10
    guard_agent_created: bool = True
    index_characters: Annotated[int, msgspec.Meta(ge=200, le=20_000)] = 1500
    project: bool = True
    team: str = ""
    embeddings: str = ""
    rate: Annotated[float, msgspec.Meta(gt=0, le=1)] = 0.1
    curate: bool = True
    check_days: Amount = 7.0
    archive_days: Amount = 90.0


class MemorySettings(Group, frozen=True, kw_only=True):
    """Memory, which `mode` switches off as a whole. After `nudge_interval` messages of the user a background review
    looks for something to remember; 0 is never. `provider` is the one external memory beside the built-in one;
    `address` and `options` are for it."""

    mode: Learning = Learning.ON
    nudge_interval: CountOrNone = 10
    provider: str | tuple[str, ...] = ""
    address: str = ""
    options: dict[str, str] = {}


class ReviewSettings(Group, frozen=True, kw_only=True):
    """The background review: how many steps it may take, what one and all of a day may cost (0 is no limit), and a file
    with another policy than the one that comes along."""

    mode: Learning = Learning.ON
    iterations: Count = 16
    usd: Amount = 0.0
    tokens: CountOrNone = 200_000
    day_usd: Amount = 0.0
    policy: str = ""


class ObservabilitySettings(Group, frozen=True, kw_only=True):
    """Where traces are sent: the address of an OTLP/HTTP receiver, such as http://127.0.0.1:4318; empty is nowhere.
    `otel_content` puts what was said into them, without secrets."""

    otel_endpoint: str = ""
    otel_content: bool = False


class Settings(Group, frozen=True, kw_only=True):
    """The whole configuration."""

    model: ModelSettings = ModelSettings()
    budgets: BudgetSettings = BudgetSettings()
    store: StoreSettings = StoreSettings()
    limits: LimitSettings = LimitSettings()
    permissions: dict[Capability, Verdict] = msgspec.field(default_factory=_default_permissions)
    sandbox: SandboxSettings = SandboxSettings()
    web: WebSettings = WebSettings()
    approvals: ApprovalSettings = ApprovalSettings()
    runtime: RuntimeSettings = RuntimeSettings()
    prompt: PromptSettings = PromptSettings()
    retention: RetentionSettings = RetentionSettings()
    learning: LearningSettings = LearningSettings()
    skills: SkillSettings = SkillSettings()
    memory: MemorySettings = MemorySettings()
    review: ReviewSettings = ReviewSettings()
    observability: ObservabilitySettings = ObservabilitySettings()
