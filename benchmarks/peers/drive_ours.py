"""Drives this project: its library, one plain tool beside the built-in ones, everything journaled as always."""

# mypy: ignore-errors
# Run as a script beside `conversation.py`, like the peers' drivers.

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor

from conversation import DESCRIPTION, MODEL, QUESTION, TOOL, Echo, options, report

from hermes_agent import Agent, Tool


def main() -> None:
    given = options()
    echo = Echo()
    spent: list[float] = []

    def echo_tool(text: str) -> str:
        spent.append(time.process_time())
        return echo(text)

    home = given.state / "home"
    home.mkdir(parents=True, exist_ok=True)
    (home / "config.yaml").write_text("limits: {iterations: 1000000, seconds: 100000}\n")
    (home / "models.yaml").write_text(f"models:\n  'openai:{MODEL}': {{context_window: 1000000000}}\n")
    agent = Agent(name="bench", model=f"openai:{MODEL}", base_url=given.url, home=home, workspace=given.state)
    agent.register_tool(Tool(TOOL, echo_tool, description=DESCRIPTION, capabilities=[], effect="none"))
    if given.sessions == 1:
        answers = [agent.run(QUESTION).answer]
    else:
        with ThreadPoolExecutor(given.sessions) as pool:
            done = pool.map(lambda _: agent.run(QUESTION, session="new"), range(given.sessions))
            answers = [result.answer for result in done]
    agent.close()
    (given.state / "spent.json").write_text(json.dumps(spent))
    report(given, answer=answers[0] if len(set(answers)) == 1 else str(answers), calls=echo.calls)


if __name__ == "__main__":
    main()
