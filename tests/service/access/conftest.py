"""Fixtures for keys in a real Redis."""

from collections.abc import AsyncIterator

import pytest

from service.access.key_table import KeyTable
from service.store.commands import Commands
from service.store.connection import connect
from service.store.nodes import Policy
from service.telemetry.metrics import Metrics
from tests.support.servers import RedisServer


@pytest.fixture
async def mortal_commands(mortal_redis: RedisServer) -> AsyncIterator[Commands]:
    """Commands on a Redis that a test may kill."""
    client = connect(mortal_redis.url, 60)
    commands = Commands(client, Metrics(), policy=Policy(total_seconds=60))
    yield commands
    await commands.aclose()
    await client.aclose()


@pytest.fixture
def table(mortal_commands: Commands) -> KeyTable:
    """The key table in that Redis, still empty."""
    return KeyTable(mortal_commands)
