"""How a run with faults must go, by a plain reading of the rules; the agent is not asked.

What passes is tried `ATTEMPTS` times on each route. What a key or a provider cannot help ends the run at once; what the
other one may help goes to the fallback. A call that is not whole is told the model and never run.
"""

from collections import Counter
from collections.abc import Sequence

import msgspec

from hermes_agent.types.errors import ModelFailure
from hermes_agent.types.trace import RunStatus
from tests.endpoint import Calls, Fail, Fault, Reply, Text
from tests.models.faulty import BOTH, FAILURES, RUNNABLE
from tests.models.faulty import TEXTS as USUAL_TEXTS
from tests.models.wires.rig import ATTEMPTS, STEPS, Told, Wire

HUGE = 60_000
"""A long answer, yet one that the smallest window holds, so that nothing has to be made shorter afterwards."""
TEXTS = {**USUAL_TEXTS, Fault.HUGE_LINE: "x" * HUGE}
HOPELESS = (ModelFailure.CONTEXT_TOO_LONG, ModelFailure.REFUSED)
ELSEWHERE = (ModelFailure.AUTH, ModelFailure.QUOTA, ModelFailure.BAD_REQUEST)
RESTING = (ModelFailure.AUTH, ModelFailure.QUOTA, ModelFailure.RATE_LIMIT)
BREAKER = 3


class Ending(msgspec.Struct):
    """How a run goes: what it answers, which calls ran, and what came of each time a model was asked."""

    status: RunStatus = RunStatus.OPEN
    answer: str = ""
    ran: list[str] = []
    told: list[Told] = []


def failure_of(reply: Reply, wire: Wire, *, wrapping_up: bool) -> ModelFailure | None:
    """What a reply is to the router of a format; None for an answer."""
    calls = isinstance(reply, Calls) or (isinstance(reply, Fail) and reply.fault not in {*FAILURES, *TEXTS})
    if isinstance(reply, Fail):
        if reply.fault in FAILURES:
            return FAILURES[reply.fault]
        if wire is Wire.GEMINI and reply.fault is Fault.HALF_CALL:
            return ModelFailure.MALFORMED
    has_text = isinstance(reply, Calls) and bool(reply.text)
    if wire is Wire.BEDROCK and wrapping_up and calls and not has_text:
        return ModelFailure.MALFORMED
    return None


class Prediction:
    """Reads a script as the endpoint serves it: one reply for each request, whichever route asks."""

    def __init__(self, routes: Sequence[Wire], script: Sequence[Reply]) -> None:
        self._awake = list(routes)
        self._script = list(script)
        self._spent: Counter[Wire] = Counter()
        self.ending = Ending()

    def run(self) -> Ending:
        steps = 0
        while self.ending.status is RunStatus.OPEN:
            reply = self._ask(wrapping_up=steps == STEPS)
            if reply is None:
                self.ending.status = RunStatus.FAILED
            elif steps == STEPS:
                self.ending.status, self.ending.answer = RunStatus.FAILED, _text_of(reply)
            elif isinstance(reply, Text) or (isinstance(reply, Fail) and reply.fault in TEXTS):
                self.ending.status, self.ending.answer = RunStatus.DONE, _text_of(reply)
            else:
                steps += 1
                self.ending.ran += _runnable(reply)
        return self.ending

    def _ask(self, *, wrapping_up: bool) -> Reply | None:
        """One step: the reply of the first route that answers, or None when the run is given up."""
        routes = list(self._awake)
        for place, wire in enumerate(routes):
            following = routes[place + 1 : place + 2]
            for attempt in range(1, ATTEMPTS + 1):
                reply = self._script.pop(0)
                failure = failure_of(reply, wire, wrapping_up=wrapping_up)
                if failure is None:
                    self._spent[wire] = 0
                    self.ending.told.append(Told(wire, None, "answered"))
                    return reply
                if attempt < ATTEMPTS and failure not in (*HOPELESS, *ELSEWHERE):
                    self.ending.told.append(Told(wire, failure, "retry"))
                    continue
                onward = following if failure not in HOPELESS else []
                decision = f"next: {onward[0].value}" if onward else "give up"
                self.ending.told.append(Told(wire, failure, decision))
                self._rest(wire, failure)
                if not onward:
                    return None
                break
        raise AssertionError("the last route answers or gives up")

    def _rest(self, wire: Wire, failure: ModelFailure) -> None:
        """A route that rests is not asked again in this run, which is far shorter than any rest."""
        self._spent[wire] += 1
        if failure in RESTING or self._spent[wire] >= BREAKER:
            self._awake.remove(wire)


def _text_of(reply: Reply) -> str:
    if isinstance(reply, Fail):
        return TEXTS.get(reply.fault, "")
    return reply.text


def _runnable(reply: Reply) -> list[str]:
    if isinstance(reply, Calls):
        return [str(made.arguments["text"]) for made in reply.calls if isinstance(made.arguments, dict)]
    return list(BOTH) if isinstance(reply, Fail) and reply.fault in RUNNABLE else []
