"""Drives smolagents: its tool-calling agent, which ends by calling the tool `final_answer`."""

# mypy: ignore-errors
# The peer's packages are only in its own environment, so there is nothing to check against here.

from __future__ import annotations

from conversation import DESCRIPTION, KEY, MODEL, QUESTION, TOOL, Echo, options, report
from smolagents import OpenAIServerModel, Tool, ToolCallingAgent


class EchoTool(Tool):
    name = TOOL
    description = DESCRIPTION
    inputs = {"text": {"type": "string", "description": "the text"}}
    output_type = "string"
    echo = Echo()

    def forward(self, text: str) -> str:
        return self.echo(text)


def main() -> None:
    given = options()
    tool = EchoTool()
    model = OpenAIServerModel(model_id=MODEL, api_base=given.url, api_key=KEY)
    agent = ToolCallingAgent(tools=[tool], model=model, max_steps=given.iterations + 2, verbosity_level=0)
    answer = agent.run(QUESTION)
    report(given, answer=str(answer), calls=tool.echo.calls)


if __name__ == "__main__":
    main()
