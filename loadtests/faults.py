"""Which processes are killed in a run, and after how much of its work: the same for the same seed."""

import asyncio
import random
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from loadtests.deployment import Deployment

_LONGEST_OUTAGE_SECONDS = 1.0


class Kind(StrEnum):
    """What is killed."""

    REDIS = "Redis"
    REPLICA = "replica"


@dataclass(frozen=True, slots=True)
class Fault:
    """A kill by SIGKILL once `after` sentences have been answered; what is killed comes back."""

    after: int
    kind: Kind
    replica: int
    outage_seconds: float

    def strike(self, deployment: Deployment) -> None:
        """Do it, and wait until what was killed serves again."""
        if self.kind is Kind.REPLICA:
            deployment.restart(self.replica, signal.SIGKILL)
            return
        deployment.redis.kill()
        time.sleep(self.outage_seconds)
        deployment.redis.start()


def plan_faults(rng: random.Random, sentences: int, *, redis: int, kills: int, replicas: int) -> Sequence[Fault]:
    """Spread so many kills of Redis and of replicas evenly over the sentences of a run, in an order by chance."""
    kinds = [Kind.REDIS] * redis + [Kind.REPLICA] * kills
    rng.shuffle(kinds)
    return [
        Fault(
            after=sentences * (number + 1) // (len(kinds) + 1),
            kind=kind,
            replica=rng.randrange(replicas),
            outage_seconds=rng.uniform(0, _LONGEST_OUTAGE_SECONDS),
        )
        for number, kind in enumerate(kinds)
    ]


class Progress:
    """How many sentences have been answered, and who waits for how many."""

    def __init__(self) -> None:
        self._answered = 0
        self._waiting: list[tuple[int, asyncio.Event]] = []

    def add(self) -> None:
        """One more."""
        self._answered += 1
        for count, event in self._waiting:
            if count <= self._answered:
                event.set()

    def end(self) -> None:
        """There will be no more: nobody need wait."""
        for _, event in self._waiting:
            event.set()

    async def reached(self, count: int) -> None:
        """Wait until so many have been answered, or there will be no more."""
        if count > self._answered:
            event = asyncio.Event()
            self._waiting.append((count, event))
            await event.wait()


async def strike_all(faults: Sequence[Fault], deployment: Deployment, progress: Progress) -> None:
    """Let each fault strike when its time has come; one that is late waits for the one before it."""
    for fault in faults:
        await progress.reached(fault.after)
        await asyncio.to_thread(fault.strike, deployment)
