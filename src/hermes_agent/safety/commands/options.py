"""How programs that run other programs read their own options."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from .words import Word

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


class Wrapper(NamedTuple):
    """The options of a program up to the command it runs.

    `skip` words stand before the command. `joined`: the words become one script for a shell. `appends`: more words are
    added from elsewhere. `scripts`: options whose value a shell runs. `opens_shell`: without a command it opens one.
    `plain`: it changes nothing by itself. `scattered`: its options may also follow.
    """

    flags: str = ""
    valued: str = ""
    long_flags: str = ""
    long_valued: str = ""
    skip: int = 0
    assigns: bool = False
    joined: bool = False
    appends: bool = False
    scripts: tuple[str, ...] = ()
    opens_shell: bool = False
    plain: bool = False
    scattered: bool = False
    ends: tuple[str, ...] = ("--version", "--help", "-V", "-h", "-l", "-k", "-K", "-v")


def positional_start(wrapper: Wrapper, args: Sequence[Word]) -> int | None:
    """Where the options end. None where an option is not known, because its value might be taken for the command."""
    index = 0
    while index < len(args):
        text = args[index].text
        if not args[index].known and args[index].dashable:
            return index if wrapper.skip else None
        if text == "--":
            return index + 1
        if wrapper.assigns and _ASSIGNMENT.match(text):
            index += 1
        elif text.startswith("--"):
            option, given, _ = text[2:].partition("=")
            if given and option:
                index += 1
            elif option in wrapper.long_valued.split():
                index += 2
            elif option in wrapper.long_flags.split():
                index += 1
            else:
                return None
        elif text.startswith("-") and len(text) > 1:
            step = _cluster(wrapper, text[1:])
            if step is None:
                return None
            index += step
        else:
            break
    return min(index, len(args))


def _cluster(wrapper: Wrapper, letters: str) -> int | None:
    """How many words a cluster of short options takes."""
    for at, letter in enumerate(letters):
        if letter in wrapper.valued:
            return 1 if at + 1 < len(letters) else 2
        if letter not in wrapper.flags:
            return None
    return 1


_CONTAINER = Wrapper(
    flags="itdPq",
    valued="uwevplhmcna",
    skip=1,
    long_flags="rm interactive tty detach privileged init read-only no-healthcheck quiet",
    long_valued="name user workdir env env-file volume publish network entrypoint mount label "
    "memory cpus platform hostname",
)

WRAPPERS: dict[str, Wrapper] = {
    "sudo": Wrapper(
        flags="AbEeHhiKklnPSsVvN",
        valued="CDghpRrTtuU",
        assigns=True,
        opens_shell=True,
        long_flags="askpass background preserve-env edit set-home help login remove-timestamp reset-timestamp list "
        "non-interactive preserve-groups stdin shell version validate",
        long_valued="close-from chdir group host prompt chroot role command-timeout type user other-user",
    ),
    "doas": Wrapper(flags="Lns", valued="aCu", opens_shell=True),
    "pkexec": Wrapper(long_flags="disable-internal-agent keep-cwd", long_valued="user"),
    "env": Wrapper(
        flags="i0v",
        valued="uCSa",
        assigns=True,
        plain=True,
        scripts=("-S", "--split-string"),
        long_flags="ignore-environment null debug block-signal default-signal ignore-signal list-signal-handling",
        long_valued="unset chdir split-string argv0",
    ),
    "command": Wrapper(flags="pvV", plain=True),
    "builtin": Wrapper(plain=True),
    "exec": Wrapper(flags="cl", valued="a", plain=True),
    "nohup": Wrapper(long_flags="help version"),
    "setsid": Wrapper(flags="cfw", long_flags="ctty fork wait"),
    "timeout": Wrapper(
        flags="fpv",
        valued="ks",
        skip=1,
        plain=True,
        long_flags="preserve-status foreground verbose",
        long_valued="kill-after signal",
    ),
    "gtimeout": Wrapper(
        flags="fpv",
        valued="ks",
        skip=1,
        plain=True,
        long_flags="preserve-status foreground verbose",
        long_valued="kill-after signal",
    ),
    "nice": Wrapper(flags="0123456789", valued="n", plain=True, long_valued="adjustment"),
    "ionice": Wrapper(flags="t", valued="cnpPu", plain=True, long_flags="ignore", long_valued="class classdata"),
    "chrt": Wrapper(flags="abdfiormv", valued="TPD", skip=1),
    "taskset": Wrapper(flags="a", valued="", skip=1, long_flags="all-tasks cpu-list"),
    "stdbuf": Wrapper(valued="ioe", plain=True, long_valued="input output error"),
    "time": Wrapper(
        assigns=True,
        flags="pvaq",
        valued="fo",
        plain=True,
        long_flags="portability verbose append quiet",
        long_valued="format output",
    ),
    "coproc": Wrapper(),
    "caffeinate": Wrapper(flags="dimsu", valued="tw", plain=True),
    "watch": Wrapper(
        flags="bcdegtwxrC",
        valued="nq",
        joined=True,
        long_valued="interval",
        long_flags="differences precise color no-title beep errexit chgexit exec no-wrap no-rerun",
    ),
    "strace": Wrapper(flags="fFcCdhiqrtTvVxyz", valued="eoaIbEOpPsSuUX", long_flags="follow-forks"),
    "ltrace": Wrapper(flags="bcCfhiLrStTV", valued="aADelnopsuxwX"),
    "perf": Wrapper(flags="agv", valued="eopFc", skip=1),
    "valgrind": Wrapper(flags="qvhd"),
    "script": Wrapper(
        scattered=True,
        flags="aefqdV",
        valued="cEIOBTtmo",
        scripts=("-c", "--command"),
        opens_shell=True,
        long_flags="append return flush force quiet",
        long_valued="command log-out log-in log-io",
        skip=1,
    ),
    "su": Wrapper(
        scattered=True,
        flags="flmpPh",
        valued="cgGsw",
        scripts=("-c", "--command", "--session-command"),
        skip=99,
        long_flags="login preserve-environment pty",
        long_valued="command group shell session-command",
    ),
    "runuser": Wrapper(
        scattered=True,
        flags="flmpPh",
        valued="cgGsuw",
        scripts=("-c", "--command"),
        long_flags="login preserve-environment pty",
        long_valued="command group shell user",
    ),
    "chroot": Wrapper(skip=1, long_valued="groups userspec", long_flags="skip-chdir", opens_shell=True),
    "unshare": Wrapper(
        flags="muinpfUrCTc",
        valued="SGRw",
        opens_shell=True,
        long_flags="mount uts ipc net pid fork user map-root-user cgroup time",
    ),
    "nsenter": Wrapper(
        flags="amuinpUrCTFZ",
        valued="tSGw",
        opens_shell=True,
        long_valued="target",
        long_flags="all mount uts ipc net pid user cgroup",
    ),
    "setpriv": Wrapper(
        flags="d",
        long_flags="no-new-privs clear-groups keep-groups init-groups reset-env",
        long_valued="reuid regid ruid euid rgid egid groups inh-caps bounding-set ambient-caps",
    ),
    "capsh": Wrapper(flags="", opens_shell=True),
    "prlimit": Wrapper(),
    "systemd-run": Wrapper(
        flags="tPqSGrdE",
        valued="Hupk",
        joined=False,
        opens_shell=True,
        long_flags="user scope wait pty pipe quiet shell same-dir collect no-block remain-after-exit",
        long_valued="unit property uid gid nice working-directory setenv on-calendar on-boot timer-property",
    ),
    "flock": Wrapper(
        scattered=True,
        flags="senuoxFv",
        valued="wEc",
        skip=1,
        scripts=("-c", "--command"),
        plain=True,
        long_flags="shared exclusive unlock nonblock close no-fork verbose",
        long_valued="timeout conflict-exit-code",
    ),
    "busybox": Wrapper(plain=True),
    "toybox": Wrapper(plain=True),
    "setarch": Wrapper(flags="RBFILSTXZ3", skip=1),
    "linux64": Wrapper(flags="RBFILSTXZ3"),
    "linux32": Wrapper(flags="RBFILSTXZ3"),
    "dbus-run-session": Wrapper(),
    "xvfb-run": Wrapper(flags="al", valued="efnps", long_flags="auto-servernum", long_valued="server-args server-num"),
    "entr": Wrapper(flags="acdnprsz", joined=True),
    "parallel": Wrapper(
        flags="k0mvtX",
        valued="jaINnL",
        joined=True,
        appends=True,
        long_flags="keep-order dry-run bar null will-cite eta progress verbose halt-on-error",
        long_valued="jobs arg-file delay timeout retries colsep joblog",
    ),
    "ssh": Wrapper(flags="46AaCfGgKkMNnqsTtVvXxYy", valued="BbcDEeFIiJLlmOopPQRSWw", skip=1, joined=True),
    "autossh": Wrapper(flags="46AaCfGgKkMNnqsTtVvXxYy", valued="BbcDEeFIiJLlmOopPQRSWwM", skip=1, joined=True),
    "mosh": Wrapper(skip=1, joined=True, flags="46an", valued="p", long_valued="ssh port"),
    "sshpass": Wrapper(flags="eVhv", valued="pfdP"),
    "proxychains": Wrapper(flags="q", valued="f"),
    "torsocks": Wrapper(flags="i", valued="uP"),
    "npx": Wrapper(
        flags="y", valued="pc", scripts=("-c", "--call"), long_flags="yes no quiet", long_valued="package call"
    ),
    "bunx": Wrapper(),
    "uvx": Wrapper(flags="q", valued="p", long_valued="from with python"),
    "pipx": Wrapper(skip=99),
    "aws-vault": Wrapper(skip=2),
    "dotenv": Wrapper(flags="o", valued="f", skip=1),
    "direnv": Wrapper(skip=2),
    "tsocks": Wrapper(),
    "fakeroot": Wrapper(flags="u", valued="lsib"),
    "firejail": Wrapper(flags="", long_flags="quiet noprofile"),
    "bwrap": Wrapper(),
    "ld-linux-x86-64.so.2": Wrapper(long_valued="library-path preload audit argv0", long_flags="verify list"),
    "ld-linux-aarch64.so.1": Wrapper(long_valued="library-path preload audit argv0", long_flags="verify list"),
    "uv run": Wrapper(
        flags="qv",
        valued="p",
        long_valued="with python extra group env-file project directory package with-requirements",
        long_flags="no-sync frozen locked isolated active all-extras no-dev dev quiet no-project offline",
    ),
    "poetry run": Wrapper(),
    "pipenv run": Wrapper(),
    "hatch run": Wrapper(),
    "pdm run": Wrapper(),
    "rye run": Wrapper(),
    "conda run": Wrapper(
        flags="v", valued="np", long_flags="no-capture-output live-stream", long_valued="name prefix cwd"
    ),
    "npm exec": Wrapper(flags="y", valued="c", scripts=("-c", "--call"), long_flags="yes", long_valued="package call"),
    "pnpm exec": Wrapper(flags="r"),
    "pnpm dlx": Wrapper(),
    "yarn dlx": Wrapper(),
    "yarn exec": Wrapper(),
    "bundle exec": Wrapper(),
    "rbenv exec": Wrapper(),
    "pyenv exec": Wrapper(),
    "mise exec": Wrapper(),
    "docker run": _CONTAINER,
    "docker exec": _CONTAINER,
    "podman run": _CONTAINER,
    "podman exec": _CONTAINER,
    "kubectl exec": Wrapper(
        flags="itq", valued="cnf", skip=1, long_flags="stdin tty quiet", long_valued="container namespace"
    ),
    "tmux new-session": Wrapper(flags="AdDEPX", valued="ceFfnstxy", joined=True),
    "tmux new": Wrapper(flags="AdDEPX", valued="ceFfnstxy", joined=True),
    "tmux new-window": Wrapper(flags="abdkPS", valued="ceFnt", joined=True),
    "tmux send-keys": Wrapper(flags="FHKlMRX", valued="Nct", joined=True),
    "tmux run-shell": Wrapper(flags="bC", valued="dtc", joined=True),
    "screen": Wrapper(flags="dmDRxUqAa", valued="SXrpTtcehs", opens_shell=True),
    "start-stop-daemon": Wrapper(),
    "daemonize": Wrapper(flags="av", valued="cEeoplu"),
}
