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
        self._ended = False
        self._changed = asyncio.Event()

    def add(self) -> None:
        """One more."""
        self._answered += 1
        self._changed.set()

    def end(self) -> None:
        """There will be no more."""
        self._ended = True
        self._changed.set()

    async def reached(self, count: int) -> bool:
        """Wait until so many have been answered; false if there will never be."""
        while self._answered < count and not self._ended:
            self._changed.clear()
            await self._changed.wait()
        return self._answered >= count


async def strike_all(faults: Sequence[Fault], deployment: Deployment, progress: Progress) -> int:
    """Let each fault strike when its time has come, one after the other; gives how many have."""
    for number, fault in enumerate(faults):
        if not await progress.reached(fault.after):
            return number
        await asyncio.to_thread(fault.strike, deployment)
    return len(faults)
