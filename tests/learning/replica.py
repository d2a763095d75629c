"""One of several processes that learn at once: `python -m tests.learning.replica URL HOME NUMBER OF TRACES`."""

import random
import sys
from pathlib import Path

from hermes_agent.config.settings import LearningSettings
from hermes_agent.learning.learner import Learner
from hermes_agent.store.open import Store, open_store
from hermes_agent.types.trace import RunStatus, Trace
from tests.learning.lesson_maker import failed, record, trace

_FAMILIES = ("ledgers", "reports", "letters")
_RATES = {"steady": 0.6, "broken": 0.1, "other": 0.9}


def learner_of(store: Store) -> Learner:
    """A learner whose clock stands still, so that all replicas write the same."""
    return Learner(store.database, settings=LearningSettings(approve=()), clock=lambda: 5000.0)


def drawn(number: int) -> Trace:
    """Run `number`, the same in every process: tools that work more or less often on one of a few files."""
    rng = random.Random(number)
    path = f"{rng.choice('abc')}.{rng.choice(('csv', 'txt'))}"
    calls = []
    for tool in rng.sample(list(_RATES), 2):
        worked = rng.random() < _RATES[tool]
        calls.append(record(tool, path=path) if worked else failed(tool, "backend", path=path))
    calls += calls[:1] * rng.randrange(2)
    status = rng.choice((RunStatus.DONE, RunStatus.DONE, RunStatus.FAILED, RunStatus.INTERRUPTED))
    return trace(number, *calls, status=status, session=f"session{number // 3}", family=_FAMILIES[number % 3])


def learn_share(learner: Learner, number: int, of: int, traces: int) -> None:
    """Learn one's share, and every tenth run of the next replica too: a run that two have seen counts once."""
    for at in range(traces):
        if at % of == number or (at % 10 == 0 and at % of == (number + 1) % of):
            run = drawn(at)
            learner.learn_now(run, run.family, tainted=False)


def main() -> None:
    url, home, *numbers = sys.argv[1:]
    number, of, traces = map(int, numbers)
    store = open_store(url, Path(home))
    learn_share(learner_of(store), number, of, traces)
    store.close()


if __name__ == "__main__":
    main()
