"""Limits across all replicas, in Redis and by its clock; the rules are in `lua/admit.lua`.

A place is held by a lease, so that the places of a replica that has died become free by themselves.
"""

from service.access.quota import Demand, Verdict
from service.store.commands import Commands, read_script


class SharedLimits:
    """Counts in Redis. All operations raise StoreUnavailableError while it is away."""

    def __init__(self, commands: Commands, lease_seconds: float) -> None:
        self._commands = commands
        self._lease_ms = int(1000 * lease_seconds)
        self._admit = read_script("service.access", "admit")
        self._renew = read_script("service.access", "renew")

    async def admit(self, key_id: str, demand: Demand) -> Verdict:
        """Meet a demand as a whole or not at all, in one round trip."""
        args = [demand.per_minute, demand.sentences, demand.places, demand.token, self._lease_ms]
        outcome, remaining, wait_ms = await self._commands.evaluate(self._admit, _names(key_id), args)
        return Verdict(outcome, int(remaining), int(wait_ms) / 1000)

    async def renew(self, key_id: str, token: str) -> None:
        """Hold a place for another lease."""
        await self._commands.evaluate(self._renew, _names(key_id)[1:], [token, self._lease_ms])

    async def release(self, key_id: str, token: str) -> None:
        """Give a place back."""
        places = _names(key_id)[1]
        await self._commands.run("release", lambda redis: redis.zrem(places, token), key=places)


def _names(key_id: str) -> list[str]:
    """Name what a key has spent, and its places; the braces put both into one slot of a Redis Cluster."""
    return [f"antecedent:{{limits:{key_id}}}:{part}" for part in ("spent", "places")]
