"""What the users of a run are told: whom they ask, with which documents, when, and what the answers must be."""

from enum import StrEnum
from pathlib import Path
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from loadtests.errors import LoadTestError


class Kind(StrEnum):
    """How a user wants a document translated."""

    DOCUMENT = "document"
    """Whole."""
    EVENTS = "events"
    """By server-sent events, sentence by sentence as they become ready."""
    LIVE = "live"
    """By WebSocket, while it is being spoken."""


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Open(_Told):
    """Users come at random moments, however slow the answers are."""

    shape: Literal["open"] = "open"
    rate: float
    """Sentences a second that they bring, all kinds together, on average."""
    seconds: float


class Closed(_Told):
    """Always so many users of each kind: one leaves, the next one comes."""

    shape: Literal["closed"] = "closed"
    clients: int
    seconds: float


class Once(_Told):
    """Every document is brought once, all at the same time."""

    shape: Literal["once"] = "once"


Expected = tuple[tuple[str, int], ...]
"""Of a document: translation and size of the context, by position."""


class Scenario(_Told):
    """A run of the users."""

    urls: tuple[str, ...]
    pair: dict[str, str]
    """The members of a request that name its languages."""
    documents: tuple[tuple[str, ...], ...]
    expected: tuple[Expected, ...]
    """What a quiet run has answered."""
    load: Open | Closed | Once = Field(discriminator="shape")
    shares: dict[Kind, float]
    """Of all sentences, the part that each kind of user brings."""
    pace_seconds: float = 2.0
    """Between two sentences of somebody who speaks, on average; they do not wait for answers."""
    patience_seconds: float = 0.0
    """How long after it was due a sentence or document is worth repeating."""
    mischief: float = 0.0
    """How often a live user sends twice, too early, half, or tears his connection."""
    seed: int = 1
    outcomes: Path
    """The file to which every outcome is appended."""

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a scenario whose outcomes can be written.

        Raises:
            LoadTestError: it cannot be read, is none, or its outcomes cannot be written.
        """
        try:
            scenario = cls.model_validate_json(file.read_bytes())
            scenario.outcomes.touch()
        except OSError as error:
            raise LoadTestError(str(error)) from None
        except ValidationError as error:
            first = error.errors()[0]
            where = "".join(f"{part}: " for part in first["loc"])
            raise LoadTestError(f"{file} is no scenario: {where}{first['msg']}") from None
        return scenario
