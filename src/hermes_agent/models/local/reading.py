"""What a local model wrote, as text for the user or a call to run."""

from __future__ import annotations

import json
import re

from ...types.errors import ModelError, ModelFailure
from ...types.text import clean, one_line
from ...types.tools import ToolCall
from ..arguments import call_of
from .forms import FINAL_ANSWER

_TEXT_BEGINS = re.compile(
    r'\s*\{\s*"name"\s*:\s*"' + FINAL_ANSWER + r'"\s*,\s*"arguments"\s*:\s*\{\s*"text"\s*:\s*"', re.ASCII
)
_NAME = re.compile(r'\s*\{\s*"name"\s*:\s*"([^"\\]+)"', re.ASCII)
_WHOLE = re.compile(
    r'(?:[^"\\]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u(?![dD][89abAB])[0-9a-fA-F]{4}|\\[^u])+', re.ASCII
)


class FinalText:
    """The text of a final answer while its JSON is still being written."""

    def __init__(self) -> None:
        self._raw = ""
        self._read = 0
        self.text = ""

    def add(self, piece: str) -> str:
        """The text that `piece` completes; never half an escape, and nothing while the answer is a call."""
        self._raw += piece
        if not self._read:
            begins = _TEXT_BEGINS.match(self._raw)
            if begins is None:
                return ""
            self._read = begins.end()
        whole = _WHOLE.match(self._raw, self._read)
        if whole is None:
            return ""
        self._read = whole.end()
        new = clean(str(json.loads(f'"{whole.group()}"', strict=False)))
        self.text += new
        return new


def read_answer(raw: str, call_id: str) -> ToolCall | str:
    """The call, or the text of the final answer. What is not whole raises MALFORMED, or is a call that never runs."""
    try:
        value = json.loads(raw, strict=False)
    except ValueError as error:
        named = _NAME.match(raw)
        if named is None or named.group(1) == FINAL_ANSWER:
            said = one_line(clean(raw), 100)
            raise ModelError(ModelFailure.MALFORMED, f"the local model wrote no call: {said}") from error
        return ToolCall(id=call_id, name=named.group(1), problem="the answer was cut off before the call was complete")
    name, arguments = str(value["name"]), value["arguments"]
    if name != FINAL_ANSWER:
        return call_of(call_id, name, json.dumps(arguments))
    if isinstance(arguments, dict) and arguments.keys() == {"text"} and isinstance(arguments["text"], str):
        return clean(arguments["text"])
    return clean(json.dumps(arguments, ensure_ascii=False))
