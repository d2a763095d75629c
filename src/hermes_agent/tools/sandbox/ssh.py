"""Commands on another machine, reached by ssh."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...config.settings import SandboxSettings
from ...types.errors import ConfigError
from ...types.ids import new_id
from .base import Boundary
from .probe import refusal

_PLACES = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"
_CLIENT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "SSH_AUTH_SOCK")
_OPTIONS = (
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "Tunnel=no",
    "RequestTTY=no",
    "ConnectTimeout=15",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    "LogLevel=ERROR",
)
_FIXED = "TERM=dumb PAGER=cat GIT_PAGER=cat GIT_TERMINAL_PROMPT=0"
_REMOTE = """\
cd -- {directory} || exit 125
ulimit -c 0; ulimit -t {cpu}; ulimit -f {blocks}; ulimit -d {memory}
above=$PPID
exec 3<&0
setsid env -i HOME="$HOME" PATH="$PATH" USER="$USER" LOGNAME="$LOGNAME" LANG="$LANG" {fixed} HERMES_MARK={mark} \
/bin/sh -c {command} <&3 3<&- &
child=$!
exec 3<&- </dev/null
end() {{
  for signal in TERM KILL; do
    kill -$signal -$child 2>/dev/null
    for place in $(grep -lsz '^HERMES_MARK={mark}$' /proc/[0-9]*/environ); do
      place=${{place#/proc/}}; kill -$signal "${{place%/environ}}" 2>/dev/null
    done
    test $signal = KILL || sleep 1
  done
}}
parent() {{ sed -n 's/^PPid:[^0-9]*//p' /proc/$1/status 2>/dev/null || ps -o ppid= -p $1; }}
(
  orphan=$(parent $( (sh -c 'sleep 0.2; echo $$; sleep 2' &) | head -n 1))
  while test "$above" != $orphan && test "$(echo $(parent $$))" = "$above"; do sleep 0.5; done; end
) >/dev/null 2>&1 &
watcher=$!
wait $child; code=$?
kill $watcher 2>/dev/null
exit $code
"""


class Ssh:
    """Runs commands as the account at the other end, in the folder of the same path there.

    This machine is out of their reach, the other one and its network are not, so this does not count as confining: its
    account should hold nothing but the work. The workspace must be there under the same path, by a shared file system
    for example. A watcher there ends the command with everything it started when the connection goes away, which is how
    a time-out reaches it. Gone before the shell began counts too: the process above it is then whoever takes orphans
    in, and the watcher makes an orphan to learn who that is.
    """

    name = "ssh"
    confines = False

    def __init__(
        self,
        settings: SandboxSettings,
        environment: Mapping[str, str],
        *,
        options: Sequence[str] = (),
    ) -> None:
        found = shutil.which("ssh", path=_PLACES)
        if found is None:
            raise ConfigError("ssh is not installed", remedy="install OpenSSH's client, or choose another sandbox")
        if not settings.host or settings.host.startswith("-") or any(map(str.isspace, settings.host)):
            raise ConfigError(
                f"sandbox.host is {settings.host!r}", remedy="set it to user@host or a name of ssh's config"
            )
        self._program = found
        self._settings = settings
        self._options = tuple(options)
        self._client = {name: value for name, value in environment.items() if name in _CLIENT}

    @property
    def reason(self) -> str:
        """Which one it is and what it does."""
        host = self._settings.host
        return f"ssh: commands run on {host} with the rights and the network of its account, not on this machine"

    def wrap(self, command: str, boundary: Boundary) -> list[str]:
        """The command travels as one quoted word, and nothing in it is seen by a shell before its own."""
        settings = self._settings
        script = _REMOTE.format(
            directory=shlex.quote(str(boundary.directory)),
            cpu=settings.cpu_seconds,
            blocks=(settings.file_mb << 20) // 512,
            memory=settings.memory_mb << 10,
            fixed=_FIXED,
            mark=new_id(),
            command=shlex.quote(command),
        )
        settled = [word for option in _OPTIONS for word in ("-o", option)]
        remote = f"exec /bin/sh -c {shlex.quote(script)}"
        return [self._program, *self._options, *settled, "-T", "--", settings.host, remote]

    def environment(self) -> dict[str, str]:
        """What ssh itself needs; none of it is sent."""
        return {"PATH": _PLACES, **self._client}

    def prove(self, workspace: Path) -> None:
        """Log in once. Raises ConfigError when that does not work."""
        there = Boundary(workspace=Path("/"), directory=Path("/"))
        why = refusal(self.wrap("true", there), self.environment(), workspace)
        if why:
            raise ConfigError(
                f"ssh to {self._settings.host} does not work: {why}",
                remedy=f"`ssh -o BatchMode=yes {self._settings.host} true` must succeed without a question",
            )
