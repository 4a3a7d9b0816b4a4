"""A document's way through the queue: a bounded number of its sentences at a time, and their translations in order."""

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence

from models.data.documents import Sentence
from models.data.words import has_words
from models.engine.requests import Translation, TranslationRequest
from models.errors import AntecedentError

Enqueue = Callable[[TranslationRequest], asyncio.Future[Translation]]
Around = Callable[[int], tuple[int, int]]
"""The first sentence that a sentence is read with, and the one after the last, counting those with words."""


class DocumentQueue:
    """Queues the sentences of a document in order, and gives their translations in order.

    Only who asks for a translation makes room for another sentence: a reader that is slow holds up its own document,
    and neither a worker nor more than `room` finished translations. `context` comes before the sentences and is not
    translated. What has no words is nobody's context, and has none. With `in_turn` each sentence waits for the one
    before it, whose translation it is read with. `drafts` are of the sentences, one each, where there are any.
    """

    def __init__(
        self,
        sentences: Sequence[str],
        context: Sequence[str],
        enqueue: Enqueue,
        *,
        drafts: Sequence[str | None] | None = None,
        around: Around,
        room: Callable[[], int],
        in_turn: bool,
    ) -> None:
        self._document = [Sentence(source) for source in (*context, *sentences)]
        self._worded = [place for place, sentence in enumerate(self._document) if has_words(sentence.source)]
        self._drafts = drafts
        self._first = len(context)
        self._next = len(context)
        self._pending: deque[asyncio.Future[Translation]] = deque()
        self._enqueue = enqueue
        self._around = around
        self._room = room
        self._in_turn = in_turn
        self._fill()

    def __aiter__(self) -> "DocumentQueue":
        """All that are left."""
        return self

    async def __anext__(self) -> Translation:
        """The next translation.

        Raises:
            AntecedentError: see `Batcher.enqueue`; its `position` is that of the sentence in the document.
        """
        await self.ready(None)
        if not self._pending:
            raise StopAsyncIteration
        translation = self._pending.popleft().result()
        if self._in_turn:
            position = self._next - 1
            self._document[position] = Sentence(self._document[position].source, translation.text)
        return translation

    async def ready(self, seconds: float | None) -> bool:
        """Wait until the next translation is there, or the document at its end, but no longer than some seconds.

        Raises:
            AntecedentError: there will be no next translation; see `__anext__`.
        """
        self._fill()
        if not self._pending:
            return True
        first = self._pending[0]
        await asyncio.wait({first}, timeout=seconds)
        if not first.done():
            return False
        if isinstance(error := first.exception(), AntecedentError):
            error.extras["position"] = self._next - len(self._pending) - self._first
            raise error
        return True

    def close(self) -> None:
        """Take what still waits out of the queue."""
        for future in self._pending:
            future.cancel()  # also of an error that is there: else asyncio complains that nobody has asked for it
        self._pending.clear()

    def _fill(self) -> None:
        room = 1 if self._in_turn else self._room()
        while len(self._pending) < room and self._next < len(self._document):
            self._pending.append(self._enqueue(self._request(self._next)))
            self._next += 1

    def _request(self, position: int) -> TranslationRequest:
        preceding, following = self._read_with(position)
        return TranslationRequest(
            self._document[position].source,
            tuple(self._document[place] for place in preceding),
            tuple(self._document[place] for place in following),
            draft=None if self._drafts is None else self._drafts[position - self._first],
        )

    def _read_with(self, position: int) -> tuple[Sequence[int], Sequence[int]]:
        """The sentences before and after one with which it is read."""
        rank = bisect_left(self._worded, position)
        if self._worded[rank : rank + 1] != [position]:
            return (), ()
        first, end = self._around(rank)
        return self._worded[first:rank], self._worded[rank + 1 : end]
