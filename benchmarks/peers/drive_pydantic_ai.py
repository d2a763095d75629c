"""Drives pydantic-ai: one agent, one plain tool, its usual OpenAI chat model."""

# mypy: ignore-errors
# The peer's packages are only in its own environment, so there is nothing to check against here.

from __future__ import annotations

from conversation import DESCRIPTION, KEY, MODEL, QUESTION, TOOL, Echo, options, report
from pydantic_ai import Agent, Tool
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits


def main() -> None:
    given = options()
    echo = Echo()

    def echo_tool(text: str) -> str:
        return echo(text)

    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=given.url, api_key=KEY))
    agent = Agent(model, tools=[Tool(echo_tool, name=TOOL, description=DESCRIPTION)])
    result = agent.run_sync(QUESTION, usage_limits=UsageLimits(request_limit=None))
    report(given, answer=result.output, calls=echo.calls)


if __name__ == "__main__":
    main()
