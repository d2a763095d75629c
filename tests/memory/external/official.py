"""Runs the official client of one service against an address and prints what it was told back, as JSON.

A program of its own: the clients need packages that the project does not, and may run in another interpreter.
"""

import asyncio
import importlib
import json
import sys
from typing import Any

FACT = "Deployments go to the Lisbon cluster on Fridays"
QUESTION = "lisbon cluster deployments"


def honcho(url: str, key: str) -> Any:
    Honcho: Any = importlib.import_module("honcho").Honcho

    client = Honcho(base_url=url, api_key=key, workspace_id="official")
    user, agent = client.peer("user"), client.peer("agent")
    session = client.session("session-1")
    session.add_messages([user.message(FACT), agent.message("Noted.")])
    return [conclusion.content for conclusion in user.conclusions.query(QUESTION, top_k=3)]


def mem0(url: str, key: str) -> Any:
    MemoryClient: Any = importlib.import_module("mem0").MemoryClient

    client = MemoryClient(api_key=key, host=url)
    client.add([{"role": "user", "content": FACT}], user_id="official")
    return [hit["memory"] for hit in client.search(QUESTION, filters={"user_id": "official"}, top_k=3)["results"]]


def hindsight(url: str, key: str) -> Any:
    Hindsight: Any = importlib.import_module("hindsight_client").Hindsight

    async def work() -> Any:
        client = Hindsight(base_url=url, api_key=key)
        await client.aretain(bank_id="official", content=FACT, context="test", retain_async=True)
        answer = await client.arecall(bank_id="official", query=QUESTION, budget="low", max_tokens=1024)
        await client.aclose()
        return [(result.text, result.scores.final > 0) for result in answer.results]

    return [text for text, scored in asyncio.run(work()) if scored]


def supermemory(url: str, key: str) -> Any:
    Supermemory: Any = importlib.import_module("supermemory").Supermemory

    client = Supermemory(api_key=key, base_url=url)
    client.add("official", content=FACT, metadata={"session": "s"}, task_type="memory")
    answer = client.search("official", query=QUESTION, search_mode="memories", limit=3)
    return [result.memory for result in answer.results if result.similarity > 0]


def openviking(url: str, key: str) -> Any:
    AsyncHTTPClient: Any = importlib.import_module("openviking_sdk.client").AsyncHTTPClient

    async def work() -> Any:
        client = AsyncHTTPClient(url=url, api_key=key)
        await client.initialize()
        await client.batch_add_messages("session-1", [{"role": "user", "content": FACT}])
        await client.commit_session("session-1")
        found = await client.find(QUESTION, limit=3, options={"context_type": "memory"})
        healthy = await client.health()
        await client.close()
        return [memory["abstract"] for memory in found["memories"] if healthy]

    return asyncio.run(work())


if __name__ == "__main__":
    service, address, secret = sys.argv[1:]
    print(json.dumps(globals()[service](address, secret)))
