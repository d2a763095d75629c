"""Failures of the file system as results a model can act on."""

from __future__ import annotations

import difflib
import errno
import os

from ..safety.paths import Scope
from ..types.errors import PermissionRefused
from ..types.text import one_line
from ..types.tools import ToolResult

_MEANING = {
    errno.ENOENT: ("not_found", "does not exist"),
    errno.EISDIR: ("is_directory", "is a folder; list_files shows what is in it"),
    errno.ENOTDIR: ("not_a_directory", "leads through something that is not a folder"),
    errno.EACCES: ("permission", "may not be opened: the file system refuses it"),
    errno.EPERM: ("permission", "may not be changed: the file system refuses it"),
    errno.EROFS: ("read_only", "is on a read-only file system"),
    errno.ENOSPC: ("disk_full", "could not be written: the disk is full; free some space first"),
    errno.EDQUOT: ("disk_full", "could not be written: the quota is used up; free some space first"),
    errno.ENAMETOOLONG: ("bad_path", "is too long a path; use shorter names"),
    errno.EMFILE: ("busy", "could not be opened: too many files are open"),
}


def failed(error: str, text: str) -> ToolResult:
    """A failure the model can do something about; `text` says what."""
    return ToolResult(ok=False, error=error, text=text)


def file_failure(error: OSError, path: str, scope: Scope) -> ToolResult:
    """What went wrong with a file, with similar names where it is missing."""
    name, meaning = _MEANING.get(error.errno or 0, ("io", f"could not be used: {error.strerror or error}"))
    similar = _similar(path, scope) if name == "not_found" else ""
    return ToolResult(ok=False, error=name, text=f"{one_line(path)!r} {meaning}{similar}", transient=name == "busy")


def _similar(path: str, scope: Scope) -> str:
    """Names in the same folder that the caller may have meant."""
    folder, _, name = path.rstrip("/").rpartition("/")
    try:
        names = os.listdir(scope.resolve(folder or ("/" if path.startswith("/") else ".")))
    except (OSError, PermissionRefused):
        return ""
    lowered = {found.lower(): found for found in sorted(names[:5000])}
    close = difflib.get_close_matches(name.lower(), lowered, n=3, cutoff=0.6)
    return f"; similar: {', '.join(one_line(lowered[found]) for found in close)}" if close else ""
