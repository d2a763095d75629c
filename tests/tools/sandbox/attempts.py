"""The table of attempts to get out: what is tried, by which way, and which back ends promise to stop it."""

import sys
from pathlib import Path

from hermes_agent.types.base import Value
from tests.tools.sandbox.attacker.files import READ
from tests.tools.sandbox.stage import Stage

BOTH = frozenset(("bubblewrap", "landlock"))
NAMESPACES = frozenset(("bubblewrap",))
_CREATE = ("open", "mkdir", "symlink", "rename", "shell")
_CHANGE = ("root", "link", "socket", "fifo", "keep", "truncate", "remove")
_SYSTEM = (
    "/",
    "/usr",
    "/usr/bin",
    "/usr/local/bin",
    "/usr/lib",
    "/bin",
    "/lib",
    "/etc",
    "/etc/cron.d",
    "/etc/profile.d",
    "/etc/ld.so.conf.d",
    "/root",
    "/home",
    "/opt",
    "/srv",
    "/boot",
    "/run",
    "/var/lib",
    "/var/spool",
    "/mnt",
    "/sys/fs/cgroup",
    "/sys/kernel",
    "/proc/sys/kernel",
)
_PUT = (
    ("/proc/sys/kernel/core_pattern", "core"),
    ("/proc/sys/kernel/hostname", "escaped"),
    ("/proc/sys/net/ipv4/ip_forward", "1"),
    ("/proc/sys/vm/swappiness", "60"),
    ("/proc/sys/fs/file-max", "9223372036854775807"),
    ("/proc/sysrq-trigger", "h"),
    ("/proc/self/uid_map", "0 0 1"),
    ("/sys/kernel/mm/transparent_hugepage/enabled", "madvise"),
    ("/sys/fs/cgroup/cgroup.procs", "1"),
    ("/dev/kmsg", "escaped"),
)
_NUMBERS: tuple[tuple[str, list[object], frozenset[str]], ...] = (
    ("mount-tmpfs", [165, "none", "/tmp", "tmpfs", 0, 0], BOTH),
    ("mount-proc", [165, "proc", "/proc", "proc", 0, 0], BOTH),
    ("umount-proc", [166, "/proc", 2], BOTH),
    ("umount-usr", [166, "/usr", 2], BOTH),
    ("pivot-root", [155, ".", "."], BOTH),
    ("unshare-user", [272, 0x10000000], BOTH),
    ("unshare-mount", [272, 0x20000], BOTH),
    ("unshare-net", [272, 0x40000000], BOTH),
    ("unshare-user-mount", [272, 0x10020000], BOTH),
    ("clone-newuser", [56, 0x10000011, 0, 0, 0, 0], BOTH),
    ("clone3", [435, bytes(64).decode(), 64], BOTH),
    ("open-tree", [428, -100, "/", 1], BOTH),
    ("fsopen", [430, "tmpfs", 0], BOTH),
    ("mount-setattr", [442, -100, "/", 0, "\1" * 32, 32], BOTH),
    ("keyctl-session", [250, 0, -3, 1], BOTH),
    ("keyctl-read", [250, 11, -4, 0, 0], BOTH),
    ("request-key", [249, "user", "escaped", 0, -4], BOTH),
    ("bpf", [321, 0, "\1" * 48, 48], BOTH),
    ("perf", [298, "\1" * 128, 0, -1, -1, 0], BOTH),
    ("userfaultfd", [323, 0], BOTH),
    ("io-uring", [425, 4, "\0" * 120], BOTH),
    ("sethostname", [170, "escaped", 7], BOTH),
    ("setdomainname", [171, "escaped", 7], BOTH),
    ("iopl", [172, 3], BOTH),
    ("ioperm", [173, 0, 10, 1], BOTH),
    ("syslog", [103, 10, 0, 0], BOTH),
    ("acct", [163, "acct"], BOTH),
    ("swapon", [167, "swap", 0], BOTH),
    ("delete-module", [176, "escaped", 0], BOTH),
    ("finit-module", [313, 0, "", 0], BOTH),
    ("kexec", [246, 0, 0, 0, 0], BOTH),
    ("vhangup", [153], BOTH),
    ("pidfd-getfd", [438, 0, 0, 0], BOTH),
    ("ptrace-traceme", [101, 0, 0, 0, 0], BOTH),
    ("x32-getpid", [0x40000000 + 39], BOTH),
    ("setuid-0", [105, 0], NAMESPACES),
    ("setgid-0", [106, 0], NAMESPACES),
    ("setgroups", [116, 0, 0], BOTH),
)


