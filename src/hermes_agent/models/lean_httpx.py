"""httpx without its command line.

Where rich and pygments are installed, `import httpx` loads them for a command that nobody here uses: a third of our
start-up. None in the module table makes just that import fail, which httpx is prepared for.
"""

from __future__ import annotations

import sys

_COMMAND = "httpx._main"
_skipped = _COMMAND not in sys.modules
if _skipped:
    sys.modules[_COMMAND] = None  # type: ignore[assignment]

import httpx as httpx  # noqa: E402

if _skipped:
    del sys.modules[_COMMAND]
