"""A document's way through the queue: a bounded number of its sentences at a time, and their translations in order."""

import asyncio
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Sequence

from models.data.documents import Sentence
from models.engine.requests import Translation, TranslationRequest
from models.errors import AntecedentError
from models.text.words import has_words

Enqueue = Callable[[TranslationRequest], asyncio.Future[Translation]]
Around = Callable[[int], tuple[int, int]]
"""Maps the rank of a sentence among those with words to the range of ranks (start, exclusive end) it is read with."""


class DocumentQueue:
    """Queues the sentences of a document in order, and yields their translations in order.

    Another sentence is queued only when a translation is asked for, so a slow reader holds up its own document only: it
    blocks no worker and keeps at most `room` finished translations in memory. `context` precedes the sentences and is
    not translated. A sentence without words is no other's context, and has none itself. With `in_turn`, each sentence
    waits for the one before it, because it is read with its translation. `drafts`, if given, has one per sentence.
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
        """Iterate over the translations that are left."""
        return self

    async def __anext__(self) -> Translation:
        """Return the next translation.

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
        """Wait for the next translation or the end of the document; return False if `seconds` pass without either.

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
        """Take the sentences that still wait out of the queue."""
        for future in self._pending:
            future.cancel()  # failed ones, too: else asyncio complains that their exceptions were never retrieved
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
        """Return the positions of the sentences before and after a sentence that it is read with."""
        rank = bisect_left(self._worded, position)
        if self._worded[rank : rank + 1] != [position]:
            return (), ()
        first, end = self._around(rank)
        return self._worded[first:rank], self._worded[rank + 1 : end]
