"""Get the answer for a sentence of a session: translate it, or wait while somebody else does.

Whoever translates a sentence holds its lease. If a replica dies, its leases remain until they expire; then whoever asks
for such a sentence, or needs its translation as context, takes it over.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from models.data.documents import Sentence
from models.engine.requests import TranslationRequest
from models.errors import AntecedentError, RequestError
from models.text.words import has_words
from service.errors import (
    SentenceFailedError,
    ServiceError,
    ShuttingDownError,
    StoreUnavailableError,
    WorkerDiedError,
)
from service.inference.backlog import Turn
from service.inference.catalogue import Model
from service.segmentation.splitting import parts
from service.store.context_store import ContextStore
from service.store.document import Answer, Appended, DocumentKey, Entry, Lease, Session
from service.use_cases.alternatives import options, others
from service.use_cases.model_changes import Models
from service.use_cases.terms import glossary_of, session_memory

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.02, 0.5

_T = TypeVar("_T")


class Notices:
    """Wakes callers in this process that wait for a sentence; those in other processes look again after a while."""

    def __init__(self) -> None:
        self._events: WeakValueDictionary[tuple[DocumentKey, int], asyncio.Event] = WeakValueDictionary()
        self._closed = False

    async def wait(self, document: DocumentKey, position: int, seconds: float) -> None:
        """Wait until the state of a sentence changes, but no longer than `seconds`.

        Raises:
            ShuttingDownError: the service is shutting down.
        """
        event = self._events.setdefault((document, position), asyncio.Event())
        with suppress(TimeoutError):
            async with asyncio.timeout(0 if self._closed else seconds):
                await event.wait()
        if self._closed:
            raise ShuttingDownError

    def tell(self, document: DocumentKey, position: int) -> None:
        """Wake those waiting for a sentence, since its state has changed."""
        event = self._events.pop((document, position), None)
        if event is not None:
            event.set()

    def close(self) -> None:
        """End all waiting, now and later."""
        self._closed = True
        for event in list(self._events.values()):
            event.set()


@dataclass(frozen=True, slots=True)
class _Leased:
    """A sentence whose lease this caller holds, in order to translate it."""

    document: DocumentKey
    session: Session
    appended: Appended
    lease: Lease


class Sentences:
    """Gets the answers for sentences that have their place in a session; a lease lasts `lease_seconds`."""

    def __init__(self, models: Models, store: ContextStore, new_token: Callable[[], str], lease_seconds: float) -> None:
        self._models = models
        self._store = store
        self._new_token = new_token
        self._lease_seconds = lease_seconds
        self._notices = Notices()

    def lease(self) -> Lease:
        """Make a new lease."""
        return Lease(self._new_token(), self._lease_seconds)

    async def answer(
        self, document: DocumentKey, appended: Appended, lease: Lease, idempotency_key: str | None
    ) -> Answer:
        """Get the answer for a sentence that was appended with a lease; if that fails, give the sentence back.

        Raises:
            SentenceFailedError: workers died over it for another caller, or an earlier sentence, whose translation it
                needs, could not be translated.
            AntecedentError: see `Models.for_session`, `Batcher.submit` and `ContextStore`.
        """
        send_again = partial(
            self._store.append,
            document,
            appended.source,
            position=appended.position,
            idempotency_key=idempotency_key,
            lease=lease,
            again=True,
        )
        return await self._bring(document, appended.position, lease, send_again, appended)

    async def take_back(self, document: DocumentKey, appending: Awaitable[Appended], lease: Lease) -> None:
        """Give back a sentence that is just being appended, for a caller that has left."""
        with suppress(ServiceError):
            appended = await appending
            await self._store.withdraw(document, appended.position, lease.token)
            self._notices.tell(document, appended.position)

    async def correct(self, document: DocumentKey, position: int, translation: str) -> Entry:
        """Put a translation at a position, whatever is there; see `ContextStore.correct`."""
        entry = await self._store.correct(document, position, Answer(translation, None, 0))
        self._notices.tell(document, position)
        return entry

    def close(self) -> None:
        """End all waiting; those who wait get ShuttingDownError."""
        self._notices.close()

    async def _bring(
        self,
        document: DocumentKey,
        position: int,
        lease: Lease,
        look: Callable[[], Awaitable[Appended]],
        seen: Appended | None = None,
    ) -> Answer:
        """Get the answer for a sentence; `look` returns its state, and takes the lease if nobody else holds it."""
        pauses = _pauses()
        async with self._given_back_on_failure(document, position, lease):
            appended = seen or await look()
            while appended.answer is None:
                if appended.session is None:  # somebody else has the lease
                    await self._notices.wait(document, appended.position, min(next(pauses), appended.wait_seconds))
                else:
                    leased = _Leased(document, appended.session, appended, lease)
                    known = session_memory(leased.session.memory).find(appended.source)
                    if known is not None:
                        return await self._finish(leased, Answer(known, None, 0))
                    model = await self._models.for_session(leased.session.model, leased.session.fingerprint)
                    read = _context(model, appended)
                    missing = _last_unfinished(model, read)
                    if missing is None:
                        return await self._translate(model, leased, read)
                    await self._while_leased(leased, self._finish_before(document, missing))
                appended = await look()
        return appended.answer

    async def _finish_before(self, document: DocumentKey, entry: Entry) -> None:
        """Finish a sentence that later ones need as context."""
        lease = self.lease()
        look = partial(self._store.claim, document, entry.position, entry.source, lease)
        try:
            await self._bring(document, entry.position, lease, look)
        except AntecedentError as error:
            if _is_final(error):
                raise SentenceFailedError(entry.position) from error
            raise

    async def _translate(self, model: Model, leased: _Leased, read: tuple[Entry, ...]) -> Answer:
        session, appended = leased.session, leased.appended
        request = TranslationRequest(
            appended.source,
            tuple(map(_sentence, read)),
            growing=True,
            parts=parts(appended.source, model.manifest.languages.source),
            terms=glossary_of(session.glossary).may_be_in(appended.source),
        )
        turn = Turn(leased.document.session_id, "interactive")
        with model.hold():
            wanted = options("direct", session.beam_size, session.alternatives, model.manifest.decoding.beam_size)
            work = model.batcher.submit(request, wanted, turn)
            done = await self._while_leased(leased, work)
        if isinstance(done, Answer):
            return done
        return await self._finish(leased, Answer(done.text, done.score, done.context_size, others(done)))

    async def _finish(self, leased: _Leased, answer: Answer) -> Answer:
        """Store the answer of a sentence, and return the stored one; see `ContextStore.finish`."""
        document, appended = leased.document, leased.appended
        stored = await self._store.finish(
            document, appended.position, appended.source, answer, born=leased.session.born
        )
        self._notices.tell(document, appended.position)
        return stored

    async def _while_leased(self, leased: _Leased, work: Coroutine[Any, Any, _T]) -> _T | Answer:
        """Do some work, and renew the lease until it is done; if the sentence is removed meanwhile, the work ends.

        It also ends if the sentence gets an answer meanwhile, such as a correction, which is then returned. Renewing
        the lease also keeps the session alive, which may expire sooner than the lease.
        """
        document, appended, lease = leased.document, leased.appended, leased.lease
        task = asyncio.create_task(work)
        pause = min(lease.seconds, leased.session.ttl_seconds) / 3
        try:
            while not (await asyncio.wait({task}, timeout=pause))[0]:
                with suppress(StoreUnavailableError):
                    renewed = await self._store.claim(document, appended.position, appended.source, lease)
                    if renewed.answer is not None:
                        return renewed.answer
            return task.result()
        finally:
            task.cancel()
            await asyncio.wait({task})

    @asynccontextmanager
    async def _given_back_on_failure(self, document: DocumentKey, position: int, lease: Lease) -> AsyncIterator[None]:
        try:
            yield
        except BaseException as error:  # also the cancellation when a client has left
            with suppress(ServiceError):
                await self._store.withdraw(document, position, lease.token, _failure(error))
            self._notices.tell(document, position)
            raise


def _context(model: Model, appended: Appended) -> tuple[Entry, ...]:
    """Return the preceding sentences with words that the model reads: its block may begin later than the window.

    A sentence without words still takes up a place in the window: Redis returns a fixed range of positions.
    """
    if not has_words(appended.source):
        return ()
    first, _ = model.manifest.window.around(appended.position)
    return tuple(entry for entry in appended.preceding if entry.position >= first and has_words(entry.source))


def _last_unfinished(model: Model, read: tuple[Entry, ...]) -> Entry | None:
    """Return the sentence to wait for, if any: the last unfinished one, which itself waits for those before it."""
    if not model.manifest.reads_target_context:
        return None
    return next((entry for entry in reversed(read) if entry.answer is None), None)


def _sentence(entry: Entry) -> Sentence:
    return Sentence(entry.source, None if entry.answer is None else entry.answer.translation)


def _failure(error: BaseException) -> str:
    """Return the code of an error that will occur again, whoever translates the sentence; empty for any other."""
    return error.code if isinstance(error, AntecedentError) and _is_final(error) else ""


def _is_final(error: AntecedentError) -> bool:
    """Return whether an error is due to the sentence itself, so that another attempt will not help."""
    return isinstance(error, RequestError | WorkerDiedError)


def _pauses() -> Iterator[float]:
    pause = _FIRST_PAUSE_SECONDS
    while True:
        yield pause
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
