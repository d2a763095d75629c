"""Hard caps in money, tokens and time: nothing is spent beyond them, and the stop names its remedy."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hermes_agent import Agent, Tool
from hermes_agent.models.client import ModelAnswer, TextListener
from hermes_agent.models.request import ModelRequest
from hermes_agent.store.open import Store
from hermes_agent.types.budget import Account, Amount, BudgetSpent, Caps, Scope
from hermes_agent.types.errors import ModelError, ModelFailure
from hermes_agent.types.events import Usage
from hermes_agent.types.tools import ToolCall
from hermes_agent.types.trace import RunStatus

PRICES = "models:\n  'priced:m': {input_usd: 1000, output_usd: 2000, max_output: 1000, context_window: 100000}\n"


class Priced:
    """Calls a tool for ever; every answer uses all the tokens it may."""

    provider = "priced"
    model = "m"

    def __init__(self, failures: Sequence[ModelError] = ()) -> None:
        self.limits: list[int] = []
        self._failures = list(failures)

    async def answer(self, request: ModelRequest, on_text: TextListener) -> ModelAnswer:
        self.limits.append(request.max_tokens)
        if self._failures:
            raise self._failures.pop(0)
        calls = (ToolCall(id=f"c{len(self.limits)}", name="count", arguments={"number": len(self.limits)}),)
        return ModelAnswer(text="", calls=calls, stop="tool_calls", usage=Usage(input=500, output=request.max_tokens))

    async def close(self) -> None:
        return None


def agent_with(home: Path, model: Priced, budgets: str) -> Agent:
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(f"budgets: {{{budgets}}}\nmodel: {{retry_wait: 0.01}}\n")
    (home / "models.yaml").write_text(PRICES)
    agent = Agent(name="spender", model=model, home=home, workspace=home)
    agent.register_tool(Tool("count", lambda number: str(number), capabilities=[], effect="none", parameters={}))
    return agent


def spent(agent: Agent, scope: Scope, key: str) -> Amount:
    account = Account(scope=scope, key=key, caps=Caps())
    return agent.wait(agent.app.store.budgets.spent(account))


@pytest.mark.req("B4")
def test_a_run_that_would_spend_ten_times_its_cap_stops_before_it(home: Path) -> None:
    model = Priced()
    agent = agent_with(home, model, "run_usd: 11")
    result = agent.run("count")
    paid = spent(agent, Scope.RUN, result.run_id)
    agent.close()
    assert (result.status, "raise budgets.run_usd" in result.reason) == (RunStatus.FAILED, True)
    assert 5 < paid.usd <= 11
    assert model.limits[0] == 1000
    assert 0 < model.limits[-1] < 1000


@pytest.mark.req("B4")
def test_tokens_are_capped_over_the_runs_of_a_session(home: Path) -> None:
    agent = agent_with(home, Priced(), "session_tokens: 9000")
    results = [agent.run("count"), agent.run("count again")]
    used = spent(agent, Scope.SESSION, results[0].session_id)
    agent.close()
    assert [result.status for result in results] == [RunStatus.FAILED] * 2
    assert all("raise budgets.session_tokens" in result.reason for result in results)
    assert 0 < used.tokens <= 9000


@pytest.mark.req("B4")
def test_a_stream_that_breaks_off_is_not_free(home: Path) -> None:
    broken = ModelError(ModelFailure.NETWORK, "cut")
    broken.billed = True
    refused = ModelError(ModelFailure.NETWORK, "no connection")
    costs = []
    for number, failure in enumerate((broken, refused)):
        agent = agent_with(home / str(number), Priced([failure]), "run_usd: 5")
        result = agent.run("count")
        trace = agent.app.store.journal.run_events(result.run_id)
        first = next(entry.event for entry in agent.wait(trace) if type(entry.event).__name__ == "ModelCalled")
        costs.append(getattr(first, "usd", None))
        agent.close()
    assert costs[0] is not None and costs[0] > 2
    assert costs[1] == 0


@pytest.mark.req("B4")
def test_a_model_without_a_price_does_not_run_under_a_money_cap(home: Path) -> None:
    model = Priced()
    agent = agent_with(home, model, "day_usd: 1")
    (home / "models.yaml").write_text("models: {}\n")
    result = agent.run("count")
    agent.close()
    assert (result.status, model.limits) == (RunStatus.FAILED, [])
    assert "the price of priced:m is not known" in result.reason
    assert "models.yaml" in result.reason


@pytest.mark.req("B4")
def test_without_caps_nothing_is_counted_and_nothing_limited(home: Path) -> None:
    model = Priced([ModelError(ModelFailure.REFUSED, "no")])
    agent = agent_with(home, model, "")
    agent.run("count")
    agent.close()
    assert model.limits == [0]


@pytest.mark.req("B4")
def test_many_together_never_pass_a_cap(store: Store) -> None:
    """Reservations are made in the database, whoever makes them."""
    account = Account(scope=Scope.DAY, key="2026-01-01", caps=Caps(usd=10.0))

    def spend(_: int) -> int:
        async def work() -> int:
            made = 0
            for _ in range(10):
                try:
                    await store.budgets.reserve([account], Amount(usd=0.7))
                except BudgetSpent:
                    continue
                await store.budgets.settle([account], Amount(usd=0.7), Amount(usd=0.7))
                made += 1
            return made

        return asyncio.run(work())

    with ThreadPoolExecutor(8) as pool:
        made = sum(pool.map(spend, range(8)))
    total = asyncio.run(store.budgets.spent(account))
    assert made == 14
    assert total.usd == pytest.approx(9.8)


@pytest.mark.req("B4")
def test_time_is_capped_too(store: Store) -> None:
    account = Account(scope=Scope.SESSION, key="s", caps=Caps(seconds=5.0))

    async def work() -> str:
        await store.budgets.reserve([account], Amount(seconds=4.0))
        try:
            await store.budgets.reserve([account], Amount(seconds=2.0))
        except BudgetSpent as error:
            return error.explain()
        return ""

    assert asyncio.run(work()) == "the session has used 6 of 5 seconds (raise budgets.session_seconds)"
