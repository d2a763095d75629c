"""How the worker says no."""

from __future__ import annotations


class Refused(Exception):
    """Something that will not be done. `error` is a short class, `text` says what to do instead."""

    def __init__(self, error: str, text: str) -> None:
        super().__init__(text)
        self.error = error
        self.text = text
