"""`hermes doctor`: check the installation and say what to do."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import click

from ...app import App, Parts
from ...config.load import Environment, load_settings, read_environment
from ...config.settings import Settings
from ...store.backends.sqlite import Sqlite
from ...store.open import backend_for, open_store
from ...tools.sandbox.choose import choose
from ...types.errors import HermesError, StoreError, UsageError
from .checkup import (
    Check,
    State,
    check_config,
    check_database,
    check_endpoint,
    check_extras,
    check_home,
    check_journal,
    check_model,
    check_program,
    check_sandbox,
    failed,
    good,
)
from .checkup_knowledge import check_knowledge
from .console import Console, print_json
from .options import json_option

_PRESENT = "-"
_SESSIONS = 200
_STYLES = {State.OK: "green", State.WARN: "yellow", State.FAIL: "red"}


@click.command(short_help="Check the installation and say what to do.")
@click.option("--online", is_flag=True, help="Also ask the model's endpoint whether it answers.")
@click.option(
    "--repair",
    is_flag=False,
    flag_value=_PRESENT,
    default="",
    metavar="[FILE]",
    help="Save what can be read from a damaged database: the present one, or FILE that was set aside.",
)
@json_option
def command(online: bool, repair: str, as_json: bool) -> int:
    """Check the installation. Every line says ok, warn or fail, and what to do. Exits with 1 if something fails."""
    environment = read_environment()
    checks = [_repair(environment, repair)] if repair else []
    checks += asyncio.run(examine(environment, online=online))
    if as_json:
        print_json({"ok": all(one.state is not State.FAIL for one in checks), "checks": checks})
    else:
        _print(checks)
    return 1 if any(one.state is State.FAIL for one in checks) else 0


async def examine(environment: Environment, *, online: bool) -> list[Check]:
    """Everything, in the order in which one thing needs the other. Nothing is changed."""
    home = environment.home
    checks = [*check_program(), *check_home(home)]
    writable = all(one.state is not State.FAIL for one in checks)
    try:
        settings = load_settings(home)
        checks.append(check_config(home))
    except HermesError as error:
        checks.append(failed("config", error))
        settings = Settings()
    if writable:
        checks += await _examine_store(environment, settings)
    checks += check_model(environment, settings)
    if online:
        checks.append(await check_endpoint(environment, settings))
    checks.append(check_sandbox(choose(settings.sandbox, environment.passed_on, [home]), settings))
    checks += check_extras()
    return checks


async def _examine_store(environment: Environment, settings: Settings) -> list[Check]:
    """The database and what it says. A damaged one is only looked at: opening it would set it aside."""
    try:
        backend = backend_for(settings.store.url, environment.home)
    except HermesError as error:
        return [failed("database", error)]
    checks = []
    try:
        checks = list(check_database(backend, settings, environment.home))
        if any(one.state is State.FAIL for one in checks):
            return checks
        if isinstance(backend, Sqlite) and not backend.path.exists():
            return checks
        store = open_store(settings.store.url, environment.home)
    except (HermesError, OSError, sqlite3.Error) as error:
        known = error if isinstance(error, HermesError) else StoreError(str(error))
        return [*checks, failed("database", known)]
    checks += [Check(name="store", state=State.WARN, text=notice) for notice in store.notices]
    app = App(environment, settings, store, Parts())
    try:
        checks += await check_journal(store, _SESSIONS)
        runs = await app.engine.abandoned()
        checks += await check_knowledge(app)
    except HermesError as error:
        return [*checks, failed("runs", error)]
    finally:
        await app.close()
    if runs:
        text = f"{len(runs)} interrupted: {', '.join(run.id for run in runs[:5])}"
        checks.append(Check(name="runs", state=State.WARN, text=text, remedy="`hermes resume` goes on with them"))
    else:
        checks.append(good("runs", "none is interrupted"))
    return checks


def _repair(environment: Environment, which: str) -> Check:
    """Save what can be read into the present database. The damaged file is kept."""
    settings = load_settings(environment.home)
    backend = backend_for(settings.store.url, environment.home)
    if not isinstance(backend, Sqlite):
        raise UsageError("only a SQLite database can be repaired here", remedy="use the server's own tools and backups")
    file = None if which == _PRESENT else Path(which)
    if file is not None and not file.is_file():
        raise UsageError(f"there is no file {file}", remedy="`hermes doctor` names the damaged ones")
    if file is None:
        if not backend.path.exists():
            raise UsageError(f"there is no database {backend.path}", remedy="the next run makes a new one")
        if not backend.check() and not asyncio.run(_unreadable(settings, environment)):
            return good("repair", f"{backend.path} is sound; nothing was done")
    try:
        saved = backend.repair(file)
    except (OSError, sqlite3.Error) as error:
        raise backend.translate(error) or StoreError(str(error)) from error
    kept, lost = sum(saved.kept.values()), sum(saved.lost.values())
    text = f"{kept} rows were saved, {lost} are lost; the damaged file is kept as {saved.aside}"
    if not lost:
        return good("repair", text)
    where = ", ".join(f"{table}: {count}" for table, count in saved.lost.items() if count)
    return Check(name="repair", state=State.WARN, text=text, remedy=f"lost rows by table: {where}")


async def _unreadable(settings: Settings, environment: Environment) -> bool:
    """Whether entries of the journal cannot be read although the engine finds the file sound."""
    store = open_store(settings.store.url, environment.home)
    try:
        return any(one.state is State.FAIL for one in await check_journal(store, _SESSIONS))
    finally:
        store.close()


def _print(checks: list[Check]) -> None:
    console = Console()
    width = max(len(one.name) for one in checks)
    for one in checks:
        mark = console.styled(one.state.value.ljust(4), _STYLES[one.state], console.out)
        print(f"{mark}  {one.name.ljust(width)}  {one.text}", file=console.out)
        if one.remedy:
            print(f"      {' ' * width}  try: {one.remedy}", file=console.out)
    console.out.flush()
