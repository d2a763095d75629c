"""`hermes learning`: what was learned, on what evidence, and how to take it back. One module per subcommand."""

from __future__ import annotations

from ..group import LazyGroup

COMMANDS = {
    "show": "What is learned, with its evidence.",
    "curve": "Success over time, with the moments of learning.",
    "audit": "Every change of a heuristic: when, why, after which run.",
    "families": "The kinds of tasks; merge, rename and split them.",
    "sets": "The versions of the heuristic set.",
    "approve": "Let a heuristic that waits for a person act.",
    "reject": "Refuse a heuristic; it is not proposed again.",
    "rollback": "Go back to an earlier set.",
    "freeze": "Keep the set as it is; `--off` lets it change again.",
    "reset": "Forget what was learned about a model.",
    "replay": "Judge a heuristic or a set on past runs.",
    "export": "Write what was learned into a signed bundle.",
    "import": "Read a bundle, after showing what is in it.",
    "metrics": "The figures as Prometheus reads them.",
    "rubric": "How learnable a task is, before it is scheduled.",
}

command = LazyGroup(
    COMMANDS,
    name="learning",
    package=__name__,
    about="What the harness learned from its runs, on what evidence, and how to take it back.",
    modules={"import": "importing", "export": "exporting"},
)
