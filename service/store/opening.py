"""Opens the Redis that the settings name, or else the service's own, for running commands on it."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from opentelemetry.trace import Tracer

from service.settings import Settings
from service.store.address import parse_address
from service.store.commands import Commands
from service.store.connection import Security, connect
from service.store.first_look import look_at
from service.store.nodes import Policy
from service.store.redis_process import own_redis
from service.telemetry.metrics import Metrics
from service.telemetry.tracing import NO_TRACER


@asynccontextmanager
async def open_redis(settings: Settings, metrics: Metrics, tracer: Tracer = NO_TRACER) -> AsyncIterator[Commands]:
    """Open the Redis of the settings for running commands; only the service's own has to answer by then.

    Raises:
        SettingsError: the URL or a file is wrong, or Redis is of another kind than the URL says.
        StartupError: the service's own Redis cannot be started.
    """
    async with AsyncExitStack() as stack:
        url = await _url(settings, metrics, stack)
        client = connect(url, settings.redis_timeout_seconds, _security(settings))
        stack.push_async_callback(client.aclose)
        await look_at(client, parse_address(url))
        policy = Policy(connections=settings.redis_connections, total_seconds=settings.redis_total_seconds)
        commands = Commands(client, metrics, tracer, policy)
        stack.push_async_callback(commands.aclose)
        yield commands


async def _url(settings: Settings, metrics: Metrics, stack: AsyncExitStack) -> str:
    if settings.redis_url is not None:
        return settings.redis_url.get_secret_value()
    own = own_redis(settings.redis_folder, metrics, settings.redis_max_memory_mb)
    return await stack.enter_async_context(own)


def _security(settings: Settings) -> Security:
    return Security(
        password_file=settings.redis_password_file,
        ca_file=settings.redis_ca_file,
        certificate_file=settings.redis_certificate_file,
        key_file=settings.redis_key_file,
        check_hostname=settings.redis_check_hostname,
    )
