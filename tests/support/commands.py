"""Checks whether commands on a Redis that comes and goes are served."""

import asyncio

from service.errors import StoreUnavailableError
from service.store.commands import Commands


async def ping(commands: Commands) -> None:
    """Run a command that changes nothing.

    Raises:
        StoreUnavailableError: Redis is unavailable.
    """
    await commands.run("ping", lambda redis: redis.ping())


async def served(commands: Commands) -> bool:
    """Whether a command is answered rather than refused because Redis is unavailable."""
    try:
        await ping(commands)
    except StoreUnavailableError:
        return False
    return True


async def until_served(commands: Commands) -> None:
    """Retry until a command is answered; fail after a minute, which is enough however busy this machine is."""
    async with asyncio.timeout(60):
        while not await served(commands):
            await asyncio.sleep(0.01)
