"""Batchers that are checked for leftovers after each test."""

from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from service.inference.wire import Batch, Outcomes
from tests.support.lanes import Bench, echo, queued


@pytest.fixture
async def bench() -> AsyncIterator[Callable[..., Bench]]:
    """Makes benches; checks at the end that nothing is queued or running any more."""
    made: list[Bench] = []

    def make(behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]] = echo, **settings: float) -> Bench:
        made.append(Bench(behave, **settings))
        made[-1].batcher.open()
        return made[-1]

    yield make
    for used in made:
        await used.batcher.close()
        assert queued(used.batcher) == 0
        assert b"antecedent_sentences_running 0.0" in used.metrics.render()
