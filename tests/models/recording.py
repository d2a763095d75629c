"""A conversation of the whole agent as it goes over the wire, kept so that a change of its bytes is noticed.

Every change of the prefix costs every user the provider's cache once, so it must be made on purpose. To renew the
recording after such a change: `python -m tests.models.recording`.
"""

from __future__ import annotations

import platform
from pathlib import Path
from tempfile import TemporaryDirectory

from hermes_agent import Agent, tool
from tests.endpoint import Call, Calls, Endpoint, Reply, by_results, text

RECORDED = Path(__file__).parent / "recorded"
FIRST = RECORDED / "first_request.json"
LAST = RECORDED / "last_request.json"
SCRIPT: list[Reply] = [
    Calls(calls=(Call(name="read_file", arguments={"path": "note.txt"}, id="call_1"),), text="Let me look."),
    Calls(
        calls=(
            Call(name="echo", arguments={"text": "zwölf"}, id="call_2"),
            Call(name="read_file", arguments={"path": "missing.txt"}, id="call_3"),
        )
    ),
    text("There are twelve."),
]


def conversation(folder: Path) -> list[bytes]:
    """The bodies of all requests, with what differs between machines replaced: the folder and the platform.

    `echo` is declared to have an effect, so that no two calls run at once and results have one order only. Nobody looks
    back at the runs: what a review asks comes at its own time.
    """
    home, workspace = folder / "home", folder / "workspace"
    for made in (home, workspace):
        made.mkdir()
    (home / "config.yaml").write_text("review: {mode: off}\n", encoding="utf-8")
    (workspace / "note.txt").write_text("one\ntwo – zwölf\n", encoding="utf-8")

    @tool(capabilities=(), effect="once")
    def echo(text: str) -> str:
        """Say it again."""
        return text

    with Endpoint(by_results(SCRIPT)) as endpoint:
        agent = Agent(model="openai:recorded", base_url=endpoint.url, workspace=workspace, home=home)
        agent.register_tool(echo)
        agent.run("How many are there?")
        agent.run("And again?")
        agent.close()
        bodies = [request.body for request in endpoint.requests]
    system = f"{platform.system()} {platform.machine()}".encode()
    return [body.replace(str(workspace).encode(), b"/workspace").replace(system, b"SYSTEM") for body in bodies]


def main() -> None:
    with TemporaryDirectory() as folder:
        bodies = conversation(Path(folder).resolve())
    RECORDED.mkdir(exist_ok=True)
    FIRST.write_bytes(bodies[0])
    LAST.write_bytes(bodies[-1])
    print(f"wrote {len(bodies[0])} and {len(bodies[-1])} bytes")


if __name__ == "__main__":
    main()
