"""How much may wait."""

import asyncio
from collections.abc import Callable

import pytest

from service.errors import QueueFullError
from service.inference.admission import Admission
from service.inference.backlog import Turn
from tests.support.lanes import Bench, echo, until


async def test_admission_ends_at_the_limit(bench: Callable[..., Bench]) -> None:
    """What waits and what is about to wait count; a place that is given back can be taken again."""
    used = bench()
    admission = Admission(2, lambda: [used.batcher])
    with admission.reserve("a"), admission.reserve("b"), pytest.raises(QueueFullError):
        admission.reserve("c")
    with admission.reserve("c"):
        pass


async def test_waiting_sentences_use_up_admission() -> None:
    """A queue that nobody serves fills up, and then refuses."""
    used = Bench(echo)
    await used.lanes.acquire()
    used.batcher.open()
    admission = Admission(3, lambda: [used.batcher])
    callers = [asyncio.create_task(used.translate(text, Turn(text, "interactive"))) for text in "abc"]
    await until(lambda: used.batcher.waiting == 3)
    with pytest.raises(QueueFullError):
        admission.reserve("d")
    await used.batcher.close()
    await asyncio.gather(*callers, return_exceptions=True)
