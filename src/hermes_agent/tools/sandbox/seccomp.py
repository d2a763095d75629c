"""A filter of system calls as the kernel takes it: what no tool needs and what has let programs out of sandboxes.

Only the standard library: launchers import this. On architectures whose numbers are not written down here there is no
filter; namespaces and Landlock still hold.
"""

import os
import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NUMBER, _ARCHITECTURE, _FIRST, _SECOND = 0, 4, 16, 24
_X32 = 0x40000000
_NAMESPACES = 0x7E020080
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK = 1, 2, 10, 16

ORDINARY = (_AF_UNIX, _AF_INET, _AF_INET6, _AF_NETLINK)
"""What a network namespace isolates; of others, such as vsock, which reaches the machine's own host, not all are."""

_SAME_EVERYWHERE = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_getfd": 438,
    "mount_setattr": 442,
    "open_tree_attr": 467,
}
_X86_64 = {
    "ptrace": 101,
    "syslog": 103,
    "pivot_root": 155,
    "chroot": 161,
    "acct": 163,
    "settimeofday": 164,
    "mount": 165,
    "umount2": 166,
    "swapon": 167,
    "swapoff": 168,
    "reboot": 169,
    "sethostname": 170,
    "setdomainname": 171,
    "iopl": 172,
    "ioperm": 173,
    "init_module": 175,
    "delete_module": 176,
    "quotactl": 179,
    "clock_settime": 227,
    "kexec_load": 246,
    "migrate_pages": 256,
    "move_pages": 279,
    "kcmp": 312,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "unshare": 272,
    "perf_event_open": 298,
    "open_by_handle_at": 304,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "finit_module": 313,
    "kexec_file_load": 320,
    "bpf": 321,
    "userfaultfd": 323,
}
_AARCH64 = {
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "chroot": 51,
    "quotactl": 60,
    "acct": 89,
    "unshare": 97,
    "kexec_load": 104,
    "init_module": 105,
    "delete_module": 106,
    "clock_settime": 112,
    "syslog": 116,
    "ptrace": 117,
    "migrate_pages": 238,
    "move_pages": 239,
    "kcmp": 272,
    "reboot": 142,
    "sethostname": 161,
    "setdomainname": 162,
    "settimeofday": 170,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "swapon": 224,
    "swapoff": 225,
    "perf_event_open": 241,
    "open_by_handle_at": 265,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "finit_module": 273,
    "bpf": 280,
    "userfaultfd": 282,
    "kexec_file_load": 294,
}
_MACHINES: dict[str, tuple[int, dict[str, int], dict[str, int]]] = {
    "x86_64": (0xC000003E, _X86_64, {"ioctl": 16, "clone": 56, "socket": 41, "prlimit": 302}),
    "aarch64": (0xC00000B7, _AARCH64, {"ioctl": 29, "clone": 220, "socket": 198, "prlimit": 261}),
}
_CLONE3 = 435


def families(*, network: bool, local: bool) -> tuple[int, ...]:
    """The kinds of sockets a program may open."""
    return (*((_AF_INET, _AF_INET6) if network else ()), *((_AF_UNIX,) if local else ()))


def filter_program(*, sockets: tuple[int, ...] | None = None) -> bytes:
    """The filter for this machine, empty where there is none. `sockets` limits the families; None allows all."""
    known = _MACHINES.get(os.uname().machine)
    if known is None:
        return b""
    architecture, refused, looked_into = known
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, architecture, 1, 0),
        _refuse(_EPERM),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, 0, 1),
        _refuse(_EPERM),
    ]
    for number in sorted((*refused.values(), *_SAME_EVERYWHERE.values())):
        code += [_step(_EQUAL, number, 0, 1), _refuse(_EPERM)]
    code += [_step(_EQUAL, _CLONE3, 0, 1), _refuse(_ENOSYS)]
    code += _when(looked_into["clone"], [_step(_LOAD, _FIRST), _step(_ANY_BIT, _NAMESPACES, 0, 1), _refuse(_EPERM)])
    code += _when(looked_into["prlimit"], [_step(_LOAD, _FIRST), _step(_EQUAL, 0, 1, 0), _refuse(_EPERM)])
    terminal = [_step(_LOAD, _SECOND)]
    for request in (_TIOCSTI, _TIOCLINUX):
        terminal += [_step(_EQUAL, request, 0, 1), _refuse(_EPERM)]
    code += _when(looked_into["ioctl"], terminal)
    if sockets is not None:
        opening = [_step(_LOAD, _FIRST)]
        for family in sockets:
            opening += [_step(_EQUAL, family, 0, 1), _step(_RETURN, _ALLOW)]
        code += _when(looked_into["socket"], [*opening, _refuse(_EAFNOSUPPORT)])
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _when(number: int, steps: list[bytes]) -> list[bytes]:
    """Steps for one call. They end in an answer, because they have loaded something over the call's number."""
    body = [*steps, _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _REFUSE | number)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
