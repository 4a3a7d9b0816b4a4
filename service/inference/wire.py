"""The protocol between the HTTP process and its workers: JSON frames over a socket, each after its 4-byte length.

The worker sends a greeting, or the reason why it cannot serve. From then on it is sent batches, even while it works on
others, and reports each sentence as soon as it is done: every sentence has exactly one outcome, even one that it is
told to drop. The end of the stream means that the other side is gone.
"""

import struct
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

import orjson
from pydantic import TypeAdapter

from models.engine.requests import CacheUse, Options, Translation, TranslationRequest

Priority = Literal["interactive", "bulk"]
"""Whether somebody waits for this very sentence (interactive), or for the whole document that it is part of (bulk)."""
PRIORITIES: Final[tuple[Priority, ...]] = get_args(Priority)

HEADER = struct.Struct(">I")
"""The length of the frame that follows, in bytes."""


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
    """A sentence to translate, under a number that is unique within its worker."""

    number: int
    request: TranslationRequest


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences to translate in addition to all others; `traceparent` is the parent of the worker's span, if any."""

    options: Options
    jobs: tuple[Job, ...]
    priority: Priority = "interactive"
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Drop:
    """The order to drop a sentence that nobody waits for any longer."""

    number: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What has become of a sentence; the result is None if it was dropped."""

    number: int
    result: Translation | Failure | None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The sentences that a worker has finished, and what it has spent since its last such report."""

    outcomes: tuple[Outcome, ...]
    seconds: float
    """Time spent in the model."""
    cache_use: CacheUse = field(default_factory=CacheUse)


Order = Batch | Drop

GREETING = TypeAdapter(Greeting)
ORDER: TypeAdapter[Order] = TypeAdapter(Order)
OUTCOMES = TypeAdapter(Outcomes)


def encode(message: Greeting | Order | Outcomes) -> bytes:
    """Return a message as a frame, header included."""
    body = orjson.dumps(message)
    return HEADER.pack(len(body)) + body
