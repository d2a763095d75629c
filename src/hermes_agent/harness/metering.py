"""Budgets: what a run, its session and the day may spend, checked before every call with the catalog's prices."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import msgspec

from ..config.settings import BudgetSettings
from ..models.facts import ModelFacts, cost_usd
from ..models.request import ModelRequest, Prefix
from ..store.budgets import Budgets
from ..types.budget import Account, Amount, Caps, PriceUnknown, Scope
from ..types.effort import Effort
from ..types.events import AnyEvent, Decided, Usage

CHARACTERS_PER_TOKEN = 3
_LEAST_ANSWER = 64
_USUAL_ANSWER = 4_096


def accounts_for(settings: BudgetSettings, run_id: str, session_id: str, day: str) -> list[Account]:
    """The accounts that have a cap at all."""
    keys = {Scope.RUN: run_id, Scope.SESSION: session_id, Scope.DAY: day}
    given = msgspec.to_builtins(settings)
    accounts = [
        Account(
            scope=scope,
            key=key,
            caps=Caps(
                usd=given[f"{scope.value}_usd"],
                tokens=given[f"{scope.value}_tokens"],
                seconds=given[f"{scope.value}_seconds"],
            ),
        )
        for scope, key in keys.items()
    ]
    return [account for account in accounts if account.caps != Caps()]


class RunMeter:
    """Reserves the most a call could cost, and settles what it did cost."""

    def __init__(
        self,
        budgets: Budgets,
        accounts: Sequence[Account],
        facts: Callable[[str], ModelFacts],
        clock: Callable[[], float],
    ) -> None:
        self._budgets = budgets
        self._accounts = accounts
        self._facts = facts
        self._clock = clock
        self._since = clock()
        self._reserved = Amount()
        self._prices = ModelFacts()

    async def admit(self, model: str, request: ModelRequest) -> ModelRequest:
        """The request with an answer no longer than every account can pay for."""
        if not self._accounts:
            return request
        self._prices = self._facts(model)
        unknown = self._prices.input_usd is None or self._prices.output_usd is None
        if unknown and any(account.caps.usd for account in self._accounts):
            raise PriceUnknown(
                f"the price of {model} is not known, and a money cap is set",
                remedy=f"give it in models.yaml under models: {model}: input_usd and output_usd, per million tokens",
            )
        asked = tokens_of(request)
        wanted = request.max_tokens or self._prices.max_output or _USUAL_ANSWER
        answer = min(wanted, await self._affordable(asked))
        if answer < min(wanted, _LEAST_ANSWER):
            answer = wanted
        passed, self._since = self._clock() - self._since, self._clock()
        amount = Amount(usd=self._cost(asked, answer), tokens=asked + answer, seconds=passed)
        await self._budgets.reserve(self._accounts, amount)
        self._reserved = amount
        return msgspec.structs.replace(request, max_tokens=answer)

    async def charge(self, usage: Usage | None) -> float:
        """What the call cost; a stream that broke off costs what was reserved for it."""
        if not self._accounts:
            return 0.0
        reserved, self._reserved = self._reserved, Amount()
        if usage is None:
            actual = reserved
        else:
            known = usage.input + usage.output
            actual = Amount(usd=self._cost(usage.input, usage.output, usage.cached), tokens=known)
        await self._budgets.settle(self._accounts, reserved, actual)
        return actual.usd

    async def _affordable(self, asked: int) -> int:
        """How long an answer the poorest account can pay for."""
        most = 1 << 31
        for account in self._accounts:
            spent = await self._budgets.spent(account)
            if account.caps.tokens:
                most = min(most, account.caps.tokens - spent.tokens - asked)
            if account.caps.usd and self._prices.output_usd:
                left = account.caps.usd - spent.usd - self._cost(asked, 0)
                most = min(most, int(left * 1_000_000 / self._prices.output_usd))
        return most

    def _cost(self, asked: int, answer: int, cached: int = 0) -> float:
        return cost_usd(self._prices, Usage(input=asked, output=answer, cached=cached)) or 0.0


class Allowance:
    """What requests may cost and how hard the model should think: the same for all runs of a harness. What is spent
    from a `purse` of its own does not count for the others' day."""

    def __init__(
        self,
        budgets: BudgetSettings,
        facts: Callable[[str], ModelFacts],
        max_tokens: int = 0,
        effort: Effort | None = None,
        clock: Callable[[], float] = time.time,
        purse: str = "",
    ) -> None:
        self._budgets = budgets
        self._facts = facts
        self._clock = clock
        self._purse = purse
        self._windows: dict[str, int] = {}
        self.max_tokens = max_tokens
        self.effort = effort

    def window(self, model: str) -> int:
        """How many tokens a request and its answer may have together; looked up once a run."""
        if model not in self._windows:
            self._windows[model] = self._facts(model).context_window
        return self._windows[model]

    def effort_notes(self, model: str) -> list[AnyEvent]:
        """What the journal should know about the configured effort: that the model has no such level."""
        levels = self._facts(model).efforts
        if self.effort is None or not levels or self.effort in levels:
            return []
        known = ", ".join(levels)
        reason = f"{model} has no level {self.effort}; it knows {known}, and the nearest one is asked for"
        return [Decided(subject="effort", choice="change", reason=reason)]

    def meter(self, store: Budgets, run_id: str, session_id: str) -> RunMeter:
        """The meter of one run."""
        self._windows.clear()
        day = self._purse + time.strftime("%Y-%m-%d", time.localtime(self._clock()))
        return RunMeter(store, accounts_for(self._budgets, run_id, session_id, day), self._facts, self._clock)


def tokens_of(request: ModelRequest) -> int:
    """At most about how many tokens a request has. Counted from characters, on the high side."""
    return (_fixed.characters(request.prefix) + request.transcript.characters) // CHARACTERS_PER_TOKEN + 50


class _Fixed:
    """The size of the prefix that was asked for last: it stays the same for a whole epoch."""

    def __init__(self) -> None:
        self._known: tuple[Prefix | None, int] = (None, 0)

    def characters(self, prefix: Prefix) -> int:
        known, size = self._known
        if known is not prefix:
            tools = sum(len(tool.name) + len(tool.description) + len(str(tool.parameters)) for tool in prefix.tools)
            size = len(prefix.system) + tools
            self._known = (prefix, size)
        return size


_fixed = _Fixed()
