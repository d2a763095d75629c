"""The command group: lazy commands, and errors as one line with a remedy."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType

import click

from ...types.errors import HermesError
from ...version import __version__
from .console import Console, print_json


class LazyGroup(click.Group):
    """Knows its commands by name and summary; imports the module of that name when one is called. `modules` says where
    a command lives whose name is no name for a module."""

    def __init__(
        self,
        commands: Mapping[str, str],
        name: str,
        package: str,
        about: str,
        modules: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        settings = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
        super().__init__(name=name, help=about, context_settings=settings)
        self._summaries = commands
        self._package = package
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._summaries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._summaries:
            return None
        module = self._modules.get(cmd_name, cmd_name)
        command = importlib.import_module(f"{self._package}.{module}").command
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in self._summaries and not args[0].startswith("-"):
            import difflib

            close = difflib.get_close_matches(args[0], self._summaries, n=1)
            path = ctx.command_path
            hint = f"did you mean `{path} {close[0]}`?" if close else f"`{path} --help` lists them"
            ctx.fail(f"there is no command {args[0]!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._summaries.items()))


def _root(commands: Mapping[str, str]) -> LazyGroup:
    about = "Hermes does tasks on your machine through tools, and never loses work."
    root = LazyGroup(commands, name="hermes", package=__package__, about=about)
    version = click.Option(
        ["-V", "--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        help="Print the version.",
        callback=_print_version,
    )
    root.params.append(version)
    return root


def _print_version(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        click.echo(f"hermes {__version__}")
        ctx.exit()


def run_command(commands: Mapping[str, str]) -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 usage, 130 interrupted."""
    _tolerant_streams()
    try:
        code = _root(commands).main(prog_name="hermes", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Abort:
        return 130
    except click.ClickException as error:
        if _wants_json():
            print_json({"error": error.format_message(), "remedy": "`--help` shows how the command is called"})
        else:
            error.show()
        return error.exit_code
    except HermesError as error:
        if _wants_json():
            print_json({"error": str(error), "remedy": error.advice})
        else:
            Console().fail(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _wants_json() -> bool:
    return "--json" in sys.argv


def _tolerant_streams() -> None:
    """A closed stream is an empty one, and a character the terminal cannot show is no reason to fail."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 - as long as the process lives
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - as above
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
