"""`hermes bench`: watch the product learn on tasks whose answers are known exactly. One module per subcommand."""

from __future__ import annotations

from ..group import LazyGroup

COMMANDS = {
    "finance": "A hundred tasks on financial exports: success, time, reuse, recovery.",
    "families": "The same for other families of tasks, against the curves of the first description.",
}

command = LazyGroup(
    COMMANDS,
    name="bench",
    package=__name__,
    about="Case studies: generated tasks with exact answers, with learning, without it, and with shuffled feedback.",
)
