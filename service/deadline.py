"""Deadlines set by requests: once an answer is of no more use, the work on it is cancelled."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.errors import OwnDeadlineError


def moment_in(seconds: float | None) -> float | None:
    """Return the event loop's time so many seconds from now; None for None."""
    return None if seconds is None else asyncio.get_running_loop().time() + seconds


@asynccontextmanager
async def until(moment: float | None) -> AsyncIterator[None]:
    """Cancel what is awaited in the block at `moment`, if that is not None.

    Raises:
        OwnDeadlineError: it has been cancelled.
    """
    try:
        async with asyncio.timeout_at(moment) as limit:
            yield
    except TimeoutError:
        if limit.expired():
            raise OwnDeadlineError from None
        raise