class Attempt(Value, frozen=True, kw_only=True):
    """One way out. `harmless` ones are also run without a sandbox, to see that they work there."""

    name: str
    kind: str
    way: str
    arguments: list[object]
    stopped_by: frozenset[str] = BOTH
    harmless: bool = False


def table(stage: Stage) -> list[Attempt]:
    """All attempts against one stage."""
    return [*_reads(stage), *_writes(stage), *_network(stage), *_processes(stage), *_calls(stage)]


def _reads(stage: Stage) -> list[Attempt]:
    found = []
    for place in stage.folders:
        for way in READ:
            arguments: list[object] = [str(place / "secret")]
            calm = way in ("open", "symlink", "openat", "mmap", "cat", "copy", "parents", "self-root")
            found.append(_attempt("read", way, str(place), arguments, harmless=calm))
    careful = [way for way in READ if way != "rename"]
    for path in ("/etc/shadow", "/etc/gshadow"):
        found += [_attempt("read", way, path, [path]) for way in careful]
    for place in stage.inside:
        for way in ("open", "cat", "symlink", "openat", "o-path", "bind-mount", "rename"):
            found.append(_attempt("read", way, place.name, [str(place / "secret")], NAMESPACES))
    found.append(_attempt("read", "open", "given-link", ["given-link"], harmless=True))
    return found


def _writes(stage: Stage) -> list[Attempt]:
    found = []
    places = [
        *_SYSTEM,
        *map(str, (Path(sys.prefix), stage.home, stage.workspace.parent, Path.home(), Path("/etc/ssl/certs"))),
    ]
    for place in dict.fromkeys(places):
        for way in (*_CREATE, "remount"):
            name = f"{stage.token}-{way}"
            found.append(_attempt("write", way, place, [place, name]))
    for folder in stage.folders:
        for way in (*_CREATE, *_CHANGE, "chmod"):
            stopped = NAMESPACES if way == "chmod" else BOTH
            calm = way in _CREATE and way != "rename"
            found.append(
                _attempt("write", way, str(folder), [str(folder), f"{stage.token}-{way}"], stopped, harmless=calm)
            )
    return found


def _network(stage: Stage) -> list[Attempt]:
    found = []
    for host in ("127.0.0.1", "localhost", "127.1", "0.0.0.0"):
        for way in ("stream", "datagram", "bash", "python", "raw"):
            port = stage.udp if way in ("datagram", "raw") else stage.tcp
            calm = host == "127.0.0.1" and way in ("stream", "datagram")
            found.append(_attempt("net", way, host, [host, port], harmless=calm))
    found += [_attempt("net", way, "v6", ["::1", stage.tcp]) for way in ("stream", "datagram")]
    found += [_attempt("net", way, "metadata", ["169.254.169.254", 80]) for way in ("stream", "python")]
    for name in (stage.path_socket, f"@{stage.token}"):
        found.append(_attempt("net", "unix", name, [name], harmless=True))
        found.append(_attempt("net", "unix-datagram", name, [f"{name}.dgram"], harmless=True))
    kinds = {
        "packet": (17, 3),
        "raw": (2, 3, 1),
        "raw6": (10, 3, 58),
        "vsock": (40, 1),
        "bluetooth": (31, 3, 1),
        "alg": (38, 5),
        "tipc": (30, 1),
    }
    return found + [_attempt("net", "open", name, list(kind)) for name, kind in kinds.items()]


