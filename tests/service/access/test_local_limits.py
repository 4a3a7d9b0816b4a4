"""The rules of limits, with a clock that tests control."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.access.local_limits import LocalLimits
from service.access.quota import WINDOW_SECONDS, Demand, Quota, Verdict


class Clock:
    """A clock that moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        """The current time."""
        return self.now


class Key:
    """The limits of one process, with shorthands for demands of a key."""

    def __init__(self, per_minute: int = 0, places: int = 0) -> None:
        self.clock = Clock()
        self.limits = LocalLimits(self.clock)
        self.per_minute = per_minute
        self.places = places

    async def spend(self, sentences: int, key_id: str = "key") -> Verdict:
        """Spend sentences."""
        return await self.limits.admit(key_id, Demand(sentences, self.per_minute))

    async def take(self, token: str, key_id: str = "key") -> Verdict:
        """Take a place."""
        return await self.limits.admit(key_id, Demand(token=token, places=self.places))


async def test_a_lowered_rate_keeps_nobody_from_a_place() -> None:
    """A key that has already spent more than its new rate may still open a stream, which asks for no sentences yet."""
    key = Key(per_minute=5)
    await key.spend(5)
    verdict = await key.limits.admit("key", Demand(per_minute=2, token="stream", places=1))
    assert (verdict.outcome, verdict.remaining) == ("admitted", 0)


async def test_a_minute_holds_what_the_limit_says() -> None:
    """As many sentences as the limit are admitted, then none until the first of them is a minute old."""
    key = Key(per_minute=3)
    for at, left in ((0, 2), (10, 1), (20, 0)):
        key.clock.now = at
        assert (await key.spend(1)).remaining == left
    assert await key.spend(1) == Verdict("rate", 0, 40)
    key.clock.now = 60
    assert await key.spend(1) == Verdict("admitted", 0, 10)


async def test_refusal_says_when_the_whole_demand_would_pass() -> None:
    """A document waits until there is quota for all its sentences, and is admitted exactly then."""
    key = Key(per_minute=10)
    for at in (0, 10, 20):
        key.clock.now = at
        await key.spend(3)
    key.clock.now = 30
    refused = await key.spend(5)
    assert refused == Verdict("rate", 1, 40)
    key.clock.now += refused.seconds - 0.001
    assert (await key.spend(5)).outcome == "rate"
    key.clock.now += 0.001
    assert (await key.spend(5)).outcome == "admitted"


async def test_what_is_refused_costs_nothing() -> None:
    """A request that one limit refuses uses up nothing of the other."""
    key = Key()
    assert (await key.limits.admit("key", Demand(2, 2, "a", 1))).outcome == "admitted"
    assert (await key.limits.admit("key", Demand(1, 2, "b", 2))).outcome == "rate"
    assert (await key.limits.admit("key", Demand(1, 9, "b", 1))).outcome == "places"
    assert (await key.limits.admit("key", Demand(7, 9, "b", 2))).outcome == "admitted"


async def test_places_come_back() -> None:
    """No more places can be held at once than the limit; one that is given back can be taken again."""
    key = Key(places=2)
    assert [(await key.take(token)).outcome for token in "abc"] == ["admitted", "admitted", "places"]
    await key.limits.release("key", "a")
    assert [(await key.take(token)).outcome for token in "cd"] == ["admitted", "places"]


async def test_keys_do_not_share() -> None:
    """One key's use does not reduce what another has left."""
    key = Key(per_minute=1, places=1)
    assert (await key.spend(1, "one")).outcome == (await key.spend(1, "two")).outcome == "admitted"
    assert (await key.take("a", "one")).outcome == (await key.take("b", "two")).outcome == "admitted"


@given(
    st.integers(1, 20),
    st.lists(st.tuples(st.floats(0, 30), st.integers(1, 20)), max_size=60),
)
async def test_no_minute_ever_has_more_than_the_limit(limit: int, demands: list[tuple[float, int]]) -> None:
    """For any demands at any times, no 60 seconds exceed the limit, and waiting as long as a refusal says suffices."""
    key = Key(per_minute=limit)
    passed: list[tuple[float, int]] = []
    for pause, sentences in demands:
        key.clock.now += pause
        wanted = min(sentences, limit)
        verdict = await key.spend(wanted)
        if verdict.outcome == "rate":
            key.clock.now += verdict.seconds + 1e-6
            assert (await key.spend(wanted)).outcome == "admitted"
        passed.append((key.clock.now, wanted))
    for end, _ in passed:
        assert sum(sentences for at, sentences in passed if end - WINDOW_SECONDS < at <= end) <= limit


@pytest.mark.parametrize(("seconds", "said"), [(0, 0), (0.001, 1), (12, 12), (12.2, 13)])
def test_headers_are_those_of_the_draft(seconds: float, said: int) -> None:
    """They are structured fields with the remaining quota and the limit; seconds are rounded up."""
    quota = Quota.after(Demand(3, 600), Verdict("admitted", 17, seconds))
    assert quota.headers() == {
        "RateLimit": f'"default";r=17;t={said}',
        "RateLimit-Policy": '"default";q=600;w=60',
    }
