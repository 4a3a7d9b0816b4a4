"""The servers that the service talks to, and what is known of each: one Redis, or the masters of a Cluster.

The masters of a Cluster fail independently, so each has its own breaker and its own bound on calls.
"""

import asyncio
from contextvars import Context
from dataclasses import dataclass

from redis.exceptions import RedisError, ResponseError

from service.store.breaker import Breaker
from service.store.cancellation import propagating_cancellation
from service.store.connection import RedisClient, node_name, probe
from service.store.failures import code_of, is_silence
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Policy:
    """The limits on calls, repetitions and time; times are in seconds."""

    connections: int = 64
    """Most concurrent calls to one node; each has a connection."""
    total_seconds: float = 3
    """Longest duration of a call, including its repetitions."""
    repetitions: int = 4
    """How often a call is repeated at most."""
    failures: int = 5
    """Calls in a row without a reply after which a node counts as away."""
    probe_seconds: float = 0.5
    """Time between attempts to find out whether a node that is away is back."""


class Node:
    """A server: its slots for concurrent calls, and whether it counts as away."""

    def __init__(self, name: str, policy: Policy) -> None:
        self.name = name
        self.slots = asyncio.Semaphore(policy.connections)
        self.breaker = Breaker(policy.failures)
        self.probing: asyncio.Task[None] | None = None


class Nodes:
    """Finds the node of a key, and regularly asks nodes that are away whether they are back."""

    def __init__(self, redis: RedisClient, metrics: Metrics, policy: Policy) -> None:
        self._redis = redis
        self._metrics = metrics
        self._policy = policy
        self._nodes: dict[str, Node] = {}

    def of(self, key: str | None) -> Node:
        """Return the node that serves a key at present; None stands for any key."""
        name = node_name(self._redis, key)
        if name not in self._nodes:
            self._nodes[name] = Node(name, self._policy)
        return self._nodes[name]

    def answered(self, node: Node) -> None:
        """Note a reply."""
        if node.breaker.succeeded():
            self._metrics.redis_nodes_away.dec()
            _log.info("redis_back", node=node.name)

    def silent(self, node: Node, error: Exception) -> None:
        """Note a call without a reply."""
        if node.breaker.failed():
            self._metrics.redis_nodes_away.inc()
            _log.error("redis_away", node=node.name, reason=code_of(error))
            if node.probing is None or node.probing.done():
                # In a fresh context: the request that found the node away must not appear in the log when it is back.
                node.probing = asyncio.create_task(self._probe_until_back(node), context=Context())

    async def aclose(self) -> None:
        """Stop asking."""
        probing = [node.probing for node in self._nodes.values() if node.probing is not None]
        for task in probing:
            task.cancel()
        await asyncio.gather(*probing, return_exceptions=True)

    async def _probe_until_back(self, node: Node) -> None:
        while node.breaker.is_open:
            await asyncio.sleep(self._policy.probe_seconds)
            try:
                with propagating_cancellation():
                    async with asyncio.timeout(self._policy.total_seconds):
                        await probe(self._redis, node.name)
                self.answered(node)
            except ResponseError as error:
                if not is_silence(error):  # a Redis that cannot write to disk refuses a ping, but can be read
                    self.answered(node)
            except Exception as error:  # noqa: BLE001 - no error may end the task: nobody else would ask again
                if not (isinstance(error, RedisError) or is_silence(error)):
                    _log.exception("redis_not_asked", node=node.name)
