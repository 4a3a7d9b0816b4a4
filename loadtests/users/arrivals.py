"""When users come, and what each brings: drawn beforehand, so that no answer has a say in it."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate

from loadtests.scenario import Kind, Open, Scenario


@dataclass(frozen=True, slots=True)
class Arrival:
    """A user who brings a document."""

    number: int
    """Of the document."""
    moments: tuple[float, ...]
    """When each sentence is due, in seconds from the start of the run; those of a whole document are due together."""


def arrivals(kind: Kind, load: Open, scenario: Scenario, rng: random.Random) -> Iterator[Arrival]:
    """The users of one kind, in the order in which they come.

    They come as a Poisson process. Where somebody speaks for a while, some are speaking already when the run begins: as
    many, with as much left to say, as if it had gone on before. Long documents are met more often then, as they take
    longer, and pauses that have begun are still as long on average. When the run ends, nobody says any more.
    """
    documents = scenario.documents
    mean = sum(map(len, documents)) / len(documents)
    rate = load.rate * scenario.shares[kind] / mean
    if not rate:
        return
    pace = scenario.pace_seconds if kind is Kind.LIVE else 0.0
    pauses = [len(document) - 1 for document in documents]
    speaking = round(rate * pace * (mean - 1))
    for number in rng.choices(range(len(documents)), pauses, k=speaking) if speaking else ():
        left = rng.randint(1, pauses[number])
        yield from _until(load.seconds, Arrival(number, _moments(rng.expovariate(1 / pace), left, pace, rng)))
    due = rng.expovariate(rate)
    while due < load.seconds:
        number = rng.randrange(len(documents))
        yield from _until(load.seconds, Arrival(number, _moments(due, len(documents[number]), pace, rng)))
        due += rng.expovariate(rate)


def _moments(first: float, count: int, pace: float, rng: random.Random) -> tuple[float, ...]:
    pauses = (rng.expovariate(1 / pace) if pace else 0.0 for _ in range(count - 1))
    return tuple(accumulate(pauses, initial=first))


def _until(end: float, arrival: Arrival) -> Iterator[Arrival]:
    moments = tuple(moment for moment in arrival.moments if moment < end)
    if moments:
        yield Arrival(arrival.number, moments)
