"""What the HTTP process and its workers tell each other: frames of JSON over a socket, a 4-byte length before each.

One connection, one batch at a time: the worker greets (or reports why it cannot), then answers batch after batch. The
end of the stream means that the other side is gone.
"""

import struct
from dataclasses import dataclass, field

import orjson
from pydantic import TypeAdapter

from models.bundle.requests import CacheUse, Options, Translation, TranslationRequest

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
class Batch:
    """Sentences to translate together; `traceparent` is the span that the worker's is under, where traces are on."""

    options: Options
    requests: tuple[TranslationRequest, ...]
    traceparent: str | None = None


@dataclass(frozen=True, slots=True)
class Outcomes:
    """One for each request of a batch, in its order; `seconds` is the time in the model."""

    results: tuple[Translation | Failure, ...]
    seconds: float
    cache_use: CacheUse = field(default_factory=CacheUse)
    """Of the batch."""


GREETING = TypeAdapter(Greeting)
BATCH = TypeAdapter(Batch)
OUTCOMES = TypeAdapter(Outcomes)


def encode(message: Greeting | Batch | Outcomes) -> bytes:
    """A message as a frame, header included."""
    body = orjson.dumps(message)
    return HEADER.pack(len(body)) + body
