"""The use case of sessions: documents that grow sentence by sentence."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from service.errors import (
    DeadlineError,
    InvalidInputError,
    SessionConflictError,
    SessionNotFoundError,
    SessionsNotServedError,
)
from service.inference.admission import Admission
from service.schemas.sentences import TranslatedSentence
from service.schemas.sessions import SessionCreated, SessionRequest
from service.settings import Settings
from service.store.context_store import ContextStore
from service.store.document import Appended, DocumentKey, Entry, Lease, Session, State
from service.telemetry.metrics import Metrics
from service.use_cases.alternatives import as_sent
from service.use_cases.idempotency import id_of
from service.use_cases.limits import check_length, check_session_memory, check_terms
from service.use_cases.model_changes import Models
from service.use_cases.sentences import Sentences
from service.use_cases.terms import written


@dataclass(frozen=True, slots=True)
class Placed:
    """A sentence that has its place in a document; whoever placed it has to get its answer."""

    document: DocumentKey
    appended: Appended
    lease: Lease
    idempotency_key: str | None


class Sessions:
    """Translates documents that grow: their sentences are in Redis, so that any replica can serve any sentence."""

    def __init__(
        self,
        models: Models,
        admission: Admission,
        store: ContextStore,
        settings: Settings,
        metrics: Metrics,
        new_id: Callable[[], str],
    ) -> None:
        self._models = models
        self._admission = admission
        self._store = store
        self._settings = settings
        self._metrics = metrics
        self._new_id = new_id
        self._sentences = Sentences(models, store, new_id, settings.session_lease_seconds)

    async def create(self, tenant: str, request: SessionRequest, idempotency_key: str | None) -> SessionCreated:
        """Begin a document, or find the one that the tenant has begun with this key.

        Without a key, the document's id cannot be guessed. With a key, an existing document is found even if its model
        is gone, or the queue is full.

        Raises:
            InvalidInputError: the time-to-live is longer than allowed, or the glossary or the memory exceeds a limit.
            SentenceTooLongError: a translation of the memory has more characters than accepted.
            SessionConflictError: the document that the tenant has begun with this key is a different one.
            SessionsNotServedError: the model translates whole documents only.
            QueueFullError: the queue is needed for sessions that are under way.
            AntecedentError: see `Catalogue.choose` and `ContextStore`.
        """
        ttl = request.ttl_seconds or self._settings.session_ttl_seconds
        if ttl > self._settings.session_max_ttl_seconds:
            raise InvalidInputError(f"ttl_seconds must be at most {self._settings.session_max_ttl_seconds}")
        check_terms(request.glossary, self._settings)
        check_session_memory(request.memory, self._settings)
        session_id = self._new_id() if idempotency_key is None else id_of(tenant, idempotency_key)
        document = DocumentKey(tenant, session_id)
        state = None if idempotency_key is None else await self._begun(document)
        if state is None:
            state = await self._store.create(document, self._session(request, ttl))
        if not _asked_for(state.session, request):
            raise SessionConflictError
        return SessionCreated(
            session_id=session_id,
            model=state.session.model,
            window=state.session.window,
            next_position=state.next_position,
        )

    async def _begun(self, document: DocumentKey) -> State | None:
        with suppress(SessionNotFoundError):
            return await self._store.read(document)
        return None

    def _session(self, request: SessionRequest, ttl: int) -> Session:
        """Describe a new document, if there are a model and room in the queue for it."""
        model = self._models.catalogue.choose(request.source_lang, request.target_lang, request.model)
        if not model.manifest.serves_sessions:
            raise SessionsNotServedError(model.name)
        self._admission.check_new_session()
        return Session(
            model.name,
            model.fingerprint,
            request.source_lang,
            request.target_lang,
            model.window,
            ttl,
            written(request.glossary),
            written(request.memory),
            request.beam_size,
            request.alternatives,
            self._new_id(),
        )

    async def translate(
        self, document: DocumentKey, text: str, *, position: int | None, idempotency_key: str | None
    ) -> TranslatedSentence:
        """Translate the next sentence of a document, or return the answer of an earlier one again.

        Raises:
            AntecedentError: see `place` and `answer`.
        """
        return await self.answer(await self.place(document, text, position=position, idempotency_key=idempotency_key))

    async def place(
        self,
        document: DocumentKey,
        text: str,
        *,
        position: int | None,
        idempotency_key: str | None = None,
        least: int = 0,
    ) -> Placed:
        """Give the next sentence of a document its place, or find an earlier one in its place.

        Without a position, the place is `least` or a later one.

        Raises:
            SentenceTooLongError: it has more characters than accepted.
            AntecedentError: see `Admission.reserve` and `ContextStore.append`.
        """
        check_length(text, self._settings.max_sentence_characters, "the sentence")
        lease = self._sentences.lease()
        with self._admission.reserve(document.session_id):
            append = self._store.append(
                document, text, position=position, idempotency_key=idempotency_key, lease=lease, least=least
            )
            appending = asyncio.create_task(append)
            try:
                appended = await asyncio.shield(appending)
            except asyncio.CancelledError:
                await self._sentences.take_back(document, appending, lease)
                raise
        if appended.answer is not None:
            self._metrics.stored_answers.inc()
        return Placed(document, appended, lease, idempotency_key)

    async def answer(self, placed: Placed) -> TranslatedSentence:
        """Translate a sentence that has its place, or return the answer that it already has.

        A sentence that cannot be translated is removed from the document if it is the last one.

        Raises:
            DeadlineError: the translation took too long.
            AntecedentError: see `Sentences.answer`.
        """
        try:
            async with asyncio.timeout(self._settings.deadline_seconds):
                answer = await self._sentences.answer(
                    placed.document, placed.appended, placed.lease, placed.idempotency_key
                )
        except TimeoutError:
            raise DeadlineError from None
        return TranslatedSentence(
            position=placed.appended.position,
            source=placed.appended.source,
            translation=answer.translation,
            score=answer.score,
            context_size=answer.context_size,
            alternatives=as_sent(answer.alternatives),
        )

    async def correct(self, document: DocumentKey, position: int, translation: str) -> Entry:
        """Put the client's own translation at a position; see `ContextStore.correct`.

        Raises:
            SentenceTooLongError: it has more characters than accepted.
            AntecedentError: see `ContextStore.correct`.
        """
        check_length(translation, self._settings.max_translation_characters, "the translation")
        return await self._sentences.correct(document, position, translation)

    async def read(self, document: DocumentKey) -> State:
        """Return the current state of a document; see `ContextStore.read`."""
        return await self._store.read(document)

    def close(self) -> None:
        """End all waiting for sentences of other replicas; those who wait get ShuttingDownError."""
        self._sentences.close()

    async def resume(self, document: DocumentKey) -> State:
        """Return the current state of a document, if this replica has the model to continue it.

        Raises:
            AntecedentError: see `ContextStore.read` and `Models.for_session`.
        """
        state = await self._store.read(document)
        await self._models.for_session(state.session.model, state.session.fingerprint)
        return state

    async def delete(self, document: DocumentKey) -> None:
        """Delete a document at once; see `ContextStore.delete`."""
        await self._store.delete(document)


def _asked_for(found: Session, request: SessionRequest) -> bool:
    """Return whether a session matches a request; options that the request leaves open match anything."""
    return (
        (found.source_lang, found.target_lang) == (request.source_lang, request.target_lang)
        and request.model in (None, found.model)
        and request.ttl_seconds in (None, found.ttl_seconds)
        and written(request.glossary) == found.glossary
        and written(request.memory) == found.memory
        and (request.beam_size, request.alternatives) == (found.beam_size, found.alternatives)
    )
