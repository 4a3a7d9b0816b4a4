"""What the users of a run are told: whom to ask, with which documents and when, and what the answers must be."""

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
    """By server-sent events, each sentence as soon as it is ready."""
    LIVE = "live"
    """By WebSocket, while it is being spoken."""


class _Told(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Open(_Told):
    """Users come at random moments, however slow the answers are."""

    shape: Literal["open"] = "open"
    rate: float
    """Sentences a second that users of all kinds bring on average."""
    seconds: float


class Closed(_Told):
    """There are always `clients` users of each kind: when one leaves, the next one comes."""

    shape: Literal["closed"] = "closed"
    clients: int
    seconds: float


class Once(_Told):
    """Every document is brought once, all at the same time."""

    shape: Literal["once"] = "once"


Expected = tuple[tuple[str, int], ...]
"""The translation and context size of each sentence of a document, by position."""


class Scenario(_Told):
    """A run of the users."""

    urls: tuple[str, ...]
    pair: dict[str, str]
    """The members of a request that name its languages."""
    documents: tuple[tuple[str, ...], ...]
    expected: tuple[Expected, ...]
    """What a quiet run answered."""
    load: Open | Closed | Once = Field(discriminator="shape")
    shares: dict[Kind, float]
    """The part of all sentences that each kind of user brings."""
    pace_seconds: float = 2.0
    """Average time between two sentences of somebody who speaks, and who does not wait for answers."""
    patience_seconds: float = 0.0
    """How long after it was due a sentence or document is still retried."""
    mischief: float = 0.0
    """How often a live user sends twice, too early or half, or breaks the connection."""
    seed: int = 1
    outcomes: Path
    """The file to which every outcome is appended."""

    @classmethod
    def read(cls, file: Path) -> Self:
        """Read a scenario whose outcomes can be written.

        Raises:
            LoadTestError: it cannot be read, is not a scenario, or its outcomes cannot be written.
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
