"""When users come, and what each brings: drawn in advance, so that answers cannot influence it."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from loadtests.scenario import Kind, Open, Scenario


@dataclass(frozen=True, slots=True)
class Arrival:
    """A user who brings a document."""

    number: int
    """The number of the document."""
    moments: tuple[float, ...]
    """When each sentence is due, in seconds from the start of the run; those of a whole document are due together."""


def arrivals(kind: Kind, load: Open, scenario: Scenario, rng: random.Random) -> list[Arrival]:
    """Return the users of one kind, in the order in which they come.

    They come as a Poisson process. If users speak for a while, some are already speaking when the run begins: as many,
    and with as much left to say, as if it had been going on before. Among these, long documents are more frequent, as
    they take longer; and the rest of a pause already begun is, on average, as long as a whole one. When the run ends,
    nobody says any more.

    If by chance no user of a kind with a share would come, one comes in the middle of the run: otherwise a short run
    could not tell whether this kind is served as it must be.
    """
    pace = scenario.pace_seconds if kind is Kind.LIVE else 0.0
    found = [*_by_chance(load, scenario, scenario.shares[kind], pace, rng)]
    if scenario.shares[kind] and not found:
        found += _until(load.seconds, _brought(scenario.documents, load.seconds / 2, pace, rng))
    return found


def _by_chance(load: Open, scenario: Scenario, share: float, pace: float, rng: random.Random) -> Iterator[Arrival]:
    documents = scenario.documents
    mean = sum(map(len, documents)) / len(documents)
    rate = load.rate * share / mean
    if not rate:
        return
    pauses = [len(document) - 1 for document in documents]
    speaking = round(rate * pace * (mean - 1))
    for number in rng.choices(range(len(documents)), pauses, k=speaking) if speaking else ():
        left = rng.randint(1, pauses[number])
        yield from _until(load.seconds, Arrival(number, _moments(rng.expovariate(1 / pace), left, pace, rng)))
    due = rng.expovariate(rate)
    while due < load.seconds:
        yield from _until(load.seconds, _brought(documents, due, pace, rng))
        due += rng.expovariate(rate)


def _brought(documents: Sequence[Sequence[str]], due: float, pace: float, rng: random.Random) -> Arrival:
    """Bring a random document, from its first sentence."""
    number = rng.randrange(len(documents))
    return Arrival(number, _moments(due, len(documents[number]), pace, rng))


def _moments(first: float, count: int, pace: float, rng: random.Random) -> tuple[float, ...]:
    pauses = (rng.expovariate(1 / pace) if pace else 0.0 for _ in range(count - 1))
    return tuple(accumulate(pauses, initial=first))


def _until(end: float, arrival: Arrival) -> Iterator[Arrival]:
    moments = tuple(moment for moment in arrival.moments if moment < end)
    if moments:
        yield Arrival(arrival.number, moments)
