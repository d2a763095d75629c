"""The checks of `hermes doctor`. Each looks at one thing and says what to do about it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path

from ...config.load import Environment, config_path
from ...config.settings import Settings, Verdict
from ...models.catalog import clients, split_name
from ...models.client import ProviderOptions
from ...models.facts import resolve
from ...store.backends.sqlite import NETWORK_FILE_SYSTEMS, Sqlite, file_system_of
from ...store.database import Backend
from ...store.open import Store
from ...tools.sandbox.base import Sandbox
from ...types.base import Value
from ...types.errors import ConfigError, HermesError, StoreDamaged
from ...types.tools import Capability
from ...version import __version__
from .console import amount
from .privacy import without_password

_OPENAI_URL = "https://api.openai.com/v1"
_EXTRAS = {
    "postgres": ("psycopg", "state in PostgreSQL"),
    "data": ("duckdb", "SQL and plots over files"),
    "browser": ("playwright", "the browser tools"),
    "local": ("xllamacpp", "the embedded model"),
    "http": ("starlette", "the page"),
}
_ROOMY = 100_000_000


class State(StrEnum):
    """How a check came out."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


class Check(Value, frozen=True, kw_only=True):
    """One line of the report."""

    name: str
    state: State
    text: str
    remedy: str = ""


def good(name: str, text: str) -> Check:
    """Nothing to do."""
    return Check(name=name, state=State.OK, text=text)


def failed(name: str, error: HermesError) -> Check:
    """What an error says."""
    return Check(name=name, state=State.FAIL, text=str(error), remedy=error.advice)


def check_program() -> Iterator[Check]:
    """The interpreter and the installation."""
    yield good("python", f"{platform.python_version()} at {sys.executable}")
    yield good("hermes", f"{__version__} at {Path(__file__).parents[2]}")


