"""ByteRover (https://byterover.dev), through templates.

The package `byterover` for Python is a client for projects and notes and knows nothing of memories, and today's product
is a command. These defaults follow public descriptions of the service's HTTP interface (`POST /memories`,
`POST /memories/search`, header `x-api-key`) and have met no real server. Any of them can be overridden in
`memory.options` with the names of the `http` provider.
"""

from __future__ import annotations

from ..external import ExternalMemory, ProviderOptions
from .http import templated

HOSTED = "https://api.byterover.dev/api/v1"
DEFAULTS = {
    "headers": "x-api-key: {key}",
    "recall_url": "/memories/search",
    "recall_path": "results",
    "recall_text": "memory",
    "remember_url": "/memories",
    "remember_body": '{"messages": "{messages}", "userId": "{user}"}',
}


def connect(options: ProviderOptions) -> ExternalMemory:
    return templated(options, DEFAULTS, HOSTED)
