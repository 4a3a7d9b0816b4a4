"""What a key may use, what a request asks for, and how that ended: plain data."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

WINDOW_SECONDS = 60
"""Rates are sentences in any moving window of this length."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request wants of its key: sentences of the minute, a place among the requests under way, or both."""

    sentences: int = 0
    per_minute: int = 0
    """Sentences that may be spent in a minute; 0 means no limit."""
    token: str = ""
    """Names the place that is wanted."""
    places: int = 0
    """Places that the key has in all; 0 if no place is wanted."""
    asked: int = 0
    """Sentences of the request, of which `sentences` count: no more than a minute allows."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a demand was met as a whole, or else which limit refused it."""

    outcome: Literal["admitted", "rate", "places"]
    remaining: int
    """Sentences left of the minute."""
    seconds: float
    """Time until more of them are left or, if the rate refused the demand, until it could be met."""


class KeyedLimits(Protocol):
    """Counts what each key uses, separately for each."""

    async def admit(self, key_id: str, demand: Demand) -> Verdict:
        """Meet a demand as a whole or not at all."""

    async def renew(self, key_id: str, token: str) -> None:
        """Go on holding a place."""

    async def release(self, key_id: str, token: str) -> None:
        """Give a place back."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How a key's rate stands after a request; in `seconds`, more will be left."""

    per_minute: int
    remaining: int
    seconds: int

    @classmethod
    def after(cls, demand: Demand, verdict: Verdict) -> "Quota":
        """Return how the rate stands after a demand; seconds are rounded up, so that waiting for them is enough."""
        return cls(demand.per_minute, verdict.remaining, math.ceil(verdict.seconds))

    def headers(self) -> dict[str, str]:
        """Return the header fields of draft-ietf-httpapi-ratelimit-headers; their unit is a sentence."""
        return {
            "RateLimit": f'"default";r={self.remaining};t={self.seconds}',
            "RateLimit-Policy": f'"default";q={self.per_minute};w={WINDOW_SECONDS}',
        }
