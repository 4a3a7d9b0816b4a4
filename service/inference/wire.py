"""What the HTTP process and its workers tell each other: frames of JSON over a socket, a 4-byte length before each.

The worker greets, or reports why it cannot. From then on it is sent batches, also while it is at others, and answers
each sentence when it is done with it: every sentence has one outcome, also one that it is told to drop. The end of the
stream means that the other side is gone.
"""

import struct
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import orjson
from pydantic import TypeAdapter

from models.engine.requests import CacheUse, Options, Translation, TranslationRequest

Priority = Literal["interactive", "bulk"]
"""Somebody waits for this very sentence, or for the whole document that it is part of."""
PRIORITIES: Final[tuple[Priority, ...]] = get_args(Priority)

HEADER = struct.Struct(">I")
"""Length of the frame that follows, in bytes."""


@dataclass(frozen=True, slots=True)
class Failure:
    """An error by its code and message."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Greeting:
    """A worker's first frame: ready if there is no failure."""

    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """A sentence, by a number that no other has at this worker."""

    number: int
    request: TranslationRequest


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences to translate beside all others; `traceparent` is the span that the worker's is under, if any."""

    options: Options
    jobs: tuple[Job, ...]
    priority: Priority = "interactive"
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """A sentence that nobody waits for any longer."""

    number: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What has become of a sentence; None: it was dropped."""

    number: int
    result: Translation | Failure | None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Sentences that a worker is done with, and what it has spent since it has last said so."""

    outcomes: tuple[Outcome, ...]
    seconds: float
    """In the model."""
    cache_use: CacheUse = field(default_factory=CacheUse)


Order = Batch | Drop

GREETING = TypeAdapter(Greeting)
ORDER: TypeAdapter[Order] = TypeAdapter(Order)
OUTCOMES = TypeAdapter(Outcomes)


def encode(message: Greeting | Order | Outcomes) -> bytes:
    """A message as a frame, header included."""
    body = orjson.dumps(message)
    return HEADER.pack(len(body)) + body
