"""The `hermes` command. Commands are listed here and imported when they are called."""

from __future__ import annotations

import sys

from ...version import __version__

COMMANDS = {
    "run": "Do one task in the current directory.",
    "chat": "Talk with the agent in this terminal.",
    "sessions": "List, show, search, export and delete sessions.",
    "resume": "Go on with runs that were interrupted.",
    "inbox": "Messages the agent left for you and others.",
    "why": "What a run read, decided and refused, and why.",
    "judge": "Say whether a run succeeded.",
    "learning": "What was learned, on what evidence; approve, undo, replay.",
    "skills": "Procedures the agent can follow; see, write, test, share them.",
    "memory": "What is remembered in every session.",
    "review": "What background reviews changed; undo it.",
    "fork": "Begin a run again from one of its steps, with something changed.",
    "compare": "Two runs side by side.",
    "export": "Trajectories for training, as JSONL.",
    "scan": "Look for injected instructions and hidden text.",
    "status": "What is running, waiting and interrupted.",
    "tools": "Which tools the agent has.",
    "model": "Which models there are, which one answers, and how good it is.",
    "usage": "What the models were asked, and what it cost.",
    "dashboard": "The page: live runs, learning, cost, health.",
    "logs": "What happened, from the log file; filter and follow.",
    "config": "Show and change settings.",
    "doctor": "Check the installation and say what to do.",
    "bench": "Watch it learn: case studies with exact answers.",
    "demo": "Watch it learn, or survive kill -9, without key or network.",
    "completion": "Print the completion script for a shell.",
}


def main() -> None:
    """Entry point. `--version` is answered before anything is imported."""
    if sys.argv[1:] in (["--version"], ["-V"]):
        print(f"hermes {__version__}")
        return
    from .group import run_command

    sys.exit(run_command(COMMANDS))


if __name__ == "__main__":
    main()
