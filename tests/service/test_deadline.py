"""Deadlines that requests set for themselves, as opposed to other timeouts."""

import asyncio

import pytest

from service.deadline import moment_in, until
from service.errors import OwnDeadlineError


async def test_what_takes_too_long_is_told_so() -> None:
    """Work past the request's deadline is cancelled, even if the deadline had already passed when it began."""
    for seconds in (0.01, 0.0):
        with pytest.raises(OwnDeadlineError):
            async with until(moment_in(seconds)):
                await asyncio.Event().wait()


@pytest.mark.parametrize("seconds", [None, 60.0])
async def test_other_time_that_is_up_is_no_deadline_of_the_request(seconds: float | None) -> None:
    """Otherwise a client would be told of a deadline that it has not set or that has not yet passed."""
    with pytest.raises(TimeoutError):
        async with until(moment_in(seconds)):
            raise TimeoutError
