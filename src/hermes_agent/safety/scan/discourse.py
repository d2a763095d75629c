"""How a text talks about what was found: does it give the order, or show it to a reader who should know it?"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from . import lexicon
from .normalise import Word

SHORT = 700
_NEAR = 1500
_FAR = 200
_FENCE = re.compile(r"(?m)^[ \t>]{0,8}(?:```|~~~)")
_STANDING = re.compile(
    r"\b(?:always (?:first )?(?:run|execut\w{1,3}|call|fetch)|remember to|first execute|from now on|"
    r"every (?:task|session)|"
    r"(?:before|at the start of|in|on) (?:every|each) (?:task|session|request|message|run|response))\b"
)
_APOSTROPHE = re.compile(r"(?:^|[\s(\[:=,])'[^'\n]{0,160}$")
_PAIRS = ("“”", "«»", "‹›", "‘’", "„“")
_WARNING = re.compile(
    r"\b(?:never|do not|don't|avoid|dangerous|danger|malicious|attack\w{0,4}|block\w{0,3}|"
    r"den(?:y|ied|ies)|reject\w{0,3}|"
    r"detect\w{0,4}|prevent\w{0,3}|such as|e\.g\.|example|like|bad|wrong|vulnerab\w{0,8}|exploit\w{0,3}|refus\w{0,3}|"
    r"forbid\w{0,5}|disallow\w{0,3}|unsafe|anti-?pattern|warn\w{0,4}|suspicious|red flags?|payloads?|inject\w{0,5}|"
    r"attempt\w{0,4}|tries|tells|asks|contains?|looks? for|pattern|phrases?|says?|includ\w{0,4}|hijack\w{0,4}|"
    r"jailbreak\w{0,4}|risk\w{0,3})\b"
)


class Discourse:
    """A folded text with what its surroundings say about each place in it."""

    def __init__(self, folded: str, found: Sequence[Word]) -> None:
        self._text = folded
        self._fences = [match.start() for match in _FENCE.finditer(folded)]
        self._security = [(word.start, word.end) for word in found if word.concepts & lexicon.SECURITY]
        self.is_short = len(folded.strip()) <= SHORT

    def standing(self, place: int) -> bool:
        """Whether what is found here is ordered for good: always, every time, remember."""
        return bool(_STANDING.search(self._text, max(0, place - 80), place))

    def in_code(self, place: int) -> bool:
        """Whether the place is inside a fenced block."""
        return bisect_right(self._fences, place) % 2 == 1

    def quoted(self, place: int) -> bool:
        """Whether the place is inside quotation marks or code, opened on its line or earlier in its paragraph."""
        line = self._line(place)
        break_ = self._text.rfind("\n\n", max(0, place - 2 * _FAR), place)
        paragraph = self._text[break_:place] if break_ >= 0 else line
        return (
            bool(_APOSTROPHE.search(line))
            or any(before.count(mark) % 2 == 1 for before in (line, paragraph) for mark in '"`')
            or any(line.count(pair[0]) > line.count(pair[1]) for pair in _PAIRS)
        )

    def _line(self, place: int) -> str:
        """What stands before the place on its line."""
        while self._text[place : place + 1].isspace():
            place += 1
        begin = self._text.rfind("\n", max(0, place - _FAR), place)
        return self._text[begin + 1 if begin >= 0 else max(0, place - _FAR) : place + 1]

    def about_security(self, place: int, least: int) -> bool:
        """Whether the text around the place speaks of attacks and defences in several words."""
        low = bisect_right(self._security, (place - _NEAR, 0))
        high = bisect_right(self._security, (place + _NEAR, 0))
        return len({self._text[begin:end] for begin, end in self._security[low:high][:60]}) >= least

    def warned(self, place: int) -> bool:
        """Whether the words just before the place, or the line that introduces it, warn of it or call it an example."""
        before = self._line(place)
        begin = max(0, place - len(before))
        above = self._text[max(0, begin - _FAR) : begin].rstrip()
        introduced = above[above.rfind("\n") + 1 :] if above.endswith(":") else ""
        return bool(_WARNING.search(before[-120:]) or _WARNING.search(introduced))

    def shown(self, place: int) -> bool:
        """Whether what is found here is shown rather than said: quoted, in code or warned of, among such things."""
        if self.is_short:
            return False
        quoted, warned = self.quoted(place) or self.in_code(place), self.warned(place)
        if quoted and warned:
            return True
        return (quoted or warned) and self.about_security(place, 2 if quoted else 3)
