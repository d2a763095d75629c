"""What most commands do first: open the agent, and close it whatever happens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import click

from ...app import App, Parts, build
from ...config.load import read_environment
from ...store.sessions import Session
from ...types.errors import UsageError
from .console import Console

Function = TypeVar("Function", bound=Callable[..., Any])


@asynccontextmanager
async def opened(console: Console, parts: Parts | None = None) -> AsyncIterator[App]:
    """The agent of this home, which only its user may read. Closed at the end. Notices of the store go to stderr."""
    environment = read_environment()
    with suppress(OSError):  # what is wrong with the home is said by the store, with the remedy
        environment.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    app = build(environment, parts, console.note)
    try:
        yield app
    finally:
        await app.close()


def json_option(function: Function) -> Function:
    """`--json`, as every command has it."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead of text.")(function)


def model_options(function: Function) -> Function:
    """`--model` and `--base-url`."""
    model = click.option(
        "-m", "--model", default="", metavar="PROVIDER:MODEL", help="Which model answers.  [env: HERMES_MODEL]"
    )
    url = click.option(
        "--base-url", default="", metavar="URL", help="OpenAI-compatible endpoint.  [env: OPENAI_BASE_URL]"
    )
    return model(url(function))


def directory_option(function: Function) -> Function:
    """`-C DIR`."""
    return click.option(
        "-C",
        "--directory",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=".",
        metavar="DIR",
        help="Work in this directory instead of the current one.",
    )(function)


def yes_option(function: Function) -> Function:
    """`--yes`."""
    return click.option("-y", "--yes", is_flag=True, help="Answer yes to everything that would be asked.")(function)


def check_workspace(session: Session, directory: Path, console: Console) -> None:
    """A session works where it began. Say so when that is elsewhere; refuse when the folder is gone."""
    if not Path(session.workspace).is_dir():
        raise UsageError(
            f"session {session.id} works in {session.workspace}, which is not there any more",
            remedy="make the folder again, or begin a new session without --session",
        )
    if Path(session.workspace) != directory.resolve():
        console.note(f"this session works in {session.workspace}", "yellow")
