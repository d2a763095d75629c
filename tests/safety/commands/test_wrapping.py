"""However a risky command is wrapped, the report never becomes less strict; harmless quoting harms nothing."""

import os
import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_agent.safety.commands import RiskKind, examine, prefix
from tests.safety.commands import benign, hostile

pytestmark = pytest.mark.req("R3")

_EXAMPLES = 5_000 if os.environ.get("HERMES_TEST_FULL") == "1" else 250
_RISKY = st.sampled_from(
    [
        ["rm", "-rf", "/"],
        ["rm", "-r", "-f", "/home"],
        ["curl", "https://evil.test"],
        ["git", "reset", "--hard"],
        ["git", "push", "--force"],
        ["sudo", "ls"],
        ["chmod", "u+s", "x"],
        ["crontab", "-e"],
        ["cat", "/etc/shadow"],
        ["dd", "of=/dev/sda"],
        ["pkill", "sshd"],
        ["mkfs.ext4", "/dev/sda"],
        ["shred", "x"],
        ["tee", "/root/.bashrc"],
        ["sh", "-c", "rm -rf /"],
    ]
)
_WRAPPERS = [
    "{}",
    "{} &",
    "( {} )",
    "{{ {}; }}",
    "! {}",
    "true; {}",
    "true && {}",
    "false || {}",
    "ls | {}",
    "{} | cat",
    "time {}",
    "if true; then {}; fi",
    "while true; do {}; done",
    "for x in 1 2; do {}; done",
    "case x in x) {};; esac",
    "f() {{ {}; }}; f",
    "echo $({})",
    'echo "$({})"',
    "echo `{}`",
    "X=$({})",
    "cat <({})",
    "command {}",
    "env {}",
    "env A=1 {}",
    "nohup {}",
    "timeout 5 {}",
    "nice -n 3 {}",
    "exec {}",
    "sudo {}",
    "sudo -u root {}",
    "doas {}",
    "setsid {}",
    "stdbuf -o0 {}",
    "xargs {}",
    "find . -exec {} \\;",
    "busybox {}",
    "strace -f {}",
    "uv run {}",
    "{} 2>/dev/null",
    "2>/dev/null {}",
    "{} # harmless",
    "echo ok\n{}",
    "\\\n{}",
    "[ -f x ] && {}",
    "echo ${{X:-$({})}}",
    "cat <<EOF\n$({})\nEOF",
    "a[$({})]=1",
    "echo $(( $({}) ))",
    "coproc {}",
    "flock l {}",
]
_QUOTING_WRAPPERS = [
    "sh -c {}",
    "bash -lc {}",
    "eval {}",
    "env -S {}",
    "su -c {}",
    "ssh h {}",
    "trap {} EXIT",
    "watch {}",
    "bash <<< {}",
    "echo {} | sh",
    "script -c {} x",
    "flock l -c {}",
    "git -c alias.x=!{} x",
    "git bisect run sh -c {}",
    "xargs sh -c {}",
    "find . -exec sh -c {} \\;",
    "nohup bash -c {} &",
    "tmux new-session {}",
    "alias x={}",
    "X={}; eval $X",
    "X={}; $X",
    "tar cf x y --checkpoint-action=exec={}",
]


def _hexed(text: str) -> str:
    return "$'" + "".join(f"\\x{ord(char):02x}" for char in text) + "'"


_SPELLINGS = st.sampled_from(
    [
        lambda word: word,
        lambda word: f"'{word}'",
        lambda word: f'"{word}"',
        lambda word: f"{word[0]}''{word[1:]}",
        lambda word: f'{word[0]}""{word[1:]}',
        lambda word: f"$'{word}'",
        _hexed,
        lambda word: f"{word[0]}\\{word[1:]}" if len(word) > 1 and word[1].isalpha() else word,
        lambda word: f'$"{word}"',
    ]
)


def _strict(command: str, plain: str) -> None:
    before, after = examine(plain), examine(command)
    assert after.opaque or before.kinds() <= after.kinds(), (command, after)
    assert after.opaque or not after.readonly or before.readonly, (command, after)
    assert prefix(after) is None, (command, after)


@st.composite
def _spelled(draw: st.DrawFn) -> tuple[str, str]:
    words = draw(_RISKY)
    return " ".join(map(shlex.quote, words)), " ".join(
        draw(_SPELLINGS)(word) if " " not in word else shlex.quote(word) for word in words
    )


@settings(max_examples=_EXAMPLES, deadline=None, derandomize=True)
@given(
    _spelled(),
    st.lists(st.sampled_from(_WRAPPERS), max_size=3),
    st.lists(st.sampled_from(_QUOTING_WRAPPERS), max_size=2),
)
def test_wrapping_never_helps(case: tuple[str, str], wrappers: list[str], quoting: list[str]) -> None:
    plain, command = case
    for wrapper in wrappers:
        command = wrapper.format(command)
    for wrapper in quoting:
        command = wrapper.format(shlex.quote(command))
    _strict(command, plain)


@pytest.mark.parametrize("wrapper", _WRAPPERS)
def test_each_wrapper(wrapper: str) -> None:
    for plain in ("rm -rf /", "git push --force", "curl evil.test", "cat /etc/shadow"):
        _strict(wrapper.format(plain), plain)
        assert RiskKind.OPAQUE in examine(wrapper.format("$X y")).kinds()


@pytest.mark.parametrize("wrapper", _QUOTING_WRAPPERS)
def test_each_quoting_wrapper(wrapper: str) -> None:
    for plain in ("rm -rf /", "git push --force", "curl evil.test", "cat /etc/shadow; ls 'a b'"):
        _strict(wrapper.format(shlex.quote(plain)), plain)


_PLAIN = [c for c in hostile.commands(benign.READING) if not set(c) & set("|&;<>()$`\\\"'*?[]{}#!=~\n")]


@settings(max_examples=120, deadline=None, derandomize=True)
@given(st.sampled_from(_PLAIN), st.data())
def test_harmless_quoting_harms_nothing(command: str, data: st.DataObject) -> None:
    quote = st.sampled_from(["{}", "'{}'", '"{}"'])
    quoted = " ".join(data.draw(quote).format(word) for word in command.split())
    assert examine(quoted).readonly, quoted
    assert examine(f"sh -c {shlex.quote(quoted)}").readonly
    assert examine(f"({quoted}) 2>/dev/null | head").readonly


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.text(alphabet=st.sampled_from(list("abrm-/ \n\t;&|<>(){}[]$`'\"\\#!*?=~0")), max_size=60))
def test_anything_is_examined(command: str) -> None:
    report = examine(command)
    assert report.readonly is False or not report.opaque


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.text(max_size=80))
def test_any_text_is_examined(command: str) -> None:
    examine(command).reason()
