"""The path of a document through the queue."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.engine.requests import Translation, TranslationRequest
from models.errors import RequestError
from models.text.words import has_words
from service.errors import ShuttingDownError
from service.inference.document_queue import DocumentQueue
from service.inference.wire import Batch, Outcomes
from tests.support.lanes import DIRECT, TURN, Bench, echo, queued, translation, until


def _window(size: int, following: int = 0) -> Callable[[int], tuple[int, int]]:
    return lambda position: (max(0, position - size), position + 1 + following)


class _Asked:
    """Records requests, which a test answers one by one."""

    def __init__(self) -> None:
        self.requests: list[TranslationRequest] = []
        self.futures: list[asyncio.Future[Translation]] = []

    def enqueue(self, request: TranslationRequest) -> asyncio.Future[Translation]:
        self.requests.append(request)
        self.futures.append(asyncio.get_running_loop().create_future())
        return self.futures[-1]

    def answer(self, position: int) -> None:
        self.futures[position].set_result(translation(self.requests[position].source.upper()))

    def queue(self, sentences: str, context: str = "", *, room: int = 3, in_turn: bool = False) -> DocumentQueue:
        return DocumentQueue(sentences, context, self.enqueue, around=_window(2), room=lambda: room, in_turn=in_turn)


async def test_translations_come_in_order() -> None:
    """Whichever is ready first, translations come in the document's order."""
    asked = _Asked()
    queue = asked.queue("abc")
    for position in (2, 0, 1):
        asked.answer(position)
    assert [one.text async for one in queue] == ["A", "B", "C"]


async def test_slow_reader_makes_no_room() -> None:
    """Sentences that are queued or translated but not yet read never exceed the room."""
    asked = _Asked()
    queue = asked.queue("abcdef", room=2)
    asked.answer(0)
    asked.answer(1)
    assert await queue.ready(0)
    assert [request.source for request in asked.requests] == ["a", "b"]
    assert (await anext(queue)).text == "A"
    assert await queue.ready(0)
    assert [request.source for request in asked.requests] == ["a", "b", "c"]
    queue.close()


async def test_room_may_change() -> None:
    """If the room shrinks, a document queues nothing more until it has fewer sentences in the queue."""
    asked, room = _Asked(), [3]
    queue = DocumentQueue("abcdefgh", "", asked.enqueue, around=_window(0), room=lambda: room[0], in_turn=False)
    sizes = []
    for position, most in enumerate([3, 1, 1, 1, 4]):
        room[0] = most
        await queue.ready(0)
        sizes.append(len(asked.requests))
        asked.answer(position)
        await anext(queue)
    assert sizes == [3, 3, 3, 4, 8]
    queue.close()


async def test_sentence_reads_those_around_it() -> None:
    """A sentence's context is the window before it, which may reach into the given context, and what follows it."""
    asked = _Asked()
    queue = DocumentQueue("cde", "ab", asked.enqueue, around=_window(2, following=1), room=lambda: 9, in_turn=False)
    read = [
        ("".join(one.source for one in request.preceding), "".join(one.source for one in request.following))
        for request in asked.requests
    ]
    assert read == [("ab", "d"), ("bc", "e"), ("cd", "")]
    queue.close()


@given(sentences=st.text(max_size=6), context=st.text(max_size=4), size=st.integers(0, 4))
async def test_window_is_the_end_of_what_came_before(sentences: str, context: str, size: int) -> None:
    """Preceding context never includes the sentence itself or a later one, nor more than the window.

    Sentences without words are left out, and have no context themselves.
    """
    asked = _Asked()
    queue = DocumentQueue(sentences, context, asked.enqueue, around=_window(size), room=lambda: 99, in_turn=False)
    for position, request in enumerate(asked.requests):
        before = [one for one in [*context, *sentences[:position]] if has_words(one) and has_words(sentences[position])]
        assert [one.source for one in request.preceding] == before[max(0, len(before) - size) :]
    queue.close()


async def test_target_context() -> None:
    """If the model reads translations, a sentence is queued when the previous one is done; given context has none."""
    asked = _Asked()
    queue = asked.queue("abc", "x", in_turn=True)
    for position in range(3):
        assert len(asked.requests) == position + 1
        asked.answer(position)
        await anext(queue)
        await queue.ready(0)
    read = [[(one.source, one.target) for one in request.preceding] for request in asked.requests]
    assert read == [[("x", None)], [("x", None), ("a", "A")], [("a", "A"), ("b", "B")]]


async def test_error_names_its_position() -> None:
    """Sentences before it come first; its position in the error does not count the context."""
    asked = _Asked()
    queue = asked.queue("abc", "xy")
    asked.futures[2].set_exception(RequestError("it is bad"))
    asked.answer(0)
    asked.answer(1)
    assert [(await anext(queue)).text, (await anext(queue)).text] == ["A", "B"]
    for waits in (queue.ready(0), anext(queue)):
        with pytest.raises(RequestError) as raised:
            await waits
        assert raised.value.extras == {"position": 2}
    queue.close()


async def test_waiting_has_an_end() -> None:
    """`ready` waits no longer than asked; the end of the document counts as ready."""
    asked = _Asked()
    queue = asked.queue("a")
    assert not await queue.ready(0)
    asked.answer(0)
    assert await queue.ready(None)
    await anext(queue)
    assert await queue.ready(None)
    with pytest.raises(StopAsyncIteration):
        await anext(queue)


async def test_closing_takes_what_waits_out_of_the_queue(bench: Callable[..., Bench]) -> None:
    """Sentences that nobody will read reach no worker, and an error that nobody retrieves causes no warning."""
    gate = asyncio.Event()

    async def gated(batch: Batch) -> Outcomes:
        await gate.wait()
        return await echo(batch)

    used = bench(gated)
    queue = DocumentQueue(
        ["bad", *"abcdefghi"],
        "",
        lambda request: used.batcher.enqueue(request, DIRECT, TURN),
        around=_window(0),
        room=lambda: 8,
        in_turn=False,
    )
    await until(lambda: bool(used.lanes.batches))
    gate.set()
    await until(lambda: len(used.lanes.batches) == 2)
    queue.close()
    await asyncio.sleep(0)
    assert queued(used.batcher) == 0
    assert await used.translate("after") == "after"
    assert used.lanes.batches == [["bad", "a", "b", "c"], ["d", "e", "f", "g"], ["after"]]


async def test_errors_that_nobody_asks_for_are_no_warning() -> None:
    """One error closes a document; others that nobody retrieves must not be reported as a bug by asyncio."""
    complaints: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, complaint: complaints.append(complaint))
    asked = _Asked()
    queue = asked.queue("ab")
    for future in asked.futures:
        future.set_exception(RequestError("it is bad"))
    del future
    asked.futures.clear()
    queue.close()
    assert complaints == []


async def test_end_of_the_service_takes_nothing_that_is_done(bench: Callable[..., Bench]) -> None:
    """Finished translations are still delivered to a slow reader; then the error says where the document broke off."""
    used = bench()
    queue = DocumentQueue(
        "abcd",
        "",
        lambda request: used.batcher.enqueue(request, DIRECT, TURN),
        around=_window(0),
        room=lambda: 2,
        in_turn=False,
    )
    assert await queue.ready(None)
    await used.batcher.close()
    assert [(await anext(queue)).text for _ in "ab"] == ["a", "b"]
    with pytest.raises(ShuttingDownError) as caught:
        await anext(queue)
    assert caught.value.extras == {"position": 2}
    queue.close()
