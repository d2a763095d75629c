"""A filter of system calls as the kernel takes it: what no tool needs and what has let programs out of sandboxes.

Only the standard library: launchers import this. On architectures whose numbers are not written down here there is no
filter; namespaces and Landlock still hold.
"""

import os
import struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS, _EAFNOSUPPORT = 1, 38, 97
_NUMBER, _ARCHITECTURE = 0, 4
_X32 = 0x40000000
_NAMESPACES = 0x7E020080
_LENDS_RIGHTS, _MAKES_FILE = 0o6000, 0x400040
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
_CHMOD_2, _OPENAT2 = 452, 437


class _Machine:
    """The numbers of one architecture. `modes` says at which argument a call takes the mode of a file, `opening` where
    a call that opens files takes its flags and the mode of a new one."""

    def __init__(
        self,
        audit: int,
        refused: dict[str, int],
        looked_into: dict[str, int],
        modes: dict[int, int],
        opening: dict[int, tuple[int, int]],
    ) -> None:
        self.audit = audit
        self.refused = refused
        self.looked_into = looked_into
        self.modes = {**modes, _CHMOD_2: 2}
        self.opening = opening


_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        _X86_64,
        {"ioctl": 16, "clone": 56, "socket": 41, "prlimit": 302},
        {85: 1, 90: 1, 91: 1, 133: 1, 259: 2, 268: 2},
        {2: (1, 2), 257: (2, 3)},
    ),
    "aarch64": _Machine(
        0xC00000B7,
        _AARCH64,
        {"ioctl": 29, "clone": 220, "socket": 198, "prlimit": 261},
        {33: 2, 52: 1, 53: 2},
        {56: (2, 3)},
    ),
}
_CLONE3 = 435


def families(*, network: bool, local: bool) -> tuple[int, ...]:
    """The kinds of sockets a program may open."""
    return (*((_AF_INET, _AF_INET6) if network else ()), *((_AF_UNIX,) if local else ()))


def filter_program(*, sockets: tuple[int, ...] | None = None) -> bytes:
    """The filter for this machine, empty where there is none. `sockets` limits the families; None allows all."""
    machine = _MACHINES.get(os.uname().machine)
    if machine is None:
        return b""
    code = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, machine.audit, 1, 0),
        _refuse(_EPERM),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, 0, 1),
        _refuse(_EPERM),
    ]
    for number in sorted((*machine.refused.values(), *_SAME_EVERYWHERE.values())):
        code += [_step(_EQUAL, number, 0, 1), _refuse(_EPERM)]
    for number in (_CLONE3, _OPENAT2):
        code += [_step(_EQUAL, number, 0, 1), _refuse(_ENOSYS)]
    code += _rights(machine)
    clone, limit = machine.looked_into["clone"], machine.looked_into["prlimit"]
    code += _when(clone, [_step(_LOAD, _argument(0)), _step(_ANY_BIT, _NAMESPACES, 0, 1), _refuse(_EPERM)])
    code += _when(limit, [_step(_LOAD, _argument(0)), _step(_EQUAL, 0, 1, 0), _refuse(_EPERM)])
    terminal = [_step(_LOAD, _argument(1))]
    for request in (_TIOCSTI, _TIOCLINUX):
        terminal += [_step(_EQUAL, request, 0, 1), _refuse(_EPERM)]
    code += _when(machine.looked_into["ioctl"], terminal)
    if sockets is not None:
        opening = [_step(_LOAD, _argument(0))]
        for family in sockets:
            opening += [_step(_EQUAL, family, 0, 1), _step(_RETURN, _ALLOW)]
        code += _when(machine.looked_into["socket"], [*opening, _refuse(_EAFNOSUPPORT)])
    return b"".join([*code, _step(_RETURN, _ALLOW)])


def _rights(machine: _Machine) -> list[bytes]:
    """No file may lend the rights of its owner: in the workspace it would belong to the user, or to root."""
    code = []
    for number, place in machine.modes.items():
        lending = [_step(_LOAD, _argument(place)), _step(_ANY_BIT, _LENDS_RIGHTS, 0, 1), _refuse(_EPERM)]
        code += _when(number, lending)
    for number, (flags, mode) in machine.opening.items():
        making = [_step(_LOAD, _argument(flags)), _step(_ANY_BIT, _MAKES_FILE, 0, 3)]
        lending = [_step(_LOAD, _argument(mode)), _step(_ANY_BIT, _LENDS_RIGHTS, 0, 1), _refuse(_EPERM)]
        code += _when(number, [*making, *lending])
    return code


def _argument(number: int) -> int:
    """Where the lower half of an argument lies on machines that count from the low end."""
    return 16 + 8 * number


def _when(number: int, steps: list[bytes]) -> list[bytes]:
    """Steps for one call. They end in an answer, because they have loaded something over the call's number."""
    body = [*steps, _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _refuse(number: int) -> bytes:
    return _step(_RETURN, _REFUSE | number)


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)
