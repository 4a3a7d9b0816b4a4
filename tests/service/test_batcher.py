"""The batching policy on plain data, and the shell around it: every caller gets a result or an error."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.bundle.requests import Options, Translation, TranslationRequest
from models.data.documents import Sentence
from models.errors import RequestError
from service.batcher import Admission, Backlog, Batcher, Budget, Waiting
from service.errors import DeadlineError, QueueFullError, ShuttingDownError, WorkerDiedError
from service.metrics import Metrics
from service.wire import Batch, Failure, Outcomes

BUDGET = Budget(characters=10, sentences=3, wait=1.0)
DIRECT, ALONE = Options(), Options(strategy="sentence")


class _Future:
    """Stands where nothing is ever awaited."""


def waiting(source: str, options: Options = DIRECT, *, since: float = 0.0, attempts: int = 0) -> Waiting:
    """An element of the backlog."""
    return Waiting(TranslationRequest(source), options, since, _Future(), attempts)  # type: ignore[arg-type]


def backlog(*elements: Waiting) -> Backlog:
    """A backlog with these elements, in order."""
    made = Backlog(BUDGET)
    for element in elements:
        made.put(element)
    return made


def sources(batch: list[Waiting]) -> list[str]:
    """The texts of a batch."""
    return [element.request.source for element in batch]


def test_batch_ends_where_the_budget_ends() -> None:
    """A batch takes the oldest first, and neither more sentences nor more characters than allowed."""
    queue = backlog(*map(waiting, ["aaaa", "bbbb", "cccc", "d", "e", "f", "g"]))
    assert [sources(queue.pop()) for _ in range(4)] == [["aaaa", "bbbb"], ["cccc", "d", "e"], ["f", "g"], []]


def test_context_counts() -> None:
    """What a sentence is read with costs as much as the sentence."""
    with_context = waiting("aaaa")
    with_context.request = TranslationRequest("aaaa", (Sentence("xxxx"),))
    assert sources(backlog(with_context, waiting("bbbb")).pop()) == ["aaaa"]


def test_sentence_beyond_the_budget_goes_alone() -> None:
    """A sentence that no batch has room for is a batch of its own."""
    queue = backlog(waiting("a" * 50), waiting("b"))
    assert [sources(queue.pop()), sources(queue.pop())] == [["a" * 50], ["b"]]


def test_only_equal_options_share_a_batch() -> None:
    """Others wait for the next batch, and keep their order."""
    queue = backlog(waiting("a"), waiting("b", ALONE), waiting("c"), waiting("d", ALONE))
    assert [sources(queue.pop()), sources(queue.pop())] == [["a", "c"], ["b", "d"]]


def test_short_batch_waits_for_more() -> None:
    """One that is not full is due when its oldest sentence has waited long enough, a full one at once."""
    queue = backlog()
    assert queue.due() is None
    queue.put(waiting("a", since=5.0))
    queue.put(waiting("b", since=5.5))
    assert queue.due() == 6.0
    queue.put(waiting("c", since=5.6))
    assert queue.due() == float("-inf")


def test_sentence_that_does_not_fit_makes_a_batch_full() -> None:
    """There is nothing to wait for once the next sentence has to go with another batch."""
    assert backlog(waiting("a" * 9), waiting("bb")).due() == float("-inf")


def test_forgotten_sentence_costs_nothing() -> None:
    """A sentence that nobody waits for is in no batch and takes no room."""
    left, stays = waiting("a"), waiting("b")
    queue = backlog(left, stays)
    queue.discard(left)
    queue.discard(left)
    assert len(queue) == 1
    assert sources(queue.pop()) == ["b"]


def test_suspect_goes_alone_and_first() -> None:
    """A sentence over which a worker died is tried again before others, at once, and with none beside it."""
    queue = backlog(waiting("c"))
    queue.put_back([waiting("a", attempts=1), waiting("b", attempts=1)])
    assert queue.due() == float("-inf")
    assert [sources(queue.pop()) for _ in range(3)] == [["a"], ["b"], ["c"]]


@given(st.lists(st.tuples(st.text("x", max_size=12), st.booleans(), st.integers(0, 1)), max_size=30))
def test_every_sentence_is_in_exactly_one_batch(elements: list[tuple[str, bool, int]]) -> None:
    """Whatever waits, it all goes, once, in order among its equals, and no batch mixes options."""
    made = [waiting(text, ALONE if alone else DIRECT, attempts=attempts) for text, alone, attempts in elements]
    queue, seen = backlog(*made), []
    while batch := queue.pop():
        assert len({element.options for element in batch}) == 1
        assert len(batch) <= BUDGET.sentences
        assert len(batch) == 1 or sum(element.characters for element in batch) <= BUDGET.characters
        seen += batch
    assert len(seen) == len(made)
    assert set(seen) == set(made)


class Lanes:
    """One lane whose behaviour a test decides; `batches` is what it was given."""

    def __init__(self, behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]]) -> None:
        self._behave = behave
        self._free = asyncio.Semaphore(1)
        self.batches: list[list[str]] = []

    async def translate(self, batch: Batch) -> Outcomes:
        """As the test wants it."""
        self.batches.append([request.source for request in batch.requests])
        return await self._behave(batch)

    async def acquire(self) -> "Lanes":
        """The lane, once it is free."""
        await self._free.acquire()
        return self

    def release(self, _worker: "Lanes") -> None:
        """It is free."""
        self._free.release()


async def echo(batch: Batch) -> Outcomes:
    """The source is the translation; `bad` cannot be translated."""
    results = [
        Failure("invalid_request", "it is bad") if request.source == "bad" else translation(request.source)
        for request in batch.requests
    ]
    return Outcomes(tuple(results), 0.0)


def translation(text: str) -> Translation:
    """A translation of that text."""
    return Translation(text, 0.0, 0, 1, ())


async def until(holds: Callable[[], bool]) -> None:
    """Let the other tasks run until something holds."""
    while not holds():
        await asyncio.sleep(0)


class Bench:
    """A batcher on a lane, and what it counts."""

    def __init__(self, behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]], *, deadline: float = 60.0) -> None:
        self.lanes = Lanes(behave)
        self.metrics = Metrics()
        self.batcher = Batcher(self.lanes, Budget(100, 4, 0.0), deadline=deadline, metrics=self.metrics)

    async def translate(self, source: str) -> str:
        """Submit one sentence."""
        return (await self.batcher.submit(TranslationRequest(source), DIRECT)).text


@pytest.fixture
async def bench() -> AsyncIterator[Callable[..., Bench]]:
    """Makes benches, and checks in the end that nothing is left in their queues."""
    made: list[Bench] = []

    def make(behave: Callable[[Batch], Coroutine[Any, Any, Outcomes]] = echo, **settings: float) -> Bench:
        made.append(Bench(behave, **settings))
        made[-1].batcher.open()
        return made[-1]

    yield make
    for used in made:
        await used.batcher.close()
        assert used.batcher.waiting == 0
        assert b"antecedent_sentences_running 0.0" in used.metrics.render()


async def test_each_caller_gets_its_own_translation(bench: Callable[..., Bench]) -> None:
    """Results come back to those who asked, whatever the batches were."""
    used = bench()
    texts = [f"sentence {number}" for number in range(20)]
    assert await asyncio.gather(*map(used.translate, texts)) == texts
    assert max(map(len, used.lanes.batches)) == 4


async def test_bad_sentence_fails_alone(bench: Callable[..., Bench]) -> None:
    """Its batch mates are translated."""
    used = bench()
    found = await asyncio.gather(*map(used.translate, ["a", "bad", "b"]), return_exceptions=True)
    assert found[0::2] == ["a", "b"]
    assert isinstance(found[1], RequestError)


async def test_client_that_leaves_costs_nothing(bench: Callable[..., Bench]) -> None:
    """A sentence whose caller is cancelled while it waits never reaches a worker."""
    gate = asyncio.Event()

    async def gated(batch: Batch) -> Outcomes:
        await gate.wait()
        return await echo(batch)

    used = bench(gated)
    first = asyncio.create_task(used.translate("first"))
    await until(lambda: bool(used.lanes.batches))
    leaving, staying = (asyncio.create_task(used.translate(text)) for text in ("leaving", "staying"))
    await until(lambda: used.batcher.waiting == 2)
    leaving.cancel()
    await asyncio.wait([leaving])
    gate.set()
    assert await asyncio.gather(first, staying) == ["first", "staying"]
    assert used.lanes.batches == [["first"], ["staying"]]


async def test_deadline_ends_the_wait(bench: Callable[..., Bench]) -> None:
    """A caller does not wait for ever, neither in the queue nor for a worker that is silent."""

    async def silent(_batch: Batch) -> Outcomes:
        await asyncio.Event().wait()
        raise AssertionError

    used = bench(silent, deadline=0.05)
    found = await asyncio.gather(*map(used.translate, "abcdefgh"), return_exceptions=True)
    assert {type(error) for error in found} == {DeadlineError}
    assert sum(map(len, used.lanes.batches)) < 8


async def test_sentence_whose_worker_died_is_tried_again(bench: Callable[..., Bench]) -> None:
    """One death is not the caller's concern; each sentence is then tried alone."""
    deaths = iter([True])

    async def dies_once(batch: Batch) -> Outcomes:
        if next(deaths, False):
            raise WorkerDiedError
        return await echo(batch)

    used = bench(dies_once)
    assert await asyncio.gather(*map(used.translate, "abc")) == ["a", "b", "c"]
    assert used.lanes.batches == [["a", "b", "c"], ["a"], ["b"], ["c"]]


