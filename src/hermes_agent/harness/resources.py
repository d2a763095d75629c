"""What lives as long as a session is open in this process, such as a browser."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from ..types.tools import Closing, Made


class SessionResources:
    """Made on first use, one of each key; closed together. Closing one never keeps another from being closed."""

    def __init__(self) -> None:
        self._made: dict[str, Closing] = {}
        self._making = asyncio.Lock()

    async def get(self, key: str, make: Callable[[], Awaitable[Made]]) -> Made:
        """The resource under this key."""
        async with self._making:
            found: Any = self._made.get(key)
            if found is None:
                found = self._made[key] = await make()
        made: Made = found
        return made

    async def drop(self, key: str) -> bool:
        """Close and forget one; False when there was none."""
        found = self._made.pop(key, None)
        if found is not None:
            await found.close()
        return found is not None

    async def close(self) -> None:
        """Close everything."""
        for key in list(self._made):
            with contextlib.suppress(Exception):
                await self.drop(key)
