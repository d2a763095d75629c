"""RetainDB (https://retaindb.com), through templates.

There is no official client for Python that could prove these defaults: they follow public descriptions of the interface
(`POST /v1/memory`, `POST /v1/memory/search`) and have met no real server. Any of them can be overridden in
`memory.options` with the names of the `http` provider; `project` and `user` say where memories are kept.
"""

from __future__ import annotations

from ..external import ExternalMemory, ProviderOptions
from .http import templated

HOSTED = "https://api.retaindb.com"
DEFAULTS = {
    "recall_url": "/v1/memory/search",
    "recall_body": '{"project": "{project}", "query": "{query}", "top_k": "{limit}", "include_pending": true}',
    "recall_path": "results",
    "recall_text": "memory.content",
    "recall_score": "similarity",
    "recall_origin": "memory.id",
    "remember_url": "/v1/memory",
    "remember_body": '{"project": "{project}", "content": "{text}", "memory_type": "event"}',
}


def connect(options: ProviderOptions) -> ExternalMemory:
    return templated(options, DEFAULTS, HOSTED)
