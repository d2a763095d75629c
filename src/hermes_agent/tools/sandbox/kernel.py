"""The few calls to the Linux kernel that Python has no name for. Only the standard library: launchers import this.

The numbers of calls that came after Linux 5.1 are the same on every architecture.
"""

import ctypes
import os
import struct

_libc = ctypes.CDLL(None, use_errno=True)

_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PR_SET_SECCOMP, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS, _PR_SET_SECUREBITS = 22, 24, 38, 28
_SECCOMP_MODE_FILTER = 2
_SECURE_ROOT_IS_NOTHING = 0b11
_AT_FDCWD, _AT_EMPTY_PATH, _AT_RECURSIVE = -100, 0x1000, 0x8000
_OPEN_TREE_CLONE, _MOVE_MOUNT_F_EMPTY_PATH = 1, 4
_MOUNT_ATTR_IDMAP = 0x00100000
_LAST_CAPABILITY = 63

CLONE_NEWNS = 0x00020000
CLONE_NEWUSER = 0x10000000
MS_NOSUID, MS_NODEV, MS_REC, MS_PRIVATE = 2, 4, 16384, 1 << 18

READ_AND_RUN = 0b1101
READ_AND_WRITE_FILE = 0b110
_ALL_OF_ABI = (0, 0x1FFF, 0x3FFF, 0x7FFF, 0x7FFF)
_ALL_FILE_RIGHTS = 0xFFFF
_ONLY_FOLDERS = 0b0011111111111000 & ~(1 << 14)


def _check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), what)
    return result


def _call(number: int, what: str, *arguments: object) -> int:
    return _check(_libc.syscall(ctypes.c_long(number), *arguments), what)


def prctl(option: int, value: int, more: object = 0) -> None:
    """Change something about this process."""
    zero = ctypes.c_ulong(0)
    second = ctypes.c_ulong(more) if isinstance(more, int) else more
    _check(_libc.prctl(option, ctypes.c_ulong(value), second, zero, zero), "prctl")


def no_new_privileges() -> None:
    """From here on no program started gives more rights than there are, whatever its set-user-id bit says."""
    prctl(_PR_SET_NO_NEW_PRIVS, 1)


def _try_prctl(option: int, value: int) -> None:
    """For what an ordinary user may not change and does not have either."""
    try:
        prctl(option, value)
    except OSError:
        return


def on_signal(number: int, *, ignore: bool) -> None:
    """Ignore a signal, or let it do what it does by default; programs started later inherit that."""
    _libc.signal(ctypes.c_int(number), ctypes.c_void_p(1 if ignore else 0))


def drop_capabilities() -> None:
    """Give up all that makes root more than an ordinary user, for good."""
    _try_prctl(_PR_SET_SECUREBITS, _SECURE_ROOT_IS_NOTHING)
    for capability in range(_LAST_CAPABILITY + 1):
        _try_prctl(_PR_CAPBSET_DROP, capability)
    header = struct.pack("=Ii", 0x20080522, 0)
    _check(_libc.capset(header, bytes(24)), "capset")


def filter_calls(program: bytes) -> None:
    """Install a filter of system calls; needs `no_new_privileges`."""
    text = ctypes.create_string_buffer(program, len(program))
    table = struct.pack("HP", len(program) // 8, ctypes.addressof(text))
    prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.create_string_buffer(table))


def unshare(flags: int) -> None:
    """Leave namespaces that are shared with others."""
    _check(_libc.unshare(ctypes.c_int(flags)), "unshare")


def mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    """Mount a file system, or change a mount."""
    words = [word.encode() for word in (source, target, kind)]
    _check(_libc.mount(*words, ctypes.c_ulong(flags), options.encode()), target)


def copy_of_tree(path: str) -> int:
    """A descriptor of a copy of the mount at `path`, with everything mounted below it."""
    flags = _OPEN_TREE_CLONE | _AT_RECURSIVE | os.O_CLOEXEC
    return _call(_OPEN_TREE, path, ctypes.c_int(_AT_FDCWD), os.fsencode(path), ctypes.c_uint(flags))


def map_owners(tree: int, users: int) -> None:
    """Show the files of a copied tree with owners changed as the user namespace `users` says."""
    attributes = ctypes.create_string_buffer(struct.pack("=QQQQ", _MOUNT_ATTR_IDMAP, 0, 0, users))
    flags = ctypes.c_uint(_AT_EMPTY_PATH | _AT_RECURSIVE)
    _call(_MOUNT_SETATTR, "map owners", ctypes.c_int(tree), b"", flags, attributes, ctypes.c_size_t(32))


def attach(tree: int, target: str) -> None:
    """Put a copied tree into the file system."""
    flags = ctypes.c_uint(_MOVE_MOUNT_F_EMPTY_PATH)
    _call(_MOVE_MOUNT, target, ctypes.c_int(tree), b"", ctypes.c_int(_AT_FDCWD), os.fsencode(target), flags)


def landlock_abi() -> int:
    """The version of Landlock this kernel offers; 0 where there is none or it is switched off."""
    result = _libc.syscall(ctypes.c_long(_CREATE_RULESET), None, ctypes.c_size_t(0), ctypes.c_uint(1))
    return max(int(result), 0)


class Ruleset:
    """A Landlock ruleset in the making: what is not allowed in it is denied once it is enforced."""

    def __init__(self, abi: int, *, network: bool, files: bool = True) -> None:
        self._rights = (_ALL_OF_ABI[abi] if abi < len(_ALL_OF_ABI) else _ALL_FILE_RIGHTS) if files else 0
        tcp = 0b11 if abi >= 4 and not network else 0
        scoped = 0b11 if abi >= 6 else 0
        words = (self._rights, tcp, scoped)[: 1 if abi < 4 else 2 if abi < 6 else 3]
        attributes = struct.pack(f"={len(words)}Q", *words)
        self._ruleset = _call(
            _CREATE_RULESET, "landlock", attributes, ctypes.c_size_t(len(attributes)), ctypes.c_uint(0)
        )

    def allow(self, paths: list[str] | tuple[str, ...], rights: int = _ALL_FILE_RIGHTS) -> None:
        """Allow `rights` at and below each of the paths; those that do not exist are passed over."""
        for path in paths:
            try:
                descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
            except OSError:
                continue
            granted = rights & self._rights
            if not os.path.isdir(path):
                granted &= ~_ONLY_FOLDERS
            rule = struct.pack("=Qi", granted, descriptor)
            _call(_ADD_RULE, path, ctypes.c_int(self._ruleset), ctypes.c_int(1), rule, ctypes.c_uint(0))
            os.close(descriptor)

    def enforce(self) -> None:
        """Deny everything else to this process and all it will start; needs `no_new_privileges`."""
        _call(_RESTRICT_SELF, "landlock", ctypes.c_int(self._ruleset), ctypes.c_uint(0))
        os.close(self._ruleset)
