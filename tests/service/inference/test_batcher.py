"""Feeding workers from the backlog: every caller gets a result or an error."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from structlog.testing import capture_logs

from models.engine.requests import CacheUse, Options, Translation, TranslationRequest
from models.errors import RequestError
from service.errors import DeadlineError, ShuttingDownError, WorkerDiedError
from service.inference.backlog import Budget, Turn
from service.inference.batcher import Batcher
from service.inference.wire import Batch, Outcomes, Priority
from service.telemetry.metrics import Metrics
from tests.support.lanes import DIRECT, TURN, Bench, Lanes, echo, queued, until


async def test_each_caller_gets_its_own_translation(bench: Callable[..., Bench]) -> None:
    """Each caller gets its own result, however sentences were batched."""
    used = bench()
    texts = [f"sentence {number}" for number in range(20)]
    assert await asyncio.gather(*map(used.translate, texts)) == texts
    assert max(map(len, used.lanes.batches)) == 4


async def test_bad_sentence_fails_alone(bench: Callable[..., Bench]) -> None:
    """The others in its batch are translated."""
    used = bench()
    found = await asyncio.gather(*map(used.translate, ["a", "bad", "b"]), return_exceptions=True)
    assert found[0::2] == ["a", "b"]
    assert isinstance(found[1], RequestError)


def gated(gate: asyncio.Event) -> Callable[[Batch], Coroutine[Any, Any, Outcomes]]:
    """Behaviour of a lane that does not answer until the gate opens."""

    async def wait(batch: Batch) -> Outcomes:
        await gate.wait()
        return await echo(batch)

    return wait


async def silent(_batch: Batch) -> Outcomes:
    """Never answer."""
    await asyncio.Event().wait()
    raise AssertionError


async def test_it_is_drained_when_nobody_waits(bench: Callable[..., Bench]) -> None:
    """It is drained at once if there are no callers, otherwise not before all have been answered or have left."""
    gate = asyncio.Event()
    used = bench(gated(gate))
    await used.batcher.drained()
    leaving, staying = (used.batcher.enqueue(TranslationRequest(text), DIRECT, TURN) for text in "ab")
    drained = asyncio.create_task(used.batcher.drained())
    leaving.cancel()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not drained.done()
    gate.set()
    await drained
    assert staying.done()


async def test_client_that_leaves_costs_nothing(bench: Callable[..., Bench]) -> None:
    """A sentence whose caller is cancelled while it is queued never reaches a worker."""
    gate = asyncio.Event()
    used = bench(gated(gate))
    first = [asyncio.create_task(used.translate(text)) for text in "abcd"]
    await until(lambda: bool(used.lanes.batches))
    leaving, staying = (asyncio.create_task(used.translate(text)) for text in ("leaving", "staying"))
    await until(lambda: queued(used.batcher) == 2)
    leaving.cancel()
    await asyncio.wait([leaving])
    gate.set()
    assert await asyncio.gather(*first, staying) == [*"abcd", "staying"]
    assert used.lanes.batches == [[*"abcd"], ["staying"]]
    assert used.lanes.dropped == []


async def test_worker_is_told_of_a_client_that_leaves(bench: Callable[..., Bench]) -> None:
    """If a caller is cancelled while a worker has its sentence, the worker drops it, which makes room for another."""
    used = bench(silent)
    callers = [asyncio.create_task(used.translate(text)) for text in "abcde"]
    await until(lambda: queued(used.batcher) == 1)
    await until(lambda: bool(used.lanes.batches))
    callers[1].cancel()
    await until(lambda: len(used.lanes.batches) == 2)
    assert used.lanes.batches == [[*"abcd"], ["e"]]
    assert used.lanes.dropped == [1]


def pass_by(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Advance the event loop's clock by so many seconds at once."""
    loop = asyncio.get_running_loop()
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + seconds)