def _processes(stage: Stage) -> list[Attempt]:
    pid, memory = stage.victim.pid, f"{stage.address}:{len(stage.token)}"
    found = [
        _attempt("proc", "file", what, [pid, what], harmless=what == "environ") for what in ("environ", "maps", "auxv")
    ]
    found += [_attempt("proc", "file", f"1-{what}", [1, what]) for what in ("environ", "maps")]
    found += [
        _attempt("proc", "all", what, [0, what], harmless=what == "environ") for what in ("environ", "cwd/secret")
    ]
    found += [_attempt("proc", way, "memory", [pid, memory], harmless=True) for way in ("mem", "vm-read")]
    for number in ("9", "15", "19", "11", "1"):
        found += [_attempt("proc", way, f"victim-{number}", [pid, number]) for way in ("kill", "kill-shell", "pidfd")]
    found += [_attempt("proc", "ptrace", what, [pid, what]) for what in ("16", "16902")]
    namespaces = ("mnt", "pid", "net", "user", "ipc", "uts", "cgroup")
    found += [_attempt("proc", "setns", what, [pid, what]) for what in namespaces]
    secret = str(stage.folders[0] / "secret")
    found += [_attempt("proc", "nsenter", str(who), [who, secret]) for who in (1, pid)]
    found += [_attempt("proc", "oom", "victim", [pid, "1000"]), _attempt("proc", "prlimit", "victim", [pid, "7"])]
    return found


def _calls(stage: Stage) -> list[Attempt]:
    found = [_attempt("call", "number", name, given, stopped) for name, given, stopped in _NUMBERS]
    found.append(_attempt("call", "number", "add-key", [248, "user", stage.token, "x", 1, -4]))
    found += [_attempt("call", "put", path, [path, text]) for path, text in _PUT]
    found += [
        _attempt("call", "device", f"{major}-{minor}", [f"node-{major}-{minor}", major, minor])
        for major, minor in ((8, 0), (254, 0), (1, 1), (7, 0))
    ]
    devices = (
        "/dev/mem",
        "/dev/kmem",
        "/dev/port",
        "/dev/sda",
        "/dev/vda",
        "/dev/kvm",
        "/dev/fuse",
        "/dev/kmsg",
        "/proc/kcore",
    )
    found += [_attempt("call", "open-device", path, [path]) for path in devices]
    programs = (
        ["sudo", "-n", "true"],
        ["unshare", "-Ur", "true"],
        ["unshare", "-m", "true"],
        ["mount", "-t", "tmpfs", "none", "/mnt"],
        ["chroot", "/", "/bin/true"],
        ["dmesg"],
        ["bwrap", "--bind", "/", "/", "true"],
        ["ip", "link", "add", "escaped", "type", "dummy"],
        ["getent", "ahosts", "example.com"],
    )
    found += [_attempt("call", "program", " ".join(argv), list(argv)) for argv in programs]
    found.append(_attempt("call", "program", "su", ["su", "-c", "true"], NAMESPACES))
    found.append(_attempt("call", "setuid", "0", [], NAMESPACES))
    found.append(_attempt("call", "setuid-file", "bash", ["rootbash"], NAMESPACES))
    for way in ("open", "mknod", "chmod", "fchmod", "install", "copy"):
        found += [_attempt("call", "lend", f"{way}-{mode:o}", [way, mode]) for mode in (0o4755, 0o2755)]
    found.append(_attempt("call", "terminal", "tiocsti", [0x5412]))
    found.append(_attempt("call", "terminal", "tioclinux", [0x541C]))
    found.append(_attempt("call", "chroot", "jail", [str(stage.folders[0] / "secret")]))
    found.append(_attempt("call", "core", "abort", []))
    return found


def _attempt(
    kind: str,
    way: str,
    what: str,
    arguments: list[object],
    stopped_by: frozenset[str] = BOTH,
    *,
    harmless: bool = False,
) -> Attempt:
    name = f"{kind} {what} by {way}"
    return Attempt(name=name, kind=kind, way=way, arguments=arguments, stopped_by=stopped_by, harmless=harmless)
