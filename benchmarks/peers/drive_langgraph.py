"""Drives LangGraph: its prebuilt tool-calling agent with the SQLite checkpointer on a file."""

# mypy: ignore-errors
# The peer's packages are only in its own environment, so there is nothing to check against here.

from __future__ import annotations

import warnings

from conversation import DESCRIPTION, KEY, MODEL, QUESTION, TOOL, Echo, options, report
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.prebuilt import create_react_agent


def main() -> None:
    given = options()
    echo = Echo()

    def echo_tool(text: str) -> str:
        return echo(text)

    warnings.simplefilter("ignore")
    tool = StructuredTool.from_function(echo_tool, name=TOOL, description=DESCRIPTION)
    model = ChatOpenAI(model=MODEL, base_url=given.url, api_key=KEY)
    config = {"configurable": {"thread_id": "one"}, "recursion_limit": 10 * given.iterations + 100}
    with SqliteSaver.from_conn_string(str(given.state / "checkpoints.sqlite")) as checkpointer:
        agent = create_react_agent(model, [tool], checkpointer=checkpointer)
        state = agent.invoke({"messages": [{"role": "user", "content": QUESTION}]}, config)
    report(given, answer=state["messages"][-1].text, calls=echo.calls)


if __name__ == "__main__":
    main()