async def test_second_death_is_an_error(bench: Callable[..., Bench]) -> None:
    """The sentence that kills workers is given up, and takes none of its batch mates with it."""

    async def poisoned(batch: Batch) -> Outcomes:
        if any(request.source == "poison" for request in batch.requests):
            raise WorkerDiedError
        return await echo(batch)

    used = bench(poisoned)
    found = await asyncio.gather(*map(used.translate, ["a", "poison", "b"]), return_exceptions=True)
    assert found[0::2] == ["a", "b"]
    assert isinstance(found[1], WorkerDiedError)


async def test_unforeseen_error_does_not_leave_callers_waiting(bench: Callable[..., Bench]) -> None:
    """Even a bug of our own reaches every caller of its batch, and the next batch is served."""
    failures = iter([True])

    async def buggy(batch: Batch) -> Outcomes:
        if next(failures, False):
            raise ZeroDivisionError
        return await echo(batch)

    used = bench(buggy)
    found = await asyncio.gather(*map(used.translate, "ab"), return_exceptions=True)
    assert [type(error) for error in found] == [ZeroDivisionError] * 2
    assert await used.translate("c") == "c"


async def test_closing_answers_everybody(bench: Callable[..., Bench]) -> None:
    """Whoever waits, in the queue or at a worker, is told that the service ends, and so is who comes later."""

    async def silent(_batch: Batch) -> Outcomes:
        await asyncio.Event().wait()
        raise AssertionError

    used = bench(silent)
    callers = [asyncio.create_task(used.translate(text)) for text in "abcdefgh"]
    await until(lambda: bool(used.lanes.batches))
    await used.batcher.close()
    found = await asyncio.gather(*callers, return_exceptions=True)
    assert {type(error) for error in found} == {ShuttingDownError}
    with pytest.raises(ShuttingDownError):
        await used.translate("late")


async def test_admission_ends_at_the_limit(bench: Callable[..., Bench]) -> None:
    """What waits and what is about to wait count; a place that is given back can be taken again."""
    used = bench()
    admission = Admission(2, [used.batcher])
    with admission.reserve(), admission.reserve(), pytest.raises(QueueFullError), admission.reserve():
        pass
    with admission.reserve():
        pass


async def test_waiting_sentences_use_up_admission() -> None:
    """A queue that nobody serves fills up, and then refuses."""
    used = Bench(echo)
    await used.lanes.acquire()
    used.batcher.open()
    admission = Admission(3, [used.batcher])
    callers = [asyncio.create_task(used.translate(text)) for text in "abc"]
    await until(lambda: used.batcher.waiting == 3)
    with pytest.raises(QueueFullError), admission.reserve():
        pass
    await used.batcher.close()
    await asyncio.gather(*callers, return_exceptions=True)
