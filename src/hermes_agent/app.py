"""The composition root: the only module that knows every part, and puts them together."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .config.load import Environment, load_settings
from .config.settings import Learning, Settings, WebSettings
from .harness.advisors import SilentAdvisor
from .harness.calls import Calls
from .harness.context_files import ContextFiles
from .harness.eyes import ModelEyes
from .harness.harness import Harness
from .harness.metering import Allowance
from .harness.permits import Permits
from .harness.prompt import PromptBuilder
from .harness.scene import Record, Services
from .harness.verdict import Verifiers
from .models.catalog import clients, split_name
from .models.client import ModelClient, ProviderOptions
from .models.facts import facts_for, resolve
from .models.meter import Meter
from .models.router import Router
from .observability.sinks import Fanout, LogFile
from .runtime.background import Background
from .runtime.engine import Ended
from .runtime.housekeeping import tidy
from .runtime.inline import InlineEngine
from .runtime.lease import Heartbeat
from .safety.permissions import Policy
from .safety.redact import Redactor
from .store.open import Store, open_store
from .store.recall import Recall
from .store.runs import Run
from .store.sessions import Session
from .tools.discovery import builtin_tools
from .tools.registry import Registry
from .tools.sandbox.base import Sandbox
from .tools.sandbox.choose import choose
from .tools.tool import Tool
from .types.advice import Advisor, ContextSource
from .types.base import Value
from .types.errors import ConfigError, HermesError, UsageError
from .types.plan import ActivePlan
from .types.sinks import EventSink
from .types.tools import Blobs, Person, Processes, WebAccess, Workshop

if TYPE_CHECKING:
    from .learning.advisor import LearnedAdvisor
    from .observability.otel import TraceSink
    from .runtime.figures import Figures
    from .runtime.growth import Growth
    from .runtime.knowledge import Knowledge
    from .tools.workshop.workshop import SelfWritten

_PICTURES = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
}
_LARGEST_PICTURE = 10_000_000
_KNOWLEDGE = ("learning", "skills", "memory")


class Parts(Value, frozen=True, kw_only=True):
    """What may be exchanged. The defaults are the product as it is installed."""

    agent: str = "hermes"
    advisor: Advisor | None = None
    sources: tuple[ContextSource, ...] = ()
    sinks: tuple[EventSink, ...] = ()
    models: dict[str, ModelClient] = {}
    builtin_tools: bool = True


class App:
    """One agent, wired. Make it with `build`, close it with `close`."""

    def __init__(self, environment: Environment, settings: Settings, store: Store, parts: Parts) -> None:
        self.environment = environment
        self.settings = settings
        self.store = store
        self.parts = parts
        self.notify: Callable[[str], None] = lambda text: None
        self.registry = Registry(builtin_tools() if parts.builtin_tools else ())
        self.policy = Policy(settings.permissions, confined=lambda: self.sandbox.confines)
        self.redactor = Redactor(environment.secrets)
        self.log = LogFile(environment.home / "logs" / "hermes.log", redactor=self.redactor)
        self.log.note("store_opened", database=store.database.backend.name, notices=list(store.notices))
        self.traces = self._traces()
        self.sinks = Fanout([self.log, *([self.traces] if self.traces else []), *parts.sinks])
        self.sandbox: Sandbox = choose(settings.sandbox, environment.passed_on, [environment.home])
        self._tools_folder = environment.home / "tools"
        if parts.builtin_tools and self._tools_folder.is_dir():
            for broken in self.written.refresh():
                self.log.note("tool_left_out", reason=broken)
        self.verifiers = Verifiers()
        self.knowledge = self._knowledge()
        self._harnesses: dict[tuple[str, str], Harness] = {}
        self._heartbeat = Heartbeat(store.runs, settings.runtime.heartbeat, settings.store.lease_seconds)
        self.background = Background(self._failed_behind)
        self.engine = InlineEngine(store, self.harness_for, parts.agent, self._heartbeat)
        self.engine.after = self._after

    def _traces(self) -> TraceSink | None:
        """Where spans of runs go, if somebody collects them."""
        if not self.settings.observability.otel_endpoint:
            return None
        from .observability.otel import sink_for

        return sink_for(self.settings.observability, self.redactor, self.parts.agent)

    @cached_property
    def written(self) -> SelfWritten:
        """The tools that the agent wrote itself. Loaded when there are any, or one is made."""
        from .tools.workshop.workshop import SelfWritten

        return SelfWritten(self._tools_folder, self.registry, reasons_against_tool)

    def _knowledge(self) -> Knowledge | None:
        """Skills and memory, where they are part of this installation and the product's own tools are wanted."""
        if not self.parts.builtin_tools or any(find_spec(f"{__package__}.{name}") is None for name in _KNOWLEDGE):
            return None
        from .runtime.knowledge import Knowledge

        known = Knowledge(self.environment, self.settings, self.store, self.redactor, self._noticed, self._tool_names)
        self.registry.add(known.entries())
        return known

    def _tool_names(self) -> frozenset[str]:
        return frozenset(spec.name for spec in self.registry.specs())

    @cached_property
    def figures(self) -> Figures:
        """What is exported about this agent, for whoever scrapes it."""
        from .runtime.figures import Figures

        return Figures(self.store, self.settings.budgets, lambda name: facts_for(name, self.environment.home))

    @cached_property
    def growth(self) -> Growth | None:
        """What looks back after runs; None without skills and memory."""
        if self.knowledge is None:
            return None
        from .runtime.growth import Growth
        from .runtime.quiet import QuietRuns

        quiet = QuietRuns(self.store, self.parts.agent, self._heartbeat)
        return Growth(
            self.store,
            self.settings,
            self.knowledge,
            quiet,
            self.background,
            lambda name: facts_for(name, self.environment.home),
            time.time,
        )

    def _after(self, ended: Ended) -> None:
        if self.growth is not None:
            self.growth.after(ended)

    def _failed_behind(self, name: str, error: BaseException) -> None:
        self.log.note("background_failed", work=name, reason=self.redactor.redact(f"{type(error).__name__}: {error}"))

    @cached_property
    def advisor(self) -> Advisor:
        """What learning says; silent where it is switched off, or is not part of this installation."""
        if self.parts.advisor is not None:
            return self.parts.advisor
        if self.settings.learning.mode is Learning.OFF or find_spec(f"{__package__}.learning") is None:
            return SilentAdvisor()
        return self.learned_advisor

    @cached_property
    def learned_advisor(self) -> LearnedAdvisor:
        """The product's own learning, also where another advisor stands before it."""
        from .learning.advisor import LearnedAdvisor

        if self.knowledge is None or not self.knowledge.has_skills:
            return LearnedAdvisor(self.store, self.settings.learning, self._noticed)
        from .learning.offering import LibraryOffers, Likeness
        from .learning.refine import Refining

        known = self.knowledge
        offers = LibraryOffers(known.library, known.circumstances, Likeness(known.embed, self._noticed))
        advisor = LearnedAdvisor(self.store, self.settings.learning, self._noticed, offers)
        advisor.after_learning = Refining(self.store, known.library, known.editing, self.settings.skills).learned
        return advisor

    def _noticed(self, text: str) -> None:
        """Tell whoever watches, and the log."""
        self.log.note("notice", text=text)
        self.notify(text)

    def register(self, tool: Tool) -> None:
        """Add a tool of the program that uses us; it vouches for what the tool declares."""
        self.registry.register(tool)
        if tool.spec.capabilities is not None:
            self.policy.vouch(tool.spec.name)

    def model_name(self, wanted: str = "") -> str:
        """The model in force: asked for, else the environment's, else the configured one."""
        name = resolve(wanted or self.environment.model or self.settings.model.name, self.environment.home)
        if not name:
            raise ConfigError(
                "no model is configured",
                remedy="set HERMES_MODEL or model.name to provider:model, such as openai:NAME "
                "(with OPENAI_API_KEY or OPENAI_BASE_URL); `hermes demo` needs none",
            )
        split_name(name)
        return name

    def harness_for(self, model: str, options: dict[str, Any]) -> Harness:
        """The harness for a model; one per model and endpoint."""
        base_url = str(options.get("base_url") or "")
        key = (model, base_url)
        if key not in self._harnesses:
            self._harnesses[key] = self._harness(model, base_url)
        return self._harnesses[key]

    def withdraw(self, model: str) -> None:
        """Forget a model that was lent for one run, and the harness made for it."""
        self.parts.models.pop(model, None)
        for key in [key for key in self._harnesses if key[0] == model]:
            del self._harnesses[key]

    def clients_for(self, model: str, base_url: str = "") -> list[ModelClient]:
        """The clients for a model name, one for each key. Keys come from the environment."""
        return self._clients(model, base_url, self.settings.model.base_url)

    def _clients(self, model: str, base_url: str, configured: str) -> list[ModelClient]:
        if model in self.parts.models:
            return [self.parts.models[model]]
        settings = self.settings.model
        base = ProviderOptions(
            model="", base_url=base_url, timeout=settings.timeout, connect_timeout=settings.connect_timeout
        )
        return clients(model, self.environment.access, base, configured)

    def _routes(self, model: str, base_url: str) -> list[ModelClient]:
        """The model's own clients, then those of the configured fallbacks. One that cannot be had is left out, and
        said in the log: a fallback without a key must not stop the model that has one."""
        routes = self.clients_for(model, base_url)
        for written in self.settings.model.fallbacks:
            try:
                name = resolve(written, self.environment.home)
                routes += self._clients(name, "", "") if name != model else []
            except HermesError as error:
                self.log.note("fallback_left_out", model=written, reason=str(error))
        return routes

    def _harness(self, model: str, base_url: str) -> Harness:
        settings = self.settings
        permits = Permits(self.policy, settings.approvals.timeout, settings.approvals.tainted)
        harness = Harness(
            self.store,
            Router(self._routes(model, base_url), settings.model.attempts, settings.model.retry_wait),
            Calls(self.registry, permits, self.advisor, self.redactor, settings.limits),
            PromptBuilder(
                self.store.prefixes,
                self.registry,
                (
                    ContextFiles(self.environment.home, self.environment.user_home, self._noticed),
                    *(self.knowledge.context_sources() if self.knowledge else ()),
                    *self.parts.sources,
                ),
                settings.prompt,
                time.time,
            ),
            self.advisor,
            self.sinks,
            settings.limits,
            self.sandbox,
        )
        harness.services = partial(self._lend, harness.router)
        harness.verifiers = self.verifiers
        harness.turn_sources = self.knowledge.turn_sources() if self.knowledge else ()
        harness.allowance = Allowance(
            settings.budgets,
            lambda name: facts_for(name, self.environment.home),
            settings.model.max_tokens,
            settings.model.effort,
        )
        return harness

    def _lend(self, router: Router, session: Session, run: Run, meter: Meter, record: Record) -> Services:
        """What the tools of one run are lent."""
        home, blobs = self.environment.home, self.store.blobs(session.id)

        def workshop(processes: Processes, person: Person, blobs: Blobs) -> Workshop:
            return self.written.for_call(
                processes=processes, person=person, workspace=Path(session.workspace), blobs=blobs
            )

        return Services(
            web=web_access(self.settings.web, self.environment.access),
            eyes=ModelEyes(router, blobs, lambda name: facts_for(name, home).vision, meter, record),
            conversations=Recall(self.store.sessions),
            outbox=self.store.outbox.of_run(session.id, run.id),
            workshop=workshop,
        )

    async def session(self, session_id: str, *, title: str, surface: str, workspace: Path) -> Session:
        """The session with this id, or a new one when none is named."""
        if session_id:
            return await self.store.sessions.get(session_id)
        return await self.store.sessions.create(
            agent=self.parts.agent, surface=surface, workspace=_real(workspace), title=title
        )

    def active_plan(self, session_id: str) -> ActivePlan | None:
        """The plan of the request that this process is driving for a session."""
        plans = (harness.active_plan(session_id) for harness in tuple(self._harnesses.values()))
        return next((plan for plan in plans if plan is not None), None)

    def pictures(self, session_id: str, files: Sequence[Path]) -> list[dict[str, str]]:
        """Store pictures beside a session, and describe them as a message's options want it."""
        kept = []
        for file in files:
            kind = _PICTURES.get(file.suffix.lower())
            if kind is None:
                known = ", ".join(sorted(_PICTURES))
                raise UsageError(f"{file} is no picture that models take", remedy=f"they take {known}")
            data = file.read_bytes()
            if len(data) > _LARGEST_PICTURE:
                raise UsageError(f"{file} has {len(data)} bytes", remedy=f"make it smaller than {_LARGEST_PICTURE}")
            kept.append({"media_type": kind, "blob": self.store.blobs(session_id).put(data)})
        return kept

    async def close(self) -> None:
        """Finish background work, tidy, stop threads and close the store. Runs under way stay resumable."""
        await self.background.join()
        tidied = await tidy(self.store, self.settings.retention.days, time.time())
        if tidied:
            self.log.note("sessions_erased", count=len(tidied), days=self.settings.retention.days)
        await self.engine.close()
        for harness in self._harnesses.values():
            await harness.close()
        if self.knowledge is not None:
            await self.knowledge.close()
        if self.traces is not None:
            await asyncio.to_thread(self.traces.close)
        self.store.close()


