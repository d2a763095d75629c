"""What a program may do to the user, told from its name and arguments."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from . import targets
from .readonly import only_reads
from .report import Risk, RiskKind
from .words import Word, names

_D, _N, _P = RiskKind.DESTRUCTIVE, RiskKind.NETWORK, RiskKind.PRIVILEGE
_NETWORK = names(
    "curl wget ssh scp sftp nc ncat netcat socat telnet ftp lftp tftp rsync aria2c http https xh httpie dig "
    "nslookup host whois ping traceroute nmap mosh autossh sshfs openconnect openvpn wg rclone s3cmd gsutil aws "
    "gcloud az doctl heroku flyctl kubectl helm terraform ansible ansible-playbook gh glab hub twine mail "
    "sendmail mutt msmtp mailx ssh-copy-id apt apt-get aptitude dnf yum pacman apk brew zypper snap flatpak port "
    "gem npx bunx uvx pipx yt-dlp youtube-dl lynx w3m links elinks chromium google-chrome firefox ngrok "
    "cloudflared tailscale fetch axel get nix-env conda mamba bitsadmin certutil tcpdump iperf iperf3 mysql psql "
    "mongosh redis-cli sqlcmd smbclient rpcclient ldapsearch snmpwalk"
)
_LOCAL_CLIENTS = frozenset(["psql", "mysql", "mongosh", "redis-cli", "sqlcmd"])
_NETWORK_SUBCOMMANDS = {
    "git": "push fetch pull clone ls-remote submodule remote-https send-email archive-remote",
    "pip": "install download search index wheel",
    "pip3": "install download search index wheel",
    "uv": "add sync pip lock publish tool",
    "poetry": "install add update publish lock",
    "pdm": "install add update publish",
    "npm": "install i ci add update publish audit view search login adduser exec init create unpublish",
    "pnpm": "install i add update publish dlx",
    "yarn": "install add upgrade publish dlx",
    "bun": "install add x",
    "cargo": "install add update publish fetch search login yank",
    "go": "get install",
    "docker": "pull push login run build",
    "podman": "pull push login run build",
    "bundle": "install update",
    "composer": "install require update",
    "hg": "push pull clone",
    "svn": "checkout co update commit",
    "nix": "run shell build flake",
    "deno": "install",
}
_NETWORK_SUB = {name: frozenset(subs.split()) for name, subs in _NETWORK_SUBCOMMANDS.items()}
_PRIVILEGE = names(
    "sudo su doas pkexec runuser setcap visudo passwd chpasswd useradd usermod userdel groupadd gpasswd adduser "
    "sudoedit newgrp sg nsenter setpriv capsh chroot insmod modprobe rmmod mount umount mknod losetup sysctl "
    "iptables nft ufw setenforce aa-disable polkit"
)
_PERSISTENCE = names("crontab at batch atq systemd-run launchctl chkconfig update-rc.d rc-update schtasks anacron chsh")
_DESTRUCTIVE = names(
    "shred wipefs fdisk sfdisk cfdisk parted gdisk sgdisk blkdiscard mkswap cryptsetup lvremove vgremove pvremove "
    "mdadm dropdb truncate srm wipe zpool format diskutil hdparm badblocks debugfs"
)
_PROCESS = names("pkill killall killall5 skill snice shutdown reboot halt poweroff init telinit xkill fuser")
_READS_ENVIRONMENT = frozenset(["printenv"])


def risks(name: str, argv: Sequence[Word]) -> Iterator[Risk]:
    """Everything a person should know about one program call. `name` is lower case, without folder."""
    args = argv[1:]
    texts = [word.text for word in args]
    yield from _by_name(name, args, texts)
    special = _SPECIAL.get(name)
    if special:
        yield from special(args, texts)
    yield from _by_target(name, argv)


def _by_name(name: str, args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    if name in _NETWORK and not (name in _LOCAL_CLIENTS and not _remote(texts)):
        yield Risk(kind=_N, why=f"{name} uses the network")
    elif name in _NETWORK_SUB and _NETWORK_SUB[name] & set(texts[:6]):
        yield Risk(kind=_N, why=f"{name} {next(t for t in texts if t in _NETWORK_SUB[name])} uses the network")
    elif name.startswith(("python", "pypy")) and "-m" in texts and {"pip", "http.server", "ensurepip"} & set(texts):
        yield Risk(kind=_N, why="a Python module uses the network")
    if name in _PRIVILEGE:
        yield Risk(kind=_P, why=f"{name} acts with more rights or on the system itself")
    if name in _PERSISTENCE:
        yield Risk(kind=RiskKind.PERSISTENCE, why=f"{name} arranges for something to run later")
    if name in _DESTRUCTIVE or name.startswith(("mkfs", "newfs")):
        yield Risk(kind=_D, why=f"{name} destroys what was there before")
    if name in _PROCESS:
        yield Risk(kind=RiskKind.PROCESS, why=f"{name} ends processes or the whole machine")
    if name in _READS_ENVIRONMENT or (name in ("set", "export", "declare", "typeset") and _dumps(name, texts)):
        yield Risk(kind=RiskKind.SECRETS, why=f"{name} shows the environment, which may hold secrets")


def _remote(texts: Sequence[str]) -> bool:
    return any(
        text.startswith(("-h", "--host", "postgres", "mysql://", "mongodb", "redis://", "-u", "host="))
        for text in texts
    )


def _dumps(name: str, texts: Sequence[str]) -> bool:
    return not texts or set(texts) <= {"-p", "-x", "-px", "-xp"}


def _by_target(name: str, argv: Sequence[Word]) -> Iterator[Risk]:
    reads = only_reads(name, argv)
    saying = name in ("echo", "printf", ":", "true")
    for word in argv:
        if targets.secret(word.text) and not saying and not (name == "ls" and not word.text.endswith("environ")):
            yield Risk(kind=RiskKind.SECRETS, why=f"{word.text[:80]} may hold secrets")
        variable = targets.secret_variable(word.text) if not word.known else ""
        if variable:
            yield Risk(kind=RiskKind.SECRETS, why=f"${variable} may hold a secret")
        if not reads and not saying and targets.persistent(word.text):
            yield Risk(kind=RiskKind.PERSISTENCE, why=f"{word.text[:80]} makes something run later")
        if not reads and word.text.startswith(("/dev/tcp/", "/dev/udp/")):
            yield Risk(kind=_N, why=f"{word.text[:80]} is a network connection")
        if name in ("tee", "cp", "mv", "cat", "install", "ln") and targets.device(word.text) and not reads:
            yield Risk(kind=_D, why=f"{word.text[:80]} is a disk")


def has(texts: Sequence[str], letters: str = "", *names: str) -> bool:
    """Whether one of the options is given: a letter in a cluster, or a long name or an abbreviation of it."""
    for text in texts:
        if text == "--":
            return False
        if text.startswith("--"):
            given = text[2:].partition("=")[0]
            if given and any(name.startswith(given) for name in names):
                return True
        elif text.startswith("-") and any(letter in text[1:] for letter in letters):
            return True
    return False


def _operands(args: Sequence[Word]) -> list[Word]:
    found: list[Word] = []
    options = True
    for word in args:
        if options and word.text == "--":
            options = False
        elif not options or not word.text.startswith("-"):
            found.append(word)
    return found


def _rm(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    unsure = [word for word in args if not word.known and word.dashable]
    if len(unsure) > 1 or any(word.splits for word in unsure):
        yield Risk(kind=_D, why="rm removes what is not known before it runs")
        return
    recursive = has(texts, "rR", "recursive")
    for word in _operands(args):
        why = targets.broad(word) if recursive or word.glob else ""
        if why:
            yield Risk(kind=_D, why=f"rm {'-r ' if recursive else ''}{word.text[:80]}: {why}")
    if any(text.startswith("--no-p") for text in texts):
        yield Risk(kind=_D, why="rm is told to remove even the root")


def _dd(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    for text in texts:
        if text.startswith("of=") and text != "of=/dev/null":
            yield Risk(kind=_D, why=f"dd writes over {text[3:80]}")


def _find(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    if "-delete" in texts:
        filters = ("-name", "-iname", "-path", "-ipath", "-regex", "-wholename")
        named = any(a in filters and not targets.loose(b) for a, b in pairwise(texts))
        roots = args[: next((index for index, text in enumerate(texts) if text.startswith("-")), 0)]
        if not named or any(targets.broad(word) for word in roots if word.text not in (".", "./")):
            yield Risk(kind=_D, why="find removes everything it finds")
    if any(text in ("-fprint", "-fprintf", "-fls", "-fprint0") for text in texts):
        return


def _git(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    index = 0
    while index < len(texts) and texts[index].startswith("-"):
        index += 2 if texts[index] in ("-C", "-c", "--git-dir", "--work-tree", "--namespace") else 1
    if index >= len(texts):
        return
    sub, rest = texts[index], texts[index + 1 :]
    loses = {
        "reset": has(rest, "", "hard", "merge"),
        "clean": has(rest, "fxX", "force") and not has(rest, "n", "dry-run"),
        "push": has(rest, "fd", "force", "mirror", "delete", "prune", "force-with-lease")
        or any(text.startswith(("+", ":")) for text in rest),
        "checkout": has(rest, "f", "force") or "." in rest or "*" in rest,
        "switch": has(rest, "f", "force", "discard-changes"),
        "restore": "." in rest or "*" in rest or ":/" in rest,
        "stash": bool({"drop", "clear"} & set(rest)),
        "branch": has(rest, "D") or (has(rest, "d", "delete") and has(rest, "f", "force")),
        "reflog": bool({"expire", "delete"} & set(rest)),
        "gc": any(text.startswith("--prune") for text in rest) or has(rest, "", "aggressive"),
        "filter-branch": True,
        "filter-repo": True,
        "update-ref": has(rest, "d", "stdin"),
        "worktree": "remove" in rest and has(rest, "f", "force"),
        "rm": has(rest, "r") and bool({".", "*"} & set(rest)),
        "prune": True,
    }
    if loses.get(sub):
        yield Risk(kind=_D, why=f"git {sub} throws work away")
    unsure = [word for word in args[index + 1 :] if not word.known and word.splits and word.dashable]
    if sub in ("reset", "clean", "push", "checkout") and unsure:
        yield Risk(kind=_D, why=f"git {sub} with options that are not known before it runs")
    if not args[index].known:
        yield Risk(kind=RiskKind.OPAQUE, why="what git is to do is not known before it runs")
    if sub == "config" and has(rest, "", "global", "system") and len(_operands(args[index + 1 :])) > 1:
        yield Risk(kind=RiskKind.PERSISTENCE, why="git config changes every repository of the user")
    if sub == "credential" or sub.startswith("credential-"):
        yield Risk(kind=RiskKind.SECRETS, why="git credential shows passwords")


def _chmod(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    plain = [text for text in texts if not text.startswith("--")]
    if any(re.fullmatch(r"0*[2467][0-7]{3}|[ugoa,=+rwxX-]*[+=][rwxXt]*s[rwxXst]*(?:,.*)?", text) for text in plain):
        yield Risk(kind=_P, why="chmod lets a program run with its owner's rights")
    yield from _recursive("chmod", args, texts)


def _chown(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    if any(re.match(r"(?:root|0)(?:[:.]|$)|:(?:root|0)$", text) for text in texts):
        yield Risk(kind=_P, why="chown gives a file to root")
    yield from _recursive("chown", args, texts)


def _recursive(name: str, args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    if has(texts, "R", "recursive"):
        for word in _operands(args)[1:]:
            why = targets.broad(word)
            if why and word.text not in (".", "./"):
                yield Risk(kind=_D, why=f"{name} -R {word.text[:80]}: {why}")


def _kill(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    if not {"-l", "-L", "-0"} & set(texts):
        yield Risk(kind=RiskKind.PROCESS, why="kill ends processes")


def _systemctl(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    given = set(texts)
    if {
        "enable",
        "link",
        "edit",
        "set-default",
        "mask",
        "preset",
        "reenable",
        "set-environment",
        "import-environment",
    } & given:
        yield Risk(kind=RiskKind.PERSISTENCE, why="systemctl makes a service start by itself")
    if {"poweroff", "reboot", "halt", "stop", "kill", "disable", "restart", "suspend", "isolate", "kexec"} & given:
        yield Risk(kind=RiskKind.PROCESS, why="systemctl stops services or the machine")


def _container(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    joined = " ".join(texts[:8])
    if re.search(r"\bprune\b|\bvolume rm\b|\brmi? .*-\w*f|\brmi? -\w*f|\bdown\b.*(?:-v\b|--volumes)", joined):
        yield Risk(kind=_D, why="it removes containers, images or their data")
    if any(
        text.startswith(("--privileged", "--pid=host", "--cap-add", "--net=host", "--userns=host")) for text in texts
    ) or (
        any(
            re.match(
                r"(?:-v|--volume=?|--mount=?)?(?:type=bind,(?:source|src)=)?/(?::|,|etc|root|home|var/run/docker)", text
            )
            for text in texts
        )
    ):
        yield Risk(kind=_P, why="the container can reach the machine")


def _words_losing(*losing: str) -> Callable[[Sequence[Word], Sequence[str]], Iterator[Risk]]:
    def read(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
        found = next((text for text in texts if text in losing), "")
        if found:
            yield Risk(kind=_D, why=f"{found} removes what cannot be brought back")

    return read


def _remote_files(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    if any(text.startswith("--del") or text == "--remove-source-files" for text in texts):
        yield Risk(kind=_D, why="rsync removes files")


def _mv(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    operands = _operands(args)
    if operands and operands[-1].text == "/dev/null":
        yield Risk(kind=_D, why="mv to /dev/null loses the file")
    for word in operands[:-1]:
        why = targets.broad(word) if word.known else ""
        if why and not word.text.startswith(".."):
            yield Risk(kind=_D, why=f"mv {word.text[:80]}: {why}")


def _jq(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    if any(re.search(r"\$ENV|\benv\b", text) for text in texts):
        yield Risk(kind=RiskKind.SECRETS, why="jq shows the environment")


def _env(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    if all(text.startswith("-") or "=" in text for text in texts) and not has(
        texts, "Si", "split-string", "ignore-environment"
    ):
        yield Risk(kind=RiskKind.SECRETS, why="env shows the environment, which may hold secrets")


def _ps(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    if any("e" in text and not text.startswith("-") and text.isalpha() for text in texts[:1]):
        yield Risk(kind=RiskKind.SECRETS, why="ps shows the environment of processes")


def _secret_store(args: Sequence[Word], texts: Sequence[str]) -> Iterator[Risk]:
    yield Risk(kind=RiskKind.SECRETS, why="it shows stored passwords or keys")


_SPECIAL: dict[str, Callable[[Sequence[Word], Sequence[str]], Iterator[Risk]]] = {
    "rm": _rm,
    "grm": _rm,
    "unlink": _rm,
    "rmdir": lambda args, texts: iter(()),
    "dd": _dd,
    "find": _find,
    "gfind": _find,
    "git": _git,
    "chmod": _chmod,
    "chown": _chown,
    "chgrp": _chown,
    "kill": _kill,
    "systemctl": _systemctl,
    "service": _systemctl,
    "docker": _container,
    "podman": _container,
    "docker-compose": _container,
    "rsync": _remote_files,
    "mv": _mv,
    "jq": _jq,
    "env": _env,
    "genv": _env,
    "ps": _ps,
    "security": _secret_store,
    "pass": _secret_store,
    "secret-tool": _secret_store,
    "op": _secret_store,
    "vault": _secret_store,
    "keyctl": _secret_store,
    "kubectl": _words_losing("delete", "drain", "replace"),
    "terraform": _words_losing("destroy", "-destroy"),
    "helm": _words_losing("uninstall", "delete"),
    "aws": _words_losing("rm", "rb", "delete-bucket", "terminate-instances"),
    "gh": _words_losing("delete"),
    "npm": _words_losing("unpublish"),
    "redis-cli": _words_losing("flushall", "flushdb", "FLUSHALL", "FLUSHDB"),
    "zfs": _words_losing("destroy"),
    "btrfs": _words_losing("delete"),
    "gcloud": _words_losing("delete"),
    "az": _words_losing("delete"),
    "rclone": _words_losing("delete", "purge", "sync"),
    "borg": _words_losing("delete", "prune"),
    "restic": _words_losing("forget", "prune"),
    "supabase": _words_losing("reset"),
    "rails": _words_losing("db:drop", "db:reset"),
    "rake": _words_losing("db:drop", "db:reset"),
    "swapoff": lambda args, texts: iter((Risk(kind=_P, why="swapoff changes the system"),)),
}
