"""`hermes config` and the file behind it."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import HERMES, Hermes
from tests.sampling import sampled


def _write(hermes: Hermes, text: str | bytes) -> Path:
    hermes.home.mkdir(exist_ok=True)
    path = hermes.home / "config.yaml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_path_show_get_without_a_file(hermes: Hermes) -> None:
    assert hermes.run("config", "path").stdout == f"{hermes.home / 'config.yaml'}\n"
    assert hermes.json("config", "path") == {"path": str(hermes.home / "config.yaml"), "exists": False}
    assert hermes.json("config", "get", "limits.iterations") == {"key": "limits.iterations", "value": 90}
    assert hermes.json("config", "show")["permissions.shell"] == "confined"
    assert not hermes.home.exists()


@pytest.mark.parametrize(
    ("key", "value", "stored"),
    [
        ("limits.iterations", "12", 12),
        ("limits.seconds", "1e3", 1000.0),
        ("limits.seconds", "0.00001", 1e-5),
        ("model.name", "openai:some-model", "openai:some-model"),
        ("model.name", "123", "123"),
        ("model.name", "yes", "yes"),
        ("model.name", "", ""),
        ("model.base_url", "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        (
            "prompt.identity",
            'say "hi" # not a comment: [x], {y}\nnew line ☃',
            'say "hi" # not a comment: [x], {y}\nnew line ☃',
        ),
        ("runtime.resume", "off", "off"),
        ("permissions.files.write", "deny", "deny"),
        ("permissions.browser", "allow", "allow"),
    ],
)
def test_set_and_get(hermes: Hermes, key: str, value: str, stored: object) -> None:
    assert hermes.json("config", "set", key, value)["value"] == stored
    assert hermes.json("config", "get", key) == {"key": key, "value": stored}
    assert hermes.json("config", "show")[key] == stored


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("limits.iterations", "many", "'many' does not fit limits.iterations: Expected `int`, got `str`"),
        ("limits.iterations", "-5", "Expected `int` >= 1"),
        ("limits.iterations", "1.5", "Expected `int`, got `float`"),
        ("limits.seconds", "nan", "does not fit limits.seconds"),
        ("runtime.resume", "sometimes", "Invalid enum value 'sometimes'"),
        ("permissions.shell", "perhaps", "Invalid enum value 'perhaps'"),
        ("model.nmae", "x", "did you mean model.name?"),
        ("permissions.shel", "ask", "did you mean permissions.shell?"),
        ("model", "x", "there is no setting 'model'"),
        ("", "x", "there is no setting ''"),
    ],
)
def test_set_refuses_what_does_not_fit_and_keeps_the_file(hermes: Hermes, key: str, value: str, message: str) -> None:
    path = _write(hermes, "limits: {iterations: 7}  # mine\n")
    done = hermes.run("config", "set", key, value)
    assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr
    assert path.read_text() == "limits: {iterations: 7}  # mine\n"


@pytest.mark.req("R14")
@pytest.mark.parametrize(
    ("text", "message"),
    sampled(
        [
            ("model:\n  name: [unclosed\n", "line 3, column 1"),
            ("model:\n\tname: x\n", "line 2, column 1"),
            ("model: {name: x\nlimits: 5\n", "line 2, column 7"),
            ("model:\n  timeout: soon\n", "model.timeout: Expected `float`, got `str`"),
            ("model: 5\n", "model: Expected `object`, got `int`"),
            ("modle:\n  name: x\n", "unknown key modle; did you mean model?"),
            ("model:\n  nmae: x\n", "unknown key model.nmae; did you mean model.name?"),
            ("permissions:\n  shel: ask\n", "unknown key permissions.shel; did you mean permissions.shell?"),
            ("permissions:\n  shell: maybe\n", "permissions: Invalid enum value 'maybe'"),
            ("- a\n- b\n", "must be a mapping of sections, not a list"),
            ("just words\n", "must be a mapping of sections, not a str"),
            ("model: &a {name: x}\nlimits: *a\n", "line 2, column 9: YAML aliases (*name) are not allowed"),
            ("model: " + "[" * 50_000 + "\n", "nested too deeply"),
            ("model:\n  name: !!python/object/apply:os.system ['true']\n", "line 2, column 9"),
            (b"model:\n  name: caf\xe9\n", "line 2, column 12: not UTF-8 text"),
            (b"model:\n  name: a\x00b\n", "line 2, column 10"),
            ("a: " + "9" * 5000 + "\n", "config.yaml"),
            ("x" * 1_100_000, "larger than"),
        ],
        3,
    ),
)
def test_bad_file_is_one_line_with_the_place(hermes: Hermes, text: str | bytes, message: str) -> None:
    path = _write(hermes, text)
    before = path.read_bytes()
    for arguments in (("config", "show"), ("run", "x", "-m", "apprentice"), ("config", "set", "model.name", "y")):
        done = hermes.run(*arguments)
        assert done.returncode == 2 and message in done.stderr and "Traceback" not in done.stderr, done
        assert len(done.stderr.splitlines()) <= 2
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "text", sampled(["", "\n", "# only a comment\n", "---\n", "model:\n", "model: {}\n", "{}\n", "model: null\n"], 3)
)
def test_empty_files_are_defaults_and_can_be_changed(hermes: Hermes, text: str) -> None:
    path = _write(hermes, text)
    assert hermes.json("config", "get", "model.attempts")["value"] == 4
    hermes.run("config", "set", "model.attempts", "2")
    assert hermes.json("config", "get", "model.attempts")["value"] == 2
    assert all(line in path.read_text() for line in text.splitlines() if line.startswith("#"))


@pytest.mark.parametrize(("written", "word"), [("off", "off"), ("Off", "off"), ("'off'", "off"), ("on", "on")])
def test_a_switch_may_be_written_without_quotes(hermes: Hermes, written: str, word: str) -> None:
    groups = ("learning", "skills", "memory", "review")
    _write(hermes, "".join(f"{group}: {{mode: {written}}}\n" for group in groups))
    shown = hermes.json("config", "show")
    assert {group: shown[f"{group}.mode"] for group in groups} == dict.fromkeys(groups, word)


def test_set_keeps_comments_order_and_mode(hermes: Hermes) -> None:
    text = (
        "# top\nlimits:   # why\n    seconds: 60   # a minute\n    iterations: 5\n\n# about models\n"
        "model: {name: a, timeout: 3}  # flow\n"
    )
    path = _write(hermes, text)
    path.chmod(0o640)
    hermes.run("config", "set", "limits.seconds", "90")
    hermes.run("config", "set", "model.name", "openai:b")
    hermes.run("config", "set", "model.attempts", "2")
    hermes.run("config", "set", "limits.retries", "1")
    hermes.run("config", "set", "store.lease_seconds", "30")
    assert path.read_text() == (
        "# top\nlimits:   # why\n    retries: 1\n    seconds: 90   # a minute\n    iterations: 5\n\n# about models\n"
        "model: {attempts: 2, name: openai:b, timeout: 3}  # flow\nstore:\n  lease_seconds: 30\n"
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_set_follows_a_link_and_keeps_line_ends(hermes: Hermes) -> None:
    real = hermes.folder / "dotfiles.yaml"
    real.write_bytes(b"model:\r\n  name: a\r\n")
    hermes.home.mkdir()
    (hermes.home / "config.yaml").symlink_to(real)
    hermes.run("config", "set", "model.attempts", "2")
    hermes.run("config", "set", "limits.retries", "0")
    assert (hermes.home / "config.yaml").is_symlink()
    assert real.read_bytes() == b"model:\r\n  attempts: 2\r\n  name: a\r\nlimits:\r\n  retries: 0\r\n"


def test_many_at_once_lose_nothing(hermes: Hermes) -> None:
    keys = ["limits.iterations", "limits.retries", "model.attempts", "limits.parallel_calls", "limits.same_failure"]
    processes = [hermes.start("config", "set", key, "3") for key in keys]
    assert [process.wait(60) for process in processes] == [0] * len(keys)
    for process in processes:
        process.communicate()
    shown = hermes.json("config", "show")
    assert [shown[key] for key in keys] == [3] * len(keys)


def test_password_is_not_shown(hermes: Hermes) -> None:
    url = "postgresql://me:tr0ub4dor@host/db"
    done = hermes.run("config", "set", "store.url", url)
    assert "tr0ub4dor" not in done.stderr + hermes.run("config", "show").stdout
    assert hermes.run("config", "get", "store.url").stdout == f"{url}\n"


def test_edit_checks_what_was_written(hermes: Hermes) -> None:
    editor = hermes.folder / "editor"
    editor.write_text('#!/bin/sh\necho "modle: {}" > "$1"\n')
    editor.chmod(0o755)
    done = hermes.run("config", "edit", env={"EDITOR": str(editor), "VISUAL": str(editor)})
    assert done.returncode == 2 and "did you mean model?" in done.stderr


def test_read_only_home(hermes: Hermes) -> None:
    if os.geteuid() == 0:
        command = [
            "unshare",
            "--mount",
            "sh",
            "-c",
            'mount -t tmpfs -o ro tmpfs "$1" && exec "$2" config set model.name x',
            "-",
        ]
        hermes.home.mkdir()
        done = subprocess.run(
            [*command, str(hermes.home), str(HERMES)],
            capture_output=True,
            text=True,
            env=hermes.environment(),
            check=False,
        )
        if "unshare" in done.stderr or "mount:" in done.stderr:
            pytest.skip("this machine does not allow a mount of one's own")
    else:
        hermes.home.mkdir(mode=0o500)
        done = hermes.run("config", "set", "model.name", "x")
    assert done.returncode == 1 and "cannot write to" in done.stderr and "try:" in done.stderr