async def test_worker_is_told_of_a_deadline(bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences past their deadline are dropped rather than translated to the end."""
    used = bench(silent, deadline=60)
    callers = [asyncio.create_task(used.translate(text)) for text in "ab"]
    await until(lambda: used.lanes.batches == [["a", "b"]])
    pass_by(monkeypatch, 61)
    found = await asyncio.gather(*callers, return_exceptions=True)
    assert {type(error) for error in found} == {DeadlineError}
    await until(lambda: len(used.lanes.dropped) == 2)


async def test_sentence_that_becomes_due_while_the_clock_is_read(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time passes between two readings of the clock; a sentence that falls due in between is not forgotten."""
    loop, used = asyncio.get_running_loop(), bench()
    for wait in range(1, 25):  # roughly in units of the time between two readings
        used.batcher._backlog._budget = replace(used.batcher._backlog._budget, wait=0.001 * wait)
        began, looks = loop.time(), count()
        monkeypatch.setattr(loop, "time", lambda began=began, looks=looks: began + 0.0009 * next(looks))
        caller = asyncio.create_task(used.translate("a"))
        for _ in range(20):
            await asyncio.sleep(0)
        monkeypatch.undo()
        async with asyncio.timeout(5):
            assert await caller == "a"


async def test_sentences_join_those_that_a_worker_is_at(bench: Callable[..., Bench]) -> None:
    """A worker with room is given new sentences, even with other options, and each answer makes room for another."""
    gates = {text: asyncio.Event() for text in "abcdef"}

    async def one_by_one(batch: Batch) -> Outcomes:
        for job in batch.jobs:
            await gates[job.request.source].wait()
        return await echo(batch)

    used = bench(one_by_one)
    callers: dict[str, asyncio.Task[Any]] = {}
    for text in "abc":
        callers[text] = asyncio.create_task(used.translate(text))
        await until(lambda: len(used.lanes.batches) == len(callers))
    sentence = used.batcher.submit(TranslationRequest("d"), Options("sentence"), Turn("another", "interactive"))
    callers["d"] = asyncio.create_task(sentence)
    await until(lambda: len(used.lanes.batches) == 4)
    callers |= {text: asyncio.create_task(used.translate(text)) for text in "ef"}
    await until(lambda: queued(used.batcher) == 2)
    gates["b"].set()
    assert await callers["b"] == "b"
    await until(lambda: len(used.lanes.batches) == 5)
    for gate in gates.values():
        gate.set()
    await asyncio.gather(*callers.values())
    assert used.lanes.batches == [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]


async def test_deadline_ends_the_wait(bench: Callable[..., Bench]) -> None:
    """A caller does not wait for ever, whether its sentence is queued or with a silent worker."""
    used = bench(silent, deadline=0.05)
    found = await asyncio.gather(*map(used.translate, "abcdefgh"), return_exceptions=True)
    assert {type(error) for error in found} == {DeadlineError}
    assert sum(map(len, used.lanes.batches)) < 8


async def test_sentence_whose_worker_died_is_tried_again(bench: Callable[..., Bench]) -> None:
    """Callers do not notice a single death; each sentence is then retried by itself."""
    deaths = iter([True])

    async def dies_once(batch: Batch) -> Outcomes:
        if next(deaths, False):
            raise WorkerDiedError
        return await echo(batch)

    used = bench(dies_once)
    assert await asyncio.gather(*map(used.translate, "abc")) == ["a", "b", "c"]
    assert used.lanes.batches == [["a", "b", "c"], ["a"], ["b"], ["c"]]


async def test_time_of_a_worker_that_dies_is_not_time_in_the_queue(
    bench: Callable[..., Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a worker takes to die, that time does not count as waiting in the queue."""
    deaths = iter([True])

    async def dies_slowly(batch: Batch) -> Outcomes:
        if next(deaths, False):
            pass_by(monkeypatch, 500)
            raise WorkerDiedError
        return await echo(batch)

    used = bench(dies_slowly, deadline=1000)
    assert await used.translate("a") == "a"
    name, labels = "antecedent_queue_seconds", {"priority": TURN.priority}
    assert used.metrics.registry.get_sample_value(f"{name}_count", labels) == 2
    assert (used.metrics.registry.get_sample_value(f"{name}_sum", labels) or 0) < 100


class _Several:
    """Several lanes in parallel."""

    def __init__(self, *lanes: Lanes) -> None:
        self._free: asyncio.Queue[Lanes] = asyncio.Queue()
        for lane in lanes:
            self._free.put_nowait(lane)

    async def acquire(self) -> Lanes:
        """Wait for a free one."""
        return await self._free.get()

    def outgrown(self, _lane: Lanes) -> bool:
        """Never."""
        return False

    def release(self, lane: Lanes) -> None:
        """Mark it as free."""
        self._free.put_nowait(lane)


class _Growing(_Several):
    """Lanes that are too large as soon as they have answered anything."""

    def outgrown(self, _worker: Lanes) -> bool:
        """Always."""
        return True


async def test_lanes_that_have_grown_leave_one_after_the_other() -> None:
    """While one finishes what it has before being replaced, the other still gets new sentences."""
    answered = {source: asyncio.Event() for source in ("a", "b", "A", "B", "c")}

    async def wait(batch: Batch) -> Outcomes:
        await answered[batch.jobs[0].request.source].wait()
        return await echo(batch)

    lanes = Lanes(wait), Lanes(wait)
    batcher = Batcher(_Growing(*lanes), Budget(100, 1, 0.0), deadline=60.0, metrics=Metrics())
    batcher.open()

    def enqueue(source: str) -> asyncio.Future[Translation]:
        priority: Priority = "bulk" if source.isupper() else "interactive"
        return batcher.enqueue(TranslationRequest(source), Options(), Turn(source, priority))

    async with asyncio.timeout(20):  # fail instead of hanging
        waiting = [enqueue(source) for source in ("a", "b", "A", "B")]
        await until(lambda: all(len(lane.batches) == 2 for lane in lanes))
        for first in waiting[:2]:
            answered["ab"[waiting.index(first)]].set()
            await first
        waiting.append(enqueue("c"))
        await until(lambda: any(["c"] in lane.batches for lane in lanes))
        for event in answered.values():
            event.set()
        assert [translation.text for translation in await asyncio.gather(*waiting)] == ["a", "b", "A", "B", "c"]
    await batcher.close()


def _dies_once_and_waits_for(go_on: asyncio.Event) -> Callable[[Batch], Coroutine[Any, Any, Outcomes]]:
    """Behaviour that dies over the first batch, and echoes all others once the event is set."""
    deaths = iter([True])

    async def dies_once(batch: Batch) -> Outcomes:
        if next(deaths, False):
            raise WorkerDiedError
        await go_on.wait()
        return await echo(batch)

    return dies_once


async def test_while_one_worker_tries_suspects_the_others_serve() -> None:
    """No second worker is kept free for suspects: new sentences go to it."""
    go_on = asyncio.Event()
    dies_once = _dies_once_and_waits_for(go_on)
    first, second = Lanes(dies_once), Lanes(dies_once)
    batcher = Batcher(_Several(first, second), Budget(100, 3, 0.0), deadline=60.0, metrics=Metrics())
    batcher.open()
    waiting = [batcher.enqueue(TranslationRequest(source), Options(), TURN) for source in "abcd"]
    await until(lambda: sorted(map(len, (first.batches, second.batches))) == [1, 2])
    waiting.append(batcher.enqueue(TranslationRequest("e"), Options(), TURN))
    async with asyncio.timeout(20):  # fail instead of hanging
        await until(lambda: ["e"] in [*first.batches, *second.batches])
    assert not any(future.done() for future in waiting)
    go_on.set()
    assert [translation.text for translation in await asyncio.gather(*waiting)] == list("abcde")
    await batcher.close()


async def test_a_suspect_has_no_company(bench: Callable[..., Bench]) -> None:
    """While a suspect is retried other sentences wait, so that they are not lost if it kills another worker."""
    go_on = asyncio.Event()
    dies_once = _dies_once_and_waits_for(go_on)
    used = bench(dies_once)
    first = asyncio.create_task(used.translate("a"))
    await until(lambda: used.lanes.batches == [["a"], ["a"]])
    second = asyncio.create_task(used.translate("b"))
    await asyncio.sleep(0.05)
    assert used.lanes.batches == [["a"], ["a"]]
    go_on.set()
    assert await asyncio.gather(first, second) == ["a", "b"]


async def test_second_death_is_an_error(bench: Callable[..., Bench]) -> None:
    """A sentence that kills two workers is given up; the others in its batch are translated."""

    async def poisoned(batch: Batch) -> Outcomes:
        if any(job.request.source == "poison" for job in batch.jobs):
            raise WorkerDiedError
        return await echo(batch)

    used = bench(poisoned)
    found = await asyncio.gather(*map(used.translate, ["a", "poison", "b"]), return_exceptions=True)
    assert found[0::2] == ["a", "b"]
    assert isinstance(found[1], WorkerDiedError)


async def test_unforeseen_error_does_not_leave_callers_waiting(bench: Callable[..., Bench]) -> None:
    """A bug is reported to every caller of its batch, and the next batch is served."""
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
    """All callers, queued or at a worker, are told that the service is shutting down, and so are later ones."""
    used = bench(silent)
    callers = [asyncio.create_task(used.translate(text)) for text in "abcdefgh"]
    await until(lambda: bool(used.lanes.batches))
    await used.batcher.close()
    found = await asyncio.gather(*callers, return_exceptions=True)
    assert {type(error) for error in found} == {ShuttingDownError}
    with pytest.raises(ShuttingDownError):
        await used.translate("late")


async def test_document_does_not_make_a_session_wait(bench: Callable[..., Bench]) -> None:
    """A session's sentence goes at once to a worker that is full of a document, without using the document's room."""
    gate = asyncio.Event()
    used = bench(gated(gate))
    document = [asyncio.create_task(used.translate(f"d{n}", Turn("document", "bulk"))) for n in range(12)]
    await until(lambda: bool(used.lanes.batches))
    session = asyncio.create_task(used.translate("s", Turn("session", "interactive")))
    await until(lambda: len(used.lanes.batches) == 2)
    assert (queued(used.batcher), used.batcher.flows, used.batcher.ahead("another", 3)) == (8, 1, 3)
    gate.set()
    await asyncio.gather(session, *document)
    first, second, third = ([f"d{n}" for n in range(start, start + 4)] for start in (0, 4, 8))
    assert used.lanes.batches == [first, ["s"], second, third]


async def test_dispatcher_that_fails_leaves_nobody_waiting(bench: Callable[..., Bench]) -> None:
    """Waiting and later callers get the error, running sentences are finished, and the failure is logged and shown."""
    gate = asyncio.Event()
    used = bench(gated(gate))
    running = [asyncio.create_task(used.translate(text)) for text in "abcd"]
    await until(lambda: bool(used.lanes.batches))
    assert used.batcher.alive
    waiting = asyncio.create_task(used.translate("waiting"))
    await until(lambda: queued(used.batcher) == 1)
    with capture_logs() as lines:
        used.lanes.failure = ZeroDivisionError("a user's text")
        gate.set()
        assert await asyncio.gather(*running) == [*"abcd"]
        with pytest.raises(ZeroDivisionError):
            await waiting
    assert [line["event"] for line in lines] == ["dispatcher_failed"]
    assert (used.batcher.alive, used.batcher.failed) == (False, True)
    with pytest.raises(ZeroDivisionError):
        await used.translate("late")


async def test_worker_that_dies_after_the_dispatcher(bench: Callable[..., Bench]) -> None:
    """With no dispatcher left to retry the sentence, its caller gets the error."""
    gate = asyncio.Event()

    async def dies(_batch: Batch) -> Outcomes:
        await gate.wait()
        raise WorkerDiedError

    used = bench(dies)
    caller = asyncio.create_task(used.translate("a"))
    await until(lambda: bool(used.lanes.batches))
    used.lanes.failure = ZeroDivisionError()
    waiting = asyncio.create_task(used.translate("b"))
    await until(lambda: not used.batcher.alive)
    gate.set()
    found = await asyncio.gather(caller, waiting, return_exceptions=True)
    assert [type(error) for error in found] == [ZeroDivisionError] * 2


async def test_each_caller_gets_an_error_of_its_own(bench: Callable[..., Bench]) -> None:
    """Errors are not shared, since a caller may add to its own which sentence it was about."""

    async def poisoned(batch: Batch) -> Outcomes:
        raise WorkerDiedError

    used = bench(poisoned)
    first, second = await asyncio.gather(*map(used.translate, "ab"), return_exceptions=True)
    assert isinstance(first, WorkerDiedError)
    assert isinstance(second, WorkerDiedError)
    assert first is not second


async def test_closing_answers_what_a_worker_was_just_given(bench: Callable[..., Bench]) -> None:
    """Even if nobody listens to the worker yet, the caller is told of the shutdown, not left to its deadline."""
    used = bench(deadline=20)
    caller = asyncio.create_task(used.translate("a"))
    await until(lambda: queued(used.batcher) == 1)
    await until(lambda: queued(used.batcher) == 0)
    assert used.lanes.batches == [["a"]]
    await used.batcher.close()
    with pytest.raises(ShuttingDownError):
        await caller


async def test_states_that_workers_had_kept_are_counted(bench: Callable[..., Bench]) -> None:
    """The workers' reports of cache use are summed over all batches."""

    async def keeps(batch: Batch) -> Outcomes:
        return replace(await echo(batch), cache_use=CacheUse(hits=3, misses=1))

    used = bench(keeps)
    for text in "ab":
        await used.translate(text)
    exposition = used.metrics.render().decode()
    assert 'antecedent_context_states_total{origin="kept"} 6.0' in exposition
    assert 'antecedent_context_states_total{origin="made"} 2.0' in exposition
