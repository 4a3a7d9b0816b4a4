"""Commands and Lua scripts on Redis: each is measured, repeated where that may help, and refused while Redis is away.

All parts of the service that keep data in Redis share one `Commands`.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from functools import partial
from importlib.resources import files
from typing import Any, TypeVar

from opentelemetry.trace import Span, SpanKind, Tracer
from redis.asyncio.retry import Retry
from redis.backoff import FullJitterBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisClusterException, RedisError, ResponseError

from service.errors import StoreUnavailableError
from service.store.cancellation import propagating_cancellation
from service.store.connection import RedisClient, forget_connections
from service.store.failures import code_of, is_of_no_master, is_outage, is_passing, is_silence
from service.store.nodes import Node, Nodes, Policy
from service.telemetry.logs import get_logger
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER, span

_FIRST_PAUSE, _LONGEST_PAUSE = 0.025, 0.5
"""Seconds between repetitions: random, with an upper bound that starts at the first, and doubles up to the longest."""

_NOTHING = "antecedent:nothing"
"""A key that never exists."""

DEFAULT_POLICY = Policy()

_R = TypeVar("_R")

_log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, its name in the metrics, and the SHA-1 by which Redis knows it once it has seen it."""

    operation: str
    source: str
    sha: str


def read_script(package: str, *names: str) -> Script:
    """Read the files `lua/<name>.lua` of a package, concatenated into one script, which has the name of the last."""
    source = "".join(files(package).joinpath("lua", f"{name}.lua").read_text("utf-8") for name in names)
    return Script(names[-1], source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


class Commands:
    """Runs commands on one Redis; `operation` names them in the metrics and comes from a fixed set.

    A command may be carried out twice if its reply is lost, so it must be safe to repeat. While Redis is away or cannot
    serve, commands fail with StoreUnavailableError, after at most `Policy.total_seconds`.
    """

    def __init__(
        self, redis: RedisClient, metrics: Metrics, tracer: Tracer = NO_TRACER, policy: Policy = DEFAULT_POLICY
    ) -> None:
        self._redis = redis
        self._metrics = metrics
        self._tracer = tracer
        self._try_to_write = read_script("service.store", "try_to_write")
        self._total_seconds = policy.total_seconds
        self._nodes = Nodes(redis, metrics, policy)
        self._retry = Retry(FullJitterBackoff(_LONGEST_PAUSE, _FIRST_PAUSE), policy.repetitions, (RedisError,))

    async def run(
        self, operation: str, command: Callable[[RedisClient], Awaitable[_R]], *, key: str | None = None
    ) -> _R:
        """Call `command` with the client and return its reply; `key` is one that it touches, for a Cluster.

        Raises:
            StoreUnavailableError: Redis is away, or cannot serve now; it has no cause if Redis was not even asked.
        """
        limit = asyncio.timeout(self._total_seconds)
        attempt = partial(self._attempt, operation, command, key, limit)
        failed: list[Exception] = []

        async def go_on(error: Exception) -> None:
            failed.append(error)  # `_attempt` has noted it already

        try:
            with self._span(operation), propagating_cancellation():
                async with limit:
                    return await self._retry.call_with_retry(attempt, go_on, is_retryable=is_passing)
        except StoreUnavailableError as error:
            raise error from (failed[-1] if failed else None)  # Redis counts as away since an attempt has failed
        except TimeoutError as error:
            _log.warning("redis_failed", operation=operation, reason=code_of(error))
            raise StoreUnavailableError from error
        except RedisError as error:
            if not is_outage(error):
                raise
            _log.warning("redis_failed", operation=operation, reason=code_of(error))
            raise StoreUnavailableError from error

    async def delete(self, operation: str, command: Callable[[RedisClient], Awaitable[int]], *, key: str) -> bool:
        """Run a command that returns how much it has deleted; return whether anything was there.

        If it had to be repeated, that counts as yes: the first call may have deleted it, and its reply been lost.
        """
        asked = 0

        async def counted(redis: RedisClient) -> int:
            nonlocal asked
            asked += 1
            return await command(redis)

        return await self.run(operation, counted, key=key) > 0 or asked > 1

    async def evaluate(self, script: Script, keys: Sequence[str], args: Sequence[Any]) -> Any:  # noqa: ANN401 - what Lua returns
        """Run `script` and return its reply; all `keys` are in one slot of a Redis Cluster.

        Raises:
            StoreUnavailableError: Redis is away, or cannot serve now.
        """

        async def by_name_or_source(redis: RedisClient) -> Any:  # noqa: ANN401 - what Lua returns
            with suppress(NoScriptError):
                return await redis.evalsha(script.sha, len(keys), *keys, *args)
            return await redis.eval(script.source, len(keys), *keys, *args)  # Redis has not seen it since it started

        return await self.run(script.operation, by_name_or_source, key=keys[0])

    async def try_to_write(self) -> None:
        """Attempt a write that changes nothing, to see whether Redis, or one master of a Cluster, accepts writes.

        Raises:
            StoreUnavailableError: it does not; the cause, if any, says why.
        """
        await self.evaluate(self._try_to_write, [_NOTHING], [])

    async def aclose(self) -> None:
        """End the background tasks; the client stays open."""
        await self._nodes.aclose()

    async def _attempt(
        self,
        operation: str,
        command: Callable[[RedisClient], Awaitable[_R]],
        key: str | None,
        limit: asyncio.Timeout,
    ) -> _R:
        node = self._nodes.of(key)
        _refuse_if_away(node)
        async with node.slots:
            _refuse_if_away(node)  # it may have gone while this call waited
            try:
                with self._metrics.redis_seconds.labels(operation).time():
                    reply = await command(self._redis)
            except asyncio.CancelledError:
                if limit.expired():  # the time ran out on Redis, not on waiting for a slot
                    self._metrics.redis_failures.labels(operation).inc()
                    self._nodes.silent(node, TimeoutError())
                raise
            except (RedisError, RedisClusterException, OSError, RuntimeError) as error:
                if isinstance(error, RuntimeError) and not is_silence(error):
                    raise  # a bug, not a matter of the connection
                self._metrics.redis_failures.labels(operation).inc()
                await self._note(node, error)
                if isinstance(error, RedisError):
                    raise
                raise RedisConnectionError(type(error).__name__) from error  # only RedisErrors are retried
        self._nodes.answered(node)
        return reply

    async def _note(self, node: Node, error: Exception) -> None:
        if is_silence(error):
            self._nodes.silent(node, error)
        elif isinstance(error, ResponseError):
            self._nodes.answered(node)
        if is_of_no_master(error):
            await forget_connections(self._redis)

    def _span(self, operation: str) -> AbstractContextManager[Span]:
        attributes = {"db.system.name": "redis", "db.operation.name": operation}
        return span(self._tracer, f"redis {operation}", kind=SpanKind.CLIENT, attributes=attributes)


def _refuse_if_away(node: Node) -> None:
    if node.breaker.is_open:
        raise StoreUnavailableError
