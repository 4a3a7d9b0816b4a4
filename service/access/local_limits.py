"""Limits of one process, by its own clock, for while Redis is away; the rules are those of `lua/admit.lua`."""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from service.access.quota import WINDOW_SECONDS, Demand, Verdict


class MovingWindow:
    """What has been spent in the last minute; times are seconds of one clock and never go back."""

    def __init__(self) -> None:
        self._entries: deque[tuple[float, int]] = deque()
        self._spent = 0

    def spent(self, now: float) -> int:
        """Return all that still counts."""
        while self._entries and self._entries[0][0] <= now - WINDOW_SECONDS:
            self._spent -= self._entries.popleft()[1]
        return self._spent

    def spend(self, now: float, amount: int) -> None:
        """Count an amount from now on."""
        if amount:
            self._entries.append((now, amount))
            self._spent += amount

    def seconds_until(self, freed: int, now: float) -> float:
        """Return how long until at least `freed` of what counts now no longer counts; 0 if nothing counts."""
        for at, amount in self._entries:
            freed -= amount
            if freed <= 0:
                return at + WINDOW_SECONDS - now
        return 0


@dataclass(slots=True)
class _Use:
    window: MovingWindow = field(default_factory=MovingWindow)
    places: set[str] = field(default_factory=set)


class LocalLimits:
    """Counts in this process alone; keeps a little memory for each key that has been used here."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._uses: defaultdict[str, _Use] = defaultdict(_Use)

    async def admit(self, key_id: str, demand: Demand) -> Verdict:
        """Meet a demand as a whole or not at all."""
        use, now = self._uses[key_id], self._clock()
        window = use.window
        left = demand.per_minute - window.spent(now)
        if demand.per_minute and demand.sentences > max(0, left):
            return Verdict("rate", max(0, left), window.seconds_until(demand.sentences - left, now))
        if demand.places and len(use.places) >= demand.places:
            return Verdict("places", max(0, left), 0)
        if demand.places:
            use.places.add(demand.token)
        if demand.per_minute:
            window.spend(now, demand.sentences)
            left -= demand.sentences
        return Verdict("admitted", max(0, left), window.seconds_until(1, now))

    async def renew(self, key_id: str, token: str) -> None:
        """Nothing to do: a place ends with this process."""

    async def release(self, key_id: str, token: str) -> None:
        """Give a place back."""
        self._uses[key_id].places.discard(token)
