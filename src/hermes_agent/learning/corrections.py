"""Whether a message corrects the answer before it. English and German, and rather silent than wrong: a correction
counts as the user's own judgement, so that a false one would teach a lie."""

from __future__ import annotations

import re

from ..store.judging import Judgement, Learn, judge_and_learn, run_before
from ..store.open import Store
from ..types.trace import Judge, RunStatus

REASON = "corrected by the next message"
_SURE, _LIKELY = 0.95, 0.85
_LOOKED_AT = 400
_FEWEST_WORDS = 4
_REPEATED = 0.7
_NEW_WORDS = 1


def _any(*patterns: str) -> re.Pattern[str]:
    """One of several beginnings. `END` stands for the end of a clause, `NO` for a no in either language."""
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(joined.replace("END", r"(?=\s*(?:[.,;!…—-]|$))").replace("NO", r"(?:no|nope|nein|nee|nö)\b"))


def _listed(*lines: str) -> frozenset[str]:
    return frozenset(word for line in lines for word in line.split())


_FILLER = _any(
    r"(?:(?:hm+|uh+|um+|hey|sorry|well|ok(?:ay)?|actually|but|and|wait|oops|please|unfortunately)\b[\s,.!…:;-]*)+",
    r"(?:(?:äh+|also|aber|und|doch|moment|halt|bitte|leider|entschuldigung|sorry)\b[\s,.!…:;-]*)+",
)
_POLITE = _any(
    r"NO[\s,.!]*(?:problem|worries|thank|thanks|need|idea|rush|hurry|nothing|more|further|go ahead|all good)\b",
    r"NO[\s,.!]*that(?:'s| is| was| will be) (?:all|fine|it|ok|okay|good|great|perfect|enough|exactly|right|correct)\b",
    r"NO[\s,.!]*(?:i'm|we're|it's|i am|it is) (?:good|fine|done|ok|okay|all set)\b",
    r"NO[\s,.!]*not (?:yet|now|today|at the moment|really|necessary|needed|at all|that i know)\b",
    r"NO[\s,.!]*(?:don't|do not) (?:worry|bother|mind)\b",
    r"NO[\s,.!]*(?:it )?should be (?:fine|ok|okay|good|all|enough)\b",
    r"NO[\s,.!]*(?:danke|alles|passt|mehr nicht|nichts|brauchst|musst|noch nicht|jetzt nicht|nicht nötig)\b",
    r"NO[\s,.!]*das (?:ist|war|wäre|reicht|passt|war's)\s*(?:alles|gut|ok|okay|es|so|in ordnung|END)",
)
_REFUSAL = _any(
    r"NO\s*[,.!:;—-]+\s*(?:use|nimm|instead|stop|sondern)\b",
    r"NO[\s,.!:;—-]+(?:not|nicht) (?:the|that|this|so|like|in|on|with|for|das|die|der|den|dieser?|dieses)\b",
    r"NO[\s,.!:;—-]+it (?:should|must|has to|needs to|is supposed to)\b",
    r"NO[\s,.!:;—-]+(?:should be|don't|do not|the other|es (?:soll|sollte|muss)|(?:die|das) andere|den anderen)\b",
)
_WRONG = _any(
    r"(?:that|this|it)(?:'s| is| was|s)? (?:still |just |completely |all |simply |also )*(?:wrong|incorrect|broken)\b"
    r"(?! with| to )",
    r"(?:that|this|it)(?:'s| is| was) (?:still |just |simply |also )*not (?:right|correct|true|it|working)\b",
    r"(?:that|this|it)(?:'s| is| was) (?:still |just |simply |also )*not (?:what|how|good enough|quite right)\b",
    r"(?:that|this|it) (?:isn't|wasn't) (?:right|correct|true|it|working|what|how)\b",
    r"(?:that|this|it)(?:'s| is| was| isn't| wasn't) (?:not )?the wrong\b",
    r"the (?:answer|result|output|total|sum|number|code|date|path|order) (?:is|was) (?:still |just )*"
    r"(?:wrong|incorrect|not (?:right|correct))\b",
    r"(?:(?:totally|completely) )?(?:wrong|incorrect|falsch|quatsch)END",
    r"wrong (?:file|folder|directory|branch|one|function|line|format|number|result|answer|output|way|version)END",
    r"not what i (?:asked|wanted|meant|said)\b",
    r"not like (?:that|this)END",
    r"not that (?:one|file|way)\b",
    r"das (?:ist|war) (?:immer noch |leider |so |doch |ganz )*(?:falsch|nicht (?:richtig|korrekt|das|was|wahr))\b",
    r"(?:das )?stimmt (?:so |leider |immer noch |doch )*nicht\b",
    r"nicht (?:so|das|diese|dieser)END",
)
_STILL = r"(?:(?:it|this|that|they|the [\w-]+(?: [\w-]+)?|tests?|i|we)(?:'s|'m|'re| is| are| am)? )?still "
_FAILS = _any(
    _STILL + r"(?:fail(?:s|ing|ed)?|broken|wrong|crash(?:es|ing)?|missing|not|doesn't|don't|does not|do not)\b",
    _STILL + r"(?:the same (?:error|problem|issue|result)|(?:get|getting|see|seeing) (?:the same|that|this|an?) )",
    r"(?:that|it) (?:didn't|did not|doesn't|does not) (?:work|help|compile|run|fix)\b(?! (?:that way|like that))",
    r"this (?:didn't|did not|doesn't|does not) (?:work|help|compile)(?: (?:either|at all|yet))?END",
    r"(?:doesn't|does not|didn't|did not|not) work(?:ing)?(?: (?:either|at all))?END",
    r"same (?:error|problem|result)END",
    r"(?:es |das |der test |die tests )?(?:geht|gehen|klappt|funktionier(?:t|en)|läuft|laufen)"
    r" (?:(?:immer|noch|so|leider|aber|auch|gar) )+nicht\b",
    r"(?:es |das )?(?:geht|klappt|funktioniert) nichtEND",
    r"(?:(?:es|das) ist )?(?:immer noch|noch immer) (?:nicht|falsch|kaputt|derselbe|dasselbe|das gleiche)\b",
)
_BLAME = _any(
    r"you(?:'ve| have)? (?:forgot(?:ten)?|missed|misunderstood|misread|broke|ignored|left out|overlooked)\b",
    r"you(?:'ve| have)? (?:deleted|changed|edited|used|took|picked|wrote|moved|removed|opened) the wrong\b",
    r"you (?:didn't|did not|haven't|failed to) (?!have|need|mention|happen|by|mind)\w+",
    r"du hast (?:\w+ ){0,6}(?:vergessen|übersehen|ignoriert|missverstanden|kaputtgemacht|ausgelassen)\b",
    r"du hast (?:\w+ ){0,3}(?:die falsche|den falschen|das falsche)\b",
)
_CHANGES = r"(?: (?:change|changes|edit|edits|last change|again|please|did))*"
_TAKE_BACK = _any(
    rf"(?:undo|revert) (?:that|this|it|your|what you)\b{_CHANGES}(?: and\b|END)",
    r"(?:put|change|take|roll) (?:it|that) backEND",
    r"(?:don't|do not) do that\b",
    r"stop doing that\b",
    r"mach (?:das|es) (?:bitte |wieder |sofort )*rückgängig\b",
    r"try (?:that |it )?again(?: please)?\s*[.!]*$",
    r"redo (?:it|that)\s*[.!]*$",
    r"versuche?(?:'s| es| das)? (?:bitte )?(?:noch ?mal|noch einmal|erneut)\s*[.!]*$",
)
_MEANT = _any(
    r"i meant (?!to\b|it\b|no\b|well\b)",
    r"i (?:said|asked|wanted)\b(?=.*\b(?:not|instead)\b)",
    r"i (?:already )?told you\b",
    r"ich meinte(?! es| das ernst)\b",
    r"ich (?:wollte|sagte|habe|hatte)\b(?=.*\b(?:sondern|statt)\b)",
)
_AGAIN = _listed("again still not dont doesnt isnt didnt nochmal erneut nicht immer wieder")
_REPEATABLE = _listed(
    "run rerun check list show test build fetch count read print deploy start restart search play remind ping sync",
    "update generate roll tell give starte prüfe zeige zeig liste teste lies",
)
_SMALL = _listed(
    "a an the and or but to of in on at for from with by is are was be it this that i you me my your please can could",
    "would do does as so all into der die das den dem ein eine einen und oder aber zu von im in am an auf für mit ist",
    "sind war es ich du mir mein dein bitte kannst alle",
)


