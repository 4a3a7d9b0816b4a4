import asyncio
import random

from loadtests.arrivals import at_most, closed_loop, open_loop


async def test_at_most_so_many_at_a_time() -> None:
    """Results come in the order of the work, and no more pieces than allowed are under way."""
    running: list[int] = []
    most = 0

    async def piece(number: int) -> int:
        nonlocal most
        running.append(number)
        most = max(most, len(running))
        await asyncio.sleep(0)
        running.remove(number)
        return number

    assert await at_most(3, (piece(number) for number in range(10))) == list(range(10))
    assert most == 3


async def test_open_loop_does_not_wait_for_answers() -> None:
    """Requests keep coming while none is answered; all answers are there in the end."""
    answered = asyncio.Event()
    waiting = 0

    async def send() -> bool:
        nonlocal waiting
        waiting += 1
        if waiting == 20:
            answered.set()
        await answered.wait()
        return True

    results = await open_loop(1000, 0.1, send, random.Random(1))
    assert len(results) == waiting >= 20


async def test_closed_loop_sends_when_the_last_answer_is_there() -> None:
    """No more requests are under way than there are clients."""
    running, most = 0, 0

    async def send() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0.001)
        running -= 1

    assert len(await closed_loop(2, 0.02, send)) >= 2
    assert most == 2
