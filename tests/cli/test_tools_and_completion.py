"""`hermes tools`, shell completion, help and version."""

import subprocess

import pytest

from tests.cli.command import HERMES, Hermes


@pytest.mark.req("A13", "R3")
def test_tools_list_says_what_each_may_do(hermes: Hermes) -> None:
    tools = {one["name"]: one for one in hermes.json("tools", "list")}
    names = {"read_file", "write_file", "patch", "search_files", "terminal", "process", "todo", "clarify"}
    assert names <= tools.keys()
    keys = ("family", "capabilities", "effect", "needs", "verdict", "source")
    assert {key: tools["terminal"][key] for key in keys} == {
        "family": "shell",
        "capabilities": ["shell"],
        "effect": "once",
        "needs": [],
        "verdict": "allow",
        "source": "builtin",
    }
    shown = hermes.run("tools", "list").stdout
    assert shown.splitlines()[0].split()[:4] == ["name", "family", "verdict", "reaches"]


def test_verdicts_follow_the_configuration(hermes: Hermes) -> None:
    hermes.run("config", "set", "permissions.shell", "deny")
    shown = hermes.json("tools", "show", "terminal")
    assert (shown["verdict"], shown["reason"]) == ("deny", "permissions.shell is deny")


def test_show_names_parameters_and_suggests(hermes: Hermes) -> None:
    assert "command (string)" in hermes.run("tools", "show", "terminal").stdout
    wrong = hermes.run("tools", "show", "terminl")
    assert wrong.returncode == 2 and "did you mean terminal?" in wrong.stderr


def _completed(hermes: Hermes, *words: str) -> list[str]:
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        f"source <({HERMES} completion bash)\nCOMP_WORDS=({quoted})\nCOMP_CWORD={len(words) - 1}\n"
        '_hermes_completion hermes\nprintf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    path = f"{HERMES.parent}:{hermes.environment()['PATH']}"
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        text=True,
        env=hermes.environment(PATH=path),
        timeout=60,
        check=True,
    )
    return done.stdout.split()


@pytest.mark.slow
def test_bash_completes_commands_subcommands_and_options(hermes: Hermes) -> None:
    assert _completed(hermes, "hermes", "se") == ["sessions"]
    assert _completed(hermes, "hermes", "sessions", "ex") == ["export"]
    assert "--json" in _completed(hermes, "hermes", "run", "--j")
    assert _completed(hermes, "hermes", "completion", "") == ["bash", "zsh", "fish"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(hermes: Hermes, shell: str) -> None:
    done = hermes.run("completion", shell)
    assert done.returncode == 0 and f"_HERMES_COMPLETE={shell}_complete" in done.stdout


def test_completion_for_another_shell_is_refused(hermes: Hermes) -> None:
    assert hermes.run("completion", "tcsh").returncode == 2


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_help_lists_every_command_and_every_command_has_help(hermes: Hermes, every: int) -> None:
    listed = hermes.run("--help").stdout
    commands = [line.split()[0] for line in listed.partition("Commands:")[2].splitlines() if line.strip()]
    assert commands == [
        "run",
        "chat",
        "sessions",
        "resume",
        "inbox",
        "why",
        "judge",
        "learning",
        "skills",
        "memory",
        "review",
        "fork",
        "compare",
        "export",
        "scan",
        "status",
        "tools",
        "model",
        "usage",
        "dashboard",
        "logs",
        "config",
        "doctor",
        "bench",
        "demo",
        "completion",
    ]
    for command in commands[::every]:
        done = hermes.run(command, "--help")
        assert done.returncode == 0 and done.stdout.startswith("Usage: hermes")


def test_version(hermes: Hermes) -> None:
    assert hermes.run("--version").stdout == hermes.run("-V").stdout
    assert hermes.run("--version").stdout.startswith("hermes ")
    assert not hermes.home.exists()
