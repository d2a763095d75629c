"""One scanner for every text that a model will read or a shell will run. Pure functions, no I/O.

`scan` normalises the text (invisible characters, look-alike letters, encodings, layout), gathers evidence of hidden
text, of intents and of commands, and weighs it. What cannot be decoded, or is longer than `MAX_CHARS`, is
blocked unread.
"""

from __future__ import annotations

from .engine import MAX_CHARS, scan
from .verdict import Finding, Kind, Report, Verdict

__all__ = ["MAX_CHARS", "Finding", "Kind", "Report", "Verdict", "scan"]