def is_correction(previous_request: str, previous_answer: str, message: str) -> float | None:
    """How sure it is that `message` corrects `previous_answer`; None when it may as well be anything else.

    A "no" to an answer that ended in a question answers the question. A message that asks something does not correct,
    and neither does one that quotes."""
    text = _plain(message)
    head = _FILLER.sub("", text, count=1) if _FILLER.match(text) else text
    if not head or head[0] in "\"'`>«„“/{[<" or "?" in _first_sentence(head):
        return None
    if _POLITE.match(head):
        return None
    asked = _plain(previous_answer[-_LOOKED_AT:]).rstrip(" *_)`").endswith("?")
    if not asked and _REFUSAL.match(head):
        return _SURE
    said = re.sub(r"^(?:no|nope|nein|nee|nö)\b[\s,.!:;—-]+", "", head)
    if asked and said != head:
        return None
    if any(rule.match(said) for rule in (_WRONG, _FAILS, _BLAME, _TAKE_BACK, _MEANT)):
        return _SURE
    return _LIKELY if _repeats(previous_request, message) else None


async def judge_correction(store: Store, learn: Learn, run_id: str, message: str) -> Judgement | None:
    """Where `message`, which began this run, corrects the run before it in the session, that run has failed in the
    user's eyes. What a verifier or the user said about it stands; an interrupted run was not answered at all."""
    before = await run_before(store, run_id)
    if before is None or before.outcome.judged_by is not Judge.INFERRED:
        return None
    if before.outcome.status not in (RunStatus.DONE, RunStatus.FAILED):
        return None
    if is_correction(before.request, before.answer, message) is None:
        return None
    return await judge_and_learn(
        store, learn, before.run_id, success=False, by=Judge.USER, reason=REASON, only_inferred=True
    )


def _plain(text: str) -> str:
    """The beginning of a text in lower case, with plain apostrophes and single spaces."""
    return " ".join(text[:_LOOKED_AT].replace("’", "'").replace("‘", "'").lower().split())


def _first_sentence(text: str) -> str:
    """Up to the first end of a sentence, with the mark that ends it."""
    found = re.search(r"[.!?](?=\s|$)", text)
    return text[: found.end()] if found else text


def _repeats(request: str, message: str) -> bool:
    """Whether a message says most of a request once more, with a word such as `again`, and next to nothing new."""
    asked, said = _words(request), _words(message)
    marks = (said & _AGAIN) - asked
    asked -= _AGAIN
    if len(asked) < _FEWEST_WORDS or not marks:
        return False
    first = next(iter(re.findall(r"\w+", _plain(message))), "")
    if marks <= {"again", "nochmal", "erneut", "wieder"} and first in _REPEATABLE:
        return False
    return len(asked & said) >= _REPEATED * len(asked) and len(said - asked - _AGAIN) <= _NEW_WORDS


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", _plain(text).replace("'", ""))) - _SMALL
