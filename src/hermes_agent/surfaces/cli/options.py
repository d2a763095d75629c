"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])


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
