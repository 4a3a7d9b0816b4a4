"""How many sentences may wait."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from models.engine.requests import TranslationRequest
from service.errors import QueueFullError
from service.inference.admission import Admission
from service.inference.backlog import Turn
from tests.support.lanes import DIRECT, Bench, echo


@pytest.fixture
async def stuck() -> AsyncIterator[Bench]:
    """A batcher whose only worker stays busy for ever."""
    bench = Bench(echo)
    await bench.lanes.acquire()
    bench.batcher.open()
    yield bench
    await bench.batcher.close()


def fill(bench: Bench, flow: str, sentences: int) -> list[asyncio.Future[object]]:
    """Queue some sentences of a flow."""
    turn = Turn(flow, "bulk")
    futures = [bench.batcher.enqueue(TranslationRequest("x"), DIRECT, turn) for _ in range(sentences)]
    for future in futures:
        future.add_done_callback(lambda done: done.exception())
    return list(futures)


async def test_admission_ends_at_the_limit(stuck: Bench) -> None:
    """Reservations count towards the limit; one that is given back makes room again."""
    admission = Admission(2, lambda: [stuck.batcher])
    with admission.reserve("a"), admission.reserve("b"), pytest.raises(QueueFullError):
        admission.reserve("c")
    with admission.reserve("c"):
        pass


async def test_waiting_flows_use_up_admission(stuck: Bench) -> None:
    """A queue that is not served fills up and then refuses."""
    admission = Admission(3, lambda: [stuck.batcher])
    for flow in "abc":
        fill(stuck, flow, 1)
    assert (admission.waiting("bulk"), admission.waiting("interactive")) == (3, 0)
    with pytest.raises(QueueFullError):
        admission.reserve("d")


async def test_a_session_begins_where_it_has_room_for_more(stuck: Bench) -> None:
    """When crowded, new sessions are refused before existing ones; long documents alone do not count as a crowd."""
    admission = Admission(12, lambda: [stuck.batcher])
    for flow in "ab":
        fill(stuck, flow, 20)
    admission.check_new_session()
    fill(stuck, "c", 4)
    with pytest.raises(QueueFullError):
        admission.check_new_session()
    with admission.reserve("d", 3):
        pass


async def test_long_documents_do_not_shut_others_out(stuck: Bench) -> None:
    """Two long documents leave no room for a third, but a short one and a session's sentence still have theirs."""
    admission = Admission(100, lambda: [stuck.batcher])
    for flow in ("long", "longer"):
        fill(stuck, flow, 60)
    with pytest.raises(QueueFullError):
        admission.reserve("third", 60)
    with admission.reserve("short", 5), admission.reserve("session"):
        pass


async def test_one_flow_cannot_have_more_than_the_limit(stuck: Bench) -> None:
    """For a flow's next sentence, all of its own waiting sentences count, whether queued or only reserved."""
    admission = Admission(10, lambda: [stuck.batcher])
    fill(stuck, "greedy", 6)
    with admission.reserve("greedy", 4):
        with pytest.raises(QueueFullError):
            admission.reserve("greedy")
        with admission.reserve("modest"):
            pass


async def test_place_is_not_counted_twice(stuck: Bench) -> None:
    """A reservation is given up once its sentences are queued, even if its `with` block goes on."""
    admission = Admission(10, lambda: [stuck.batcher])
    with admission.reserve("a", 5) as place:
        fill(stuck, "a", 5)
        with pytest.raises(QueueFullError):
            admission.reserve("b", 5)
        place.give_up()
        with admission.reserve("b", 4):
            pass


async def test_documents_share_the_queue(stuck: Bench) -> None:
    """The more flows wait, the smaller each one's share of the queue, but it is never zero."""
    admission = Admission(10, lambda: [stuck.batcher])
    assert admission.share() == 20
    shares = []
    for flow in range(30):
        fill(stuck, f"flow {flow}", 1)
        shares.append(admission.share())
    assert shares[:4] == [20, 10, 6, 5]
    assert shares[-1] == 1
