"""Rate and concurrency limits of each key: across all replicas while Redis is up, else in this process alone."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from service.access.caller import Caller
from service.access.quota import Demand, KeyedLimits, Quota, Verdict
from service.errors import ConcurrencyLimitError, RateLimitedError, StoreUnavailableError
from service.store.failures import is_silence
from service.telemetry.logs import get_logger

_RENEWALS = 3
"""How often a place is renewed within its lease: two renewals may fail before the place is lost."""
_PAUSE_SECONDS = 0.5
"""Time between attempts to give a place back while Redis is away."""

_log = get_logger(__name__)


class Limiter:
    """Refuses what exceeds a key's limits before it is queued, though only after its text has been split.

    `per_minute` (sentences) and `concurrency` (requests and streams under way) are the limits of keys that have none
    of their own; 0 means no limit. Redis is not asked about a key without limits. While Redis is away, each process
    applies the limits by itself; what it has counted is not carried over once Redis is back.
    """

    def __init__(
        self,
        shared: KeyedLimits,
        local: KeyedLimits,
        *,
        per_minute: int,
        concurrency: int,
        lease_seconds: float,
        new_id: Callable[[], str],
    ) -> None:
        self._shared = shared
        self._local = local
        self._per_minute = per_minute
        self._concurrency = concurrency
        self._lease_seconds = lease_seconds
        self._new_id = new_id
        self._giving_back: set[asyncio.Task[None]] = set()

    async def spend(self, caller: Caller, sentences: int) -> Quota | None:
        """Count sentences against the caller's minute; a stream counts each one as it comes, before it is appended.

        More sentences than a whole minute allows count as the whole limit. Returns how the quota stands, None if there
        is no limit.

        Raises:
            RateLimitedError: they are too many at the moment; nothing has been counted.
        """
        _, quota = await self._admit(caller, self._rate(caller, sentences))
        return quota

    def hold(self, caller: Caller) -> AbstractAsyncContextManager[Quota | None]:
        """Hold one of the caller's places while the context is open: for a stream, from its handshake to its end.

        Raises:
            ConcurrencyLimitError: all places are taken.
        """
        return self.admit(caller, 0)

    @asynccontextmanager
    async def admit(self, caller: Caller, sentences: int) -> AsyncIterator[Quota | None]:
        """Combine `spend` and `hold` in one round trip: a request that one of them refuses has not used the other.

        Raises:
            RateLimitedError, ConcurrencyLimitError: one of the limits is reached.
        """
        demand = self._rate(caller, sentences)
        places = caller.limits.concurrency or self._concurrency
        if not places:
            yield (await self._admit(caller, demand))[1]
            return
        demand = replace(demand, token=self._new_id(), places=places)
        limits, quota = await self._admit(caller, demand)
        given_up = asyncio.Event()
        renewing = asyncio.create_task(self._renew(limits, caller.key_id, demand.token, given_up))
        try:
            yield quota
        finally:
            given_up.set()  # a renewal that is under way has to end first, or it would take the place again
            await asyncio.shield(self._give_back(limits, caller.key_id, demand.token, renewing))

    def _rate(self, caller: Caller, sentences: int) -> Demand:
        per_minute = caller.limits.sentences_per_minute or self._per_minute
        return Demand(min(sentences, per_minute), per_minute, asked=sentences)

    async def _admit(self, caller: Caller, demand: Demand) -> tuple[KeyedLimits, Quota | None]:
        """Ask Redis, or this process while Redis is away; return which of the two answered, and the quota."""
        if not (demand.sentences or demand.places):
            return self._local, None
        limits = self._shared
        try:
            verdict = await self._ask(limits, caller.key_id, demand)
        except StoreUnavailableError as error:
            if demand.places and isinstance(error.__cause__, Exception) and is_silence(error.__cause__):
                # A Redis that hangs carries out later what it was asked, and nobody would give that place back.
                self._start(self._give_back_later(limits, caller.key_id, demand.token))
            limits = self._local
            verdict = await self._ask(limits, caller.key_id, demand)
        if verdict.outcome != "admitted":
            raise _refusal(demand, verdict)
        return limits, Quota.after(demand, verdict) if demand.per_minute else None

    async def _ask(self, limits: KeyedLimits, key_id: str, demand: Demand) -> Verdict:
        """Ask one of the two; if cancelled meanwhile, give back the place that the answer may grant."""
        if not demand.places:
            return await limits.admit(key_id, demand)
        asking = asyncio.create_task(limits.admit(key_id, demand))
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            self._give_back(limits, key_id, demand.token, asking)
            raise

    def _give_back(self, limits: KeyedLimits, key_id: str, token: str, before: asyncio.Task[Any]) -> asyncio.Task[None]:
        """Give a place back, in a task of its own, once `before`, which may still take the place, has ended."""

        async def give_back() -> None:
            await asyncio.gather(before, return_exceptions=True)
            try:
                await limits.release(key_id, token)
            except StoreUnavailableError:
                self._start(self._give_back_later(limits, key_id, token))

        return self._start(give_back())

    async def _give_back_later(self, limits: KeyedLimits, key_id: str, token: str) -> None:
        """Give a place back as soon as Redis is back, unless its lease has run out by then."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._lease_seconds):
                while True:
                    await asyncio.sleep(_PAUSE_SECONDS)
                    with suppress(StoreUnavailableError):
                        await limits.release(key_id, token)
                        return

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._giving_back.add(task)
        task.add_done_callback(self._giving_back.discard)
        return task

    async def _renew(self, limits: KeyedLimits, key_id: str, token: str, given_up: asyncio.Event) -> None:
        while not await _is_set_within(self._lease_seconds / _RENEWALS, given_up):
            try:
                await limits.renew(key_id, token)
            except StoreUnavailableError:
                continue
            except Exception:  # noqa: BLE001 - whatever it was, the next renewal may do better
                _log.exception("place_not_renewed")


async def _is_set_within(seconds: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
    return event.is_set()


def _refusal(demand: Demand, verdict: Verdict) -> RateLimitedError | ConcurrencyLimitError:
    if verdict.outcome == "places":
        return ConcurrencyLimitError(
            f"this key already has its maximum of {demand.places} requests and streams under way"
        )
    quota = Quota.after(demand, verdict)
    return RateLimitedError(
        f"this key has {quota.remaining} left of its {demand.per_minute} sentences per minute, and the request takes"
        f" {demand.asked}: try again in {quota.seconds} s",
        retry_after=quota.seconds,
        quota=quota.headers(),
    )
