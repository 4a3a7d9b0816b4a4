"""Concurrent work whose results come in order, without a socket."""

import asyncio

import pytest

from service.streams.in_order import InOrder


class Works:
    """Pieces of work that end when the test says so; `log` records cancellations."""

    def __init__(self, most: int) -> None:
        self.in_order: InOrder[str] = InOrder(most)
        self.gates: dict[str, asyncio.Event] = {}
        self.log: list[str] = []

    async def begin(self, name: str) -> None:
        """Begin a piece of work once there is room."""
        await self.in_order.room()
        self.gates[name] = asyncio.Event()
        self.in_order.begin(self._work(name))

    async def _work(self, name: str) -> str:
        try:
            await self.gates[name].wait()
        except asyncio.CancelledError:
            self.log.append(f"{name} cancelled")
            await asyncio.sleep(0)
            self.log.append(f"{name} stopped")
            raise
        return name


async def _settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_results_come_in_the_order_of_the_beginning() -> None:
    """In whichever order the work ends, the results come in the order in which it began."""
    works = Works(3)
    for name in "abc":
        await works.begin(name)
    works.in_order.end()
    for name in "cba":
        works.gates[name].set()
        await _settle()
    assert works.in_order.under_way == 3
    assert [result async for result in works.in_order.results()] == ["a", "b", "c"]
    assert works.in_order.under_way == 0


async def test_room_is_bounded() -> None:
    """Another piece begins only when a result has been dealt with, not as soon as it is available."""
    works = Works(2)
    for name in "ab":
        await works.begin(name)
    third = asyncio.create_task(works.begin("c"))
    works.gates["a"].set()
    results = works.in_order.results()
    assert await anext(results) == "a"
    await _settle()
    assert (third.done(), works.in_order.under_way) == (False, 2)
    second = asyncio.create_task(anext(results))
    await _settle()
    assert third.done()
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    await works.in_order.cancel()


async def test_cancellation_stops_the_newest_first() -> None:
    """Each piece has stopped before the previous one is cancelled."""
    works = Works(3)
    for name in "abc":
        await works.begin(name)
    await _settle()
    await works.in_order.cancel()
    assert works.log == ["c cancelled", "c stopped", "b cancelled", "b stopped", "a cancelled", "a stopped"]
    assert works.in_order.under_way == 0


async def test_whoever_reads_results_stops_no_work() -> None:
    """If the reader of results goes away, the work goes on until it is cancelled itself."""
    works = Works(1)
    await works.begin("a")
    reading = asyncio.create_task(anext(works.in_order.results()))
    await _settle()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    assert works.log == []
    await works.in_order.cancel()


async def test_failure_is_raised_in_its_turn() -> None:
    """A failure is raised where the result would have come."""
    in_order: InOrder[str] = InOrder(2)

    async def fails() -> str:
        raise ValueError("it does")

    await in_order.room()
    in_order.begin(fails())
    with pytest.raises(ValueError, match="it does"):
        await anext(in_order.results())
