"""Running commands and scripts, against a real Redis."""

import pytest

from service.errors import StoreUnavailableError
from service.store.commands import Commands
from service.store.connection import connect
from service.telemetry.metrics import Metrics
from tests.support.servers import free_port


async def test_redis_that_is_away_is_said_to_be_away() -> None:
    """Where nothing listens, every operation gives the error that a client may retry."""
    async with connect(f"redis://127.0.0.1:{free_port()}", 1) as client:
        metrics = Metrics()
        with pytest.raises(StoreUnavailableError):
            await Commands(client, metrics).ping()
        assert b'antecedent_redis_failures_total{operation="ping"} 5.0' in metrics.render(), "tried five times"
