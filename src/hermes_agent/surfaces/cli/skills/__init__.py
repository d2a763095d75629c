"""`hermes skills`: procedures the agent can follow; see, write, test and share them. One module per subcommand."""

from __future__ import annotations

from ..group import LazyGroup

COMMANDS = {
    "list": "Which skills there are, and how each fares.",
    "show": "One skill: what it says, who made it, whether it is offered here.",
    "new": "Write a skill.",
    "edit": "Change a skill in your editor.",
    "validate": "Check a skill or a folder: format, syntax, scanner; with --run its tests.",
    "test": "Run a skill's test inputs in the sandbox.",
    "health": "Test the skills that are due.",
    "stats": "Uses, success, and what the coin says a skill gains.",
    "history": "Every version of a skill: who wrote it, when, in which run.",
    "diff": "What differs between two versions of a skill.",
    "restore": "Bring back an archived skill or an earlier version.",
    "archive": "Put a skill of yours away; nothing is lost.",
    "enable": "Offer a skill again.",
    "disable": "Do not offer a skill.",
    "pin": "Keep agents and the curator from changing a skill.",
    "unpin": "Let agents change a skill again.",
    "overlaps": "Which skills say the same.",
    "curate": "Merge duplicates and archive what is not used.",
    "search": "Look for skills in the sources you know.",
    "install": "Install a skill from a git repository or a folder.",
    "update": "Update installed skills, after showing what changes.",
    "uninstall": "Take an installed skill off the shelf; it is archived.",
    "publish": "Push a skill of yours to a git repository.",
    "team": "Share one library of skills with others.",
}

command = LazyGroup(
    COMMANDS,
    name="skills",
    package=__name__,
    about="Procedures the agent can follow: see, write, test and share them.",
    modules={"list": "listing", "test": "trying", "history": "versions", "diff": "comparing"},
)
