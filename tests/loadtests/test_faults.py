import asyncio
import random

from loadtests.faults import Kind, Progress, plan_faults


def test_plan_is_spread_and_depends_on_the_seed_alone() -> None:
    """Faults strike at even distances over the run, in an order that the seed decides."""
    plan = plan_faults(random.Random(3), 600, redis=3, kills=2, replicas=2)
    assert [fault.after for fault in plan] == [100, 200, 300, 400, 500]
    assert sorted(fault.kind for fault in plan) == [Kind.REDIS] * 3 + [Kind.REPLICA] * 2
    assert plan == plan_faults(random.Random(3), 600, redis=3, kills=2, replicas=2)
    assert plan != plan_faults(random.Random(4), 600, redis=3, kills=2, replicas=2)


async def test_whoever_waits_for_a_count_goes_on_when_it_is_reached() -> None:
    """Not before, and at once where it has been reached already."""
    progress = Progress()
    second = asyncio.create_task(progress.reached(2))
    progress.add()
    await asyncio.sleep(0)
    assert not second.done()
    progress.add()
    assert await second
    assert await progress.reached(1)


async def test_whoever_waits_for_what_never_comes_is_told() -> None:
    """Where clients have given up, nobody waits for their sentences, whether he began to before or after."""
    progress = Progress()
    before = asyncio.create_task(progress.reached(1))
    await asyncio.sleep(0)
    progress.end()
    assert not await before
    assert not await progress.reached(1)