def web_access(settings: WebSettings, access: Mapping[str, str]) -> WebAccess:
    """How tools reach the web. Without a choice of search engine, it is one there is a key for."""
    keys = {engine: access.get(f"{engine.upper()}_API_KEY", "") for engine in ("brave", "tavily")}
    return WebAccess(
        search=settings.search,
        search_url=settings.search_url,
        search_key=next(filter(None, keys.values()), "")
        if settings.search == "auto"
        else keys.get(settings.search, ""),
        allowed=frozenset(settings.allowed),
        browser=settings.browser,
    )


def reasons_against_tool(source: str) -> list[str]:
    """What the scanner says against the source of a tool."""
    from .safety.scan import Kind, Verdict, scan

    report = scan(source, Kind.TOOL)
    return [finding.why for finding in report.findings] if report.verdict is Verdict.BLOCK else []


def _real(workspace: Path) -> str:
    return os.path.realpath(workspace)


def build(environment: Environment, parts: Parts | None = None, notify: Callable[[str], None] | None = None) -> App:
    """Read the configuration, open the store, and wire everything. `notify` hears of migrations and the like."""
    settings = load_settings(environment.home)
    store = open_store(settings.store.url, environment.home, lease_seconds=settings.store.lease_seconds)
    for notice in store.notices:
        if notify is not None:
            notify(notice)
    app = App(environment, settings, store, parts or Parts())
    app.notify = notify or app.notify
    return app
