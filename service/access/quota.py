"""What a key may use, what a request asks for, and how that ended: plain data."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol

WINDOW_SECONDS = 60
"""Rates are sentences in any moving window of this length."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What a request wants of its key: sentences of the minute, a place among those under way, or both."""

    sentences: int = 0
    per_minute: int = 0
    """Sentences that may be spent in a minute; 0 is no limit."""
    token: str = ""
    """Names the place that is wanted."""
    places: int = 0
    """Places that there are; 0 wants none."""
    asked: int = 0
    """Sentences of the request, of which no more count than a minute has."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a demand was met, as a whole or not at all; otherwise by which limit it was refused."""

    outcome: Literal["admitted", "rate", "places"]
    remaining: int
    """Sentences of the minute that are left."""
    seconds: float
    """Until more of them are left; where the rate refused, until as many are as were wanted."""


class KeyedLimits(Protocol):
    """Counts what each key uses; never one key's use on another."""

    async def admit(self, key_id: str, demand: Demand) -> Verdict:
        """Meet a demand as a whole or not at all."""

    async def renew(self, key_id: str, token: str) -> None:
        """Go on holding a place."""

    async def release(self, key_id: str, token: str) -> None:
        """Give a place back."""


@dataclass(frozen=True, slots=True)
class Quota:
    """How a key's rate stands after a request; `seconds` from now more will be left."""

    per_minute: int
    remaining: int
    seconds: int

    @classmethod
    def after(cls, demand: Demand, verdict: Verdict) -> "Quota":
        """How the rate stands after a demand; seconds are rounded up, so that waiting for them is enough."""
        return cls(demand.per_minute, verdict.remaining, math.ceil(verdict.seconds))

    def headers(self) -> dict[str, str]:
        """The fields of draft-ietf-httpapi-ratelimit-headers; their unit is a sentence."""
        return {
            "RateLimit": f'"default";r={self.remaining};t={self.seconds}',
            "RateLimit-Policy": f'"default";q={self.per_minute};w={WINDOW_SECONDS}',
        }
