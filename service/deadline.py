"""Deadlines that a request brings along: when its answer is of no use any more, nobody goes on working for it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from service.errors import OwnDeadlineError


def moment_in(seconds: float | None) -> float | None:
    """The loop's time so many seconds from now; none without any."""
    return None if seconds is None else asyncio.get_running_loop().time() + seconds


@asynccontextmanager
async def until(moment: float | None) -> AsyncIterator[None]:
    """Cancel what is awaited within at that moment, if there is one.

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
