"""Drives hermes-agent 0.19 through its library, set up as its own one-shot command sets it up.

Without `--default-tools` it is offered only the trivial tool, which is the kinder comparison: its requests are small.
"""

# mypy: ignore-errors
# The peer's packages are only in its own environment, so there is nothing to check against here.

from __future__ import annotations

import contextlib
import io
import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from conversation import DESCRIPTION, KEY, MODEL, QUESTION, TOOL, Echo, Options, options, report
from hermes_cli.config import load_config
from hermes_cli.tools_config import _get_platform_tools
from hermes_state import SessionDB
from run_agent import AIAgent
from tools.registry import registry

TOOLSET = "bench"


def register(echo: Echo) -> None:
    def handler(arguments: dict[str, Any], **_context: Any) -> str:
        return json.dumps({"result": echo(arguments["text"])})

    schema = {
        "name": TOOL,
        "description": DESCRIPTION,
        "parameters": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    }
    registry.register(name=TOOL, toolset=TOOLSET, schema=schema, handler=handler)


def converse(given: Options, toolsets: list[str]) -> str:
    agent = AIAgent(
        base_url=given.url,
        api_key=KEY,
        provider="custom",
        model=MODEL,
        max_iterations=given.iterations + 10,
        tool_delay=0,
        enabled_toolsets=toolsets,
        quiet_mode=True,
        platform="cli",
        session_db=SessionDB(),
    )
    return agent.run_conversation(QUESTION)["final_response"] or ""


def main() -> None:
    given = options()
    echo = Echo()
    register(echo)
    defaults = sorted(_get_platform_tools(load_config(), "cli")) if given.default_tools else []
    toolsets = [*defaults, TOOLSET]
    with contextlib.redirect_stdout(io.StringIO()):
        if given.sessions == 1:
            answers = [converse(given, toolsets)]
        else:
            with ThreadPoolExecutor(given.sessions) as pool:
                answers = list(pool.map(lambda _: converse(given, toolsets), range(given.sessions)))
    report(given, answer=" ".join(sorted(set(answers))), calls=echo.calls)


if __name__ == "__main__":
    main()
