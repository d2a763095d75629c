"""Accounts under a cap. Money is reserved before a call and settled after it, in the database, so that any number of
processes together never spend beyond a cap. What a crash leaves reserved stays counted as spent."""

from __future__ import annotations

from collections.abc import Sequence

from ..types.budget import Account, Amount, BudgetSpent
from .database import Connection, Database

_RESERVE = (
    "UPDATE budgets SET reserved_usd = reserved_usd + ?, reserved_tokens = reserved_tokens + ?, seconds = seconds + ?"
    " WHERE scope = ? AND key = ?"
    " AND (? = 0 OR usd + reserved_usd + ? <= ?)"
    " AND (? = 0 OR tokens + reserved_tokens + ? <= ?)"
    " AND (? = 0 OR seconds + ? < ?) RETURNING scope"
)
_SETTLE = (
    "UPDATE budgets SET usd = usd + ?, tokens = tokens + ?, reserved_usd = reserved_usd - ?,"
    " reserved_tokens = reserved_tokens - ? WHERE scope = ? AND key = ?"
)


class Budgets:
    """Reserves and settles."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def reserve(self, accounts: Sequence[Account], amount: Amount) -> None:
        """Set `amount` aside in every account, or in none: BudgetSpent names the cap that forbids it.

        `amount.seconds` is time that has passed since the last call; it is spent at once.
        """

        def unit(connection: Connection) -> None:
            for account in accounts:
                caps, place = account.caps, (account.scope.value, account.key)
                connection.run("INSERT INTO budgets (scope, key) VALUES (?, ?) ON CONFLICT DO NOTHING", place)
                usd = (caps.usd, amount.usd, caps.usd)
                tokens = (caps.tokens, amount.tokens, caps.tokens)
                seconds = (caps.seconds, amount.seconds, caps.seconds)
                params = (amount.usd, amount.tokens, amount.seconds, *place, *usd, *tokens, *seconds)
                if not connection.run(_RESERVE, params):
                    raise _refusal(account, self._read(connection, account), amount)

        await self._database.write(unit)

    async def settle(self, accounts: Sequence[Account], reserved: Amount, actual: Amount) -> None:
        """Turn a reservation into what a call really cost."""

        def unit(connection: Connection) -> None:
            for account in accounts:
                amounts = (actual.usd, actual.tokens, reserved.usd, reserved.tokens)
                connection.run(_SETTLE, (*amounts, account.scope.value, account.key))

        await self._database.write(unit)

    async def spent(self, account: Account) -> Amount:
        """What an account has spent, reservations included."""
        return await self._database.read(lambda connection: self._read(connection, account))

    def _read(self, connection: Connection, account: Account) -> Amount:
        rows = connection.run(
            "SELECT usd + reserved_usd, tokens + reserved_tokens, seconds FROM budgets WHERE scope = ? AND key = ?",
            (account.scope.value, account.key),
        )
        return Amount(usd=rows[0][0], tokens=int(rows[0][1]), seconds=rows[0][2]) if rows else Amount()


def _refusal(account: Account, spent: Amount, wanted: Amount) -> BudgetSpent:
    """Which cap, how much of it is gone, and which setting raises it."""
    caps, scope = account.caps, account.scope.value
    if caps.usd and spent.usd + wanted.usd > caps.usd:
        text = f"the {scope} has spent {spent.usd:.4f} of {caps.usd:g} USD; the next call could cost {wanted.usd:.4f}"
        return BudgetSpent(text, remedy=f"raise budgets.{scope}_usd")
    if caps.tokens and spent.tokens + wanted.tokens > caps.tokens:
        text = f"the {scope} has used {spent.tokens} of {caps.tokens} tokens; the next call could use {wanted.tokens}"
        return BudgetSpent(text, remedy=f"raise budgets.{scope}_tokens")
    text = f"the {scope} has used {spent.seconds + wanted.seconds:.0f} of {caps.seconds:g} seconds"
    return BudgetSpent(text, remedy=f"raise budgets.{scope}_seconds")
