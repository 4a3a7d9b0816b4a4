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


async def test_progress_wakes_who_waits_for_it() -> None:
    """Whoever waits for a count goes on when it is reached, or when there will be no more."""
    progress = Progress()
    second, tenth = (asyncio.create_task(progress.reached(count)) for count in (2, 10))
    await asyncio.sleep(0)
    progress.add()
    progress.add()
    await second
    assert not tenth.done()
    progress.end()
    await tenth


async def test_count_that_has_been_reached_already() -> None:
    """Whoever comes late does not wait."""
    progress = Progress()
    progress.add()
    async with asyncio.timeout(1):
        await progress.reached(1)
