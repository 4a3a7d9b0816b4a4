"""Access control as the settings configure it."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from math import inf

from service.access.key_file import KeyFile
from service.access.key_table import KeyTable
from service.access.keyring import Access, Keyring, OpenAccess
from service.settings import Settings
from service.store.commands import Commands
from service.telemetry.metrics import Metrics


@asynccontextmanager
async def configured_access(settings: Settings, redis: Commands, metrics: Metrics) -> AsyncIterator[Access]:
    """Yield the configured access control, kept up to date.

    Raises:
        KeyStorageError: no keys can be read where the settings say.
    """
    if settings.keys == "none":
        yield OpenAccess()
        return
    in_file = settings.keys == "file"
    keyring = Keyring(
        KeyFile(settings.keys_file) if in_file else KeyTable(redis),
        outage_seconds=inf if in_file else settings.keys_outage_seconds,  # a damaged file is mended by hand
        clock=time.monotonic,
        now=partial(datetime.now, UTC),
        metrics=metrics,
    )
    async with keyring.kept_fresh(settings.keys_refresh_seconds):
        yield keyring
