"""Commands and Lua scripts on Redis: each one measured, and an outage told from a mistake.

Everything of the service that keeps something in Redis shares one `Commands`.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, TypeVar

from opentelemetry.trace import Span, SpanKind, Tracer
from redis.asyncio import Redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, ReadOnlyError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from service.errors import StoreUnavailableError
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER, span

_OUTAGES = ("LOADING", "MISCONF", "OOM", "CLUSTERDOWN", "MASTERDOWN", "TRYAGAIN", "NOREPLICAS")
"""Refusals by which a Redis says that it cannot serve now."""

_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, and the SHA-1 by which a Redis that has seen it knows it."""

    source: str
    sha: str


def read_script(package: str, *names: str) -> Script:
    """The files `lua/<name>.lua` of a package, put together to one script."""
    source = "".join(files(package).joinpath("lua", f"{name}.lua").read_text("utf-8") for name in names)
    return Script(source, hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest())


class Commands:
    """Runs commands on one Redis; `operation` names them in the metrics and comes from a fixed set."""

    def __init__(self, redis: Redis, metrics: Metrics, tracer: Tracer = NO_TRACER) -> None:
        self._redis = redis
        self._metrics = metrics
        self._tracer = tracer

    async def run(self, operation: str, command: Callable[[Redis], Awaitable[_R]]) -> _R:
        """What `command`, given the client, answers.

        Raises:
            StoreUnavailableError: Redis is away, or cannot serve now.
        """
        try:
            with self._span(operation), self._metrics.redis_seconds.labels(operation).time():
                return await command(self._redis)
        except (RedisError, OSError) as error:
            self._metrics.redis_failures.labels(operation).inc()
            if _is_outage(error):
                raise StoreUnavailableError from error
            raise

    def _span(self, operation: str) -> AbstractContextManager[Span]:
        attributes = {"db.system.name": "redis", "db.operation.name": operation}
        return span(self._tracer, f"redis {operation}", kind=SpanKind.CLIENT, attributes=attributes)

    async def evaluate(self, operation: str, script: Script, keys: Sequence[str], args: Sequence[Any]) -> Any:  # noqa: ANN401 - what Lua returns
        """What `script` returns; all `keys` are in one slot of a Redis Cluster.

        Raises:
            StoreUnavailableError: Redis is away, or cannot serve now.
        """

        async def by_name_or_source(redis: Redis) -> Any:  # noqa: ANN401 - what Lua returns
            try:
                return await redis.evalsha(script.sha, len(keys), *keys, *args)
            except NoScriptError:  # a Redis that has been started since; it now learns the script
                return await redis.eval(script.source, len(keys), *keys, *args)

        return await self.run(operation, by_name_or_source)

    async def ping(self) -> None:
        """One round trip, to see whether Redis is there.

        Raises:
            StoreUnavailableError: it is not.
        """
        await self.run("ping", lambda redis: redis.ping())


def _is_outage(error: Exception) -> bool:
    if isinstance(error, ResponseError) and not isinstance(error, ReadOnlyError):
        return str(error).startswith(_OUTAGES)
    return isinstance(error, RedisConnectionError | RedisTimeoutError | ReadOnlyError | OSError)