def check_home(home: Path) -> Iterator[Check]:
    """Whether state can be kept: writable, on a file system that carries a database, with room to grow."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=home) as file:
            file.write(b"x")
            file.flush()
    except OSError as error:
        yield Check(
            name="home",
            state=State.FAIL,
            text=f"{home} cannot be written to: {error.strerror or error}",
            remedy="free some space or make it writable, or move it with HERMES_HOME",
        )
        return
    yield good("home", f"{home} is writable")
    kind = file_system_of(home)
    if kind.startswith(NETWORK_FILE_SYSTEMS):
        remedy = "move HERMES_HOME to a local disk, or set store.url to a PostgreSQL database"
        yield Check(name="file system", state=State.FAIL, text=f"{kind} loses SQLite's data", remedy=remedy)
    else:
        yield good("file system", kind or "unknown")
    disk = os.statvfs(home)
    free = disk.f_bavail * disk.f_frsize
    if free < _ROOMY:
        remedy = "`hermes sessions prune` erases old sessions"
        yield Check(name="disk", state=State.WARN, text=f"only {amount(free)} are free", remedy=remedy)
    if home.stat().st_mode & 0o077:
        yield Check(
            name="privacy",
            state=State.WARN,
            text=f"other users of this machine may read {home}",
            remedy=f"chmod 700 {home}",
        )


def check_database(backend: Backend, settings: Settings, home: Path) -> Iterator[Check]:
    """Integrity and size of the database, and what was set aside. A database that is not there yet is fine."""
    if isinstance(backend, Sqlite):
        if not backend.path.exists():
            yield good("database", f"{backend.path} is not there yet; the first run makes it")
        else:
            yield from _check_file(backend)
        asides = [path for path in backend.copies() if ".damaged-" in path]
        for path in asides:
            remedy = f"`hermes doctor --repair {path}` saves what can be read; remove the file when you need it no more"
            yield Check(name="set aside", state=State.WARN, text=f"{path} is damaged", remedy=remedy)
        return
    where = f"{backend.name} at {without_password(settings.store.url)}"
    problems = backend.check()
    if problems:
        yield Check(name="database", state=State.FAIL, text=f"{where}: {problems[0]}", remedy="restore a backup")
    else:
        yield good("database", f"{where}, {amount(backend.size())}")


def _check_file(backend: Sqlite) -> Iterator[Check]:
    problems = backend.check()
    if problems:
        more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
        remedy = "`hermes doctor --repair` saves what can be read and keeps the damaged file"
        text = f"{backend.path} is damaged: {problems[0]}{more}"
        yield Check(name="database", state=State.FAIL, text=text, remedy=remedy)
    else:
        yield good("database", f"{backend.path} is sound, {amount(backend.size())}")


def check_model(environment: Environment, settings: Settings) -> Iterator[Check]:
    """Whether a model is configured and its provider is ready to be asked."""
    name = environment.model or settings.model.name
    with contextlib.suppress(ConfigError):
        name = resolve(name, environment.home)
    if not name:
        remedy = "set HERMES_MODEL or model.name to provider:model, such as openai:NAME; `hermes demo` needs none"
        yield Check(name="model", state=State.WARN, text="no model is configured", remedy=remedy)
        return
    base_url = environment.access.get("OPENAI_BASE_URL", "") or settings.model.base_url
    try:
        clients(name, environment.access, ProviderOptions(model=""), settings.model.base_url)
    except HermesError as error:
        yield failed("model", error)
        return
    where = f" at {without_password(base_url)}" if base_url and name.startswith("openai:") else ""
    yield good("model", f"{name}{where}")


async def check_endpoint(environment: Environment, settings: Settings) -> Check:
    """Whether the endpoint answers, and knows the key. Costs nothing: it asks for the list of models."""
    import httpx

    named = environment.model or settings.model.name or "none"
    with contextlib.suppress(ConfigError):
        named = resolve(named, environment.home)
    provider, model = split_name(named)
    if provider != "openai":
        return good("endpoint", f"{provider} needs none")
    url = (environment.access.get("OPENAI_BASE_URL") or settings.model.base_url or _OPENAI_URL).rstrip("/") + "/models"
    key = environment.access.get("OPENAI_API_KEY", "").partition(",")[0]
    headers = {"authorization": f"Bearer {key}"} if key else {}
    try:
        async with httpx.AsyncClient(timeout=settings.model.connect_timeout) as client:
            response = await client.get(url, headers=headers)
            known = [one.get("id") for one in response.json().get("data", [])] if response.is_success else []
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, AttributeError) as error:
        remedy = "check the network, OPENAI_BASE_URL and model.base_url"
        return Check(name="endpoint", state=State.FAIL, text=f"{url} does not answer: {error}", remedy=remedy)
    if response.status_code in (401, 403):
        return Check(name="endpoint", state=State.FAIL, text="the key is refused", remedy="check OPENAI_API_KEY")
    if not response.is_success:
        text = f"{url} answers {response.status_code}; it may have no list of models"
        return Check(name="endpoint", state=State.WARN, text=text, remedy="try `hermes run -q hello`")
    if known and model not in known:
        text = f"{url} answers, but does not list {model!r}"
        return Check(name="endpoint", state=State.WARN, text=text, remedy=f"it has: {', '.join(map(str, known[:8]))}")
    return good("endpoint", f"{url} answers")


def check_sandbox(sandbox: Sandbox, settings: Settings) -> Check:
    """Which sandbox holds commands, and why; without one, what happens to them."""
    try:
        confines, reason = sandbox.confines, sandbox.reason
    except HermesError as error:
        return failed("sandbox", error)
    if confines:
        return good("sandbox", reason)
    verdict = settings.permissions.get(Capability.SHELL, Verdict.ASK)
    asked = {
        Verdict.CONFINED: "each that does more than read is asked about first",
        Verdict.ASK: "each is asked about first",
        Verdict.ALLOW: "none is asked about",
        Verdict.DENY: "all are denied",
    }
    return Check(
        name="sandbox",
        state=State.OK if verdict is Verdict.DENY else State.WARN,
        text=f"{reason}; {asked[verdict]}",
        remedy="install bubblewrap (apt install bubblewrap)" if verdict is not Verdict.DENY else "",
    )


async def check_journal(store: Store, limit: int) -> Iterator[Check]:
    """Whether the entries of the sessions used last can be read. The engine's own check does not look into them."""
    checks = []
    sessions = await store.sessions.recent(limit)
    for session in sessions:
        try:
            await store.sessions.export(session.id)
        except StoreDamaged as error:
            remedy = f"`hermes doctor --repair` takes out what cannot be read; or `hermes sessions delete {session.id}`"
            checks.append(Check(name="journal", state=State.FAIL, text=f"session {session.id}: {error}", remedy=remedy))
    return iter(checks or [good("journal", f"the last {len(sessions)} sessions can be read")])


def check_extras() -> Iterator[Check]:
    """Optional parts, or how to get them."""
    for extra, (module, purpose) in _EXTRAS.items():
        if importlib.util.find_spec(module) is not None:
            yield good(f"extra {extra}", f"installed ({purpose})")
        else:
            yield good(f"extra {extra}", f"not installed ({purpose}): pip install 'hermes-harness[{extra}]'")


def check_config(home: Path) -> Check:
    """The configuration file has been read already; say which."""
    path = config_path(home)
    return good("config", f"{path} is valid" if path.exists() else f"{path} is not there; the defaults hold")
