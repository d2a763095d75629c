"""Becomes bubblewrap. Standard library only: runs in the launcher.

An ordinary user's command runs under that user's own number, inside a namespace that holds nothing else. Root's command
must not be root outside: it runs under a number that owns nothing (`STRANGER`), and the folders it may use are shown to
it with their owner exchanged for that number, so that what it writes belongs to the owner of the folder afterwards.
Where the file system cannot do that, the command keeps root's number without any of its capabilities.
"""

from __future__ import annotations

import os

from . import kernel
from .seccomp import ORDINARY, filter_program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .plan import Plan

STRANGER = 61_183
_INSIDE = 1000
_ASKING = (1, 2, 15)
_LAST = 0xFFFFFFFF
_STAGE = "/tmp"
_PASSWD = "root:x:0:0:root:/nowhere:/bin/false\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n"
_GROUP = "root:x:0:\nagent:x:1000:\n"


def become(plan: Plan, command: list[str]) -> None:
    """Replace this process by bubblewrap, and that by the command."""
    sources = {path: path for _, path in plan["mounts"]}
    stranger = os.geteuid() == 0 and _step_down(plan, sources)
    argv = [plan["program"], *_namespaces(plan), *_files(plan, sources)]
    if not stranger and os.geteuid() == 0:
        argv += ["--ro-bind", "/proc/sys", "/proc/sys"]
        if os.path.exists("/proc/sysrq-trigger"):
            argv += ["--ro-bind", "/dev/null", "/proc/sysrq-trigger"]
    filtering = filter_program(sockets=ORDINARY)
    if filtering:
        argv += ["--seccomp", str(_handed(filtering))]
    if plan["network"] and kernel.landlock_abi() >= 6 and not os.stat(plan["program"]).st_mode & 0o4000:
        kernel.no_new_privileges()
        kernel.Ruleset(kernel.landlock_abi(), network=True, files=False).enforce()
    for number in _ASKING:
        kernel.on_signal(number, ignore=plan["gentle"])
    os.execv(argv[0], [*argv, "--remount-ro", "/", "--", *command])


def _namespaces(plan: Plan) -> list[str]:
    argv = ["--unshare-all", "--unshare-user", "--die-with-parent", "--new-session", "--hostname", "sandbox"]
    argv += ["--uid", str(_INSIDE), "--gid", str(_INSIDE), "--cap-drop", "ALL", "--chdir", plan["directory"]]
    argv += plan["extra"]
    return [*argv, "--share-net"] if plan["network"] else argv


def _files(plan: Plan, sources: dict[str, str]) -> list[str]:
    argv = []
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        if os.path.islink(f"/{name}"):
            argv += ["--symlink", os.readlink(f"/{name}"), f"/{name}"]
        else:
            argv += ["--ro-bind-try", f"/{name}", f"/{name}"]
    argv += ["--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev"]
    for path in plan["system"]:
        argv += ["--ro-bind-try", os.path.realpath(path), path]
    for text, path in ((_PASSWD, "/etc/passwd"), (_GROUP, "/etc/group")):
        argv += ["--perms", "0444", "--ro-bind-data", str(_handed(text.encode())), path]
    for path, mode in (("/tmp", "1777"), ("/var/tmp", "1777"), ("/home/agent", "0700"), ("/dev/shm", "1777")):
        argv += ["--perms", mode, "--size", str(plan["scratch"]), "--tmpfs", path]
    argv += ["--remount-ro", "/dev"]
    for kind, path in plan["mounts"]:
        if kind == "empty":
            argv += ["--perms", "0755", "--tmpfs", path, "--remount-ro", path]
        elif kind == "void":
            argv += ["--ro-bind", "/dev/null", path]
        else:
            argv += ["--bind" if kind == "write" else "--ro-bind", sources[path], path]
    return argv


def _handed(data: bytes) -> int:
    """A descriptor from which bubblewrap reads `data`."""
    descriptor = os.memfd_create("sandbox", 0)
    os.write(descriptor, data)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _step_down(plan: Plan, sources: dict[str, str]) -> bool:
    """Become nobody in particular; False when the folders cannot be shown to nobody in particular."""
    try:
        trees = _trees(plan)
    except OSError:
        return False
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    kernel.mount("tmpfs", _STAGE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "mode=0755")
    for number, (path, tree, folder) in enumerate(trees):
        sources[path] = f"{_STAGE}/{number}"
        if folder:
            os.mkdir(sources[path], 0o755)
        else:
            os.close(os.open(sources[path], os.O_CREAT | os.O_WRONLY, 0o644))
        kernel.attach(tree, sources[path])
        os.close(tree)
    os.chdir("/")
    os.setgroups([])
    os.setresgid(STRANGER, STRANGER, STRANGER)
    os.setresuid(STRANGER, STRANGER, STRANGER)
    return True


def _trees(plan: Plan) -> list[tuple[str, int, bool]]:
    """Copies of the folders with their owners exchanged. One that is only read may keep its owner if it must."""
    trees = []
    owners: dict[tuple[int, int], int] = {}
    for kind, path in plan["mounts"]:
        if kind not in ("write", "read"):
            continue
        about = os.stat(path)
        owner = (about.st_uid, about.st_gid)
        if owner not in owners:
            owners[owner] = _exchange(*owner)
        tree = kernel.copy_of_tree(path)
        trees.append((path, tree, os.path.isdir(path)))
        try:
            kernel.map_owners(tree, owners[owner])
        except OSError:
            if kind == "write":
                raise
    return trees


def _exchange(user: int, group: int) -> int:
    """A user namespace in which this user and group have changed places with the stranger."""
    ready, told = os.pipe()
    done, wait = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            kernel.unshare(kernel.CLONE_NEWUSER)
            os.write(told, b".")
            os.close(wait)
            os.read(done, 1)
        finally:
            os._exit(0)
    os.close(told)
    try:
        if os.read(ready, 1) != b".":
            raise OSError(1, "no user namespace")
        for name, number in (("uid_map", user), ("gid_map", group)):
            descriptor = os.open(f"/proc/{child}/{name}", os.O_WRONLY)
            os.write(descriptor, _exchanged(number).encode())
            os.close(descriptor)
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
    finally:
        for descriptor in (wait, ready, done):
            os.close(descriptor)
        os.waitpid(child, 0)


def _exchanged(number: int) -> str:
    if number == STRANGER:
        return f"0 0 {_LAST}\n"
    low, high = min(number, STRANGER), max(number, STRANGER)
    pairs = ((0, 0, low), (low, high, 1), (low + 1, low + 1, high - low - 1), (high, low, 1))
    rest = (high + 1, high + 1, _LAST - high - 1)
    return "".join(f"{inside} {outside} {count}\n" for inside, outside, count in (*pairs, rest) if count > 0)
