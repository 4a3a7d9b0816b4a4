"""The use case of documents that grow sentence by sentence."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from models.bundle.requests import Options, TranslationRequest
from models.data.documents import Sentence
from service.errors import InvalidInputError, ServiceError
from service.inference.admission import Admission
from service.inference.backlog import Turn
from service.inference.catalogue import Catalogue
from service.limits import check_length
from service.schemas import SessionRequest, TranslatedSentence
from service.settings import Settings
from service.store.context_store import Answer, Appended, ContextStore, DocumentKey, Lease, Session, State


class Sessions:
    """Documents that grow: the preceding sentences are in Redis, so every replica can serve every sentence."""

    def __init__(
        self,
        catalogue: Catalogue,
        admission: Admission,
        store: ContextStore,
        settings: Settings,
        new_id: Callable[[], str],
    ) -> None:
        self._catalogue = catalogue
        self._admission = admission
        self._store = store
        self._settings = settings
        self._new_id = new_id

    async def create(self, tenant: str, request: SessionRequest) -> tuple[str, Session]:
        """Begin a document; gives its id, which cannot be guessed.

        Raises:
            InvalidInputError: a time-to-live longer than allowed.
            AntecedentError: see `Catalogue.choose` and `ContextStore`.
        """
        model = self._catalogue.choose(request.source_lang, request.target_lang, request.model)
        ttl = request.ttl_seconds or self._settings.session_ttl_seconds
        if ttl > self._settings.session_max_ttl_seconds:
            raise InvalidInputError(f"ttl_seconds is at most {self._settings.session_max_ttl_seconds}")
        session = Session(model.name, request.source_lang, request.target_lang, model.window, ttl)
        session_id = self._new_id()
        await self._store.create(DocumentKey(tenant, session_id), session)
        return session_id, session

    async def translate(
        self, document: DocumentKey, text: str, *, position: int | None, idempotency_key: str | None
    ) -> TranslatedSentence:
        """Translate the next sentence of a document, or give the answer of an earlier one again.

        A sentence that cannot be translated is taken back, so that it does not stand in the way of another one.

        Raises:
            SentenceTooLongError: more characters than accepted.
            AntecedentError: see `Admission.reserve`, `ContextStore.append`, `Catalogue.named` and `Batcher.submit`.
        """
        check_length(text, self._settings.max_sentence_characters, "the sentence")
        lease = Lease(self._new_id(), int(1000 * self._settings.deadline_seconds))
        with self._admission.reserve():
            appended = await self._store.append(
                document, text, position=position, idempotency_key=idempotency_key, lease=lease
            )
        answer = appended.answer
        if answer is None:
            async with self._taken_back_on_failure(document, appended):
                model = self._catalogue.named(appended.model)
                request = TranslationRequest(text, tuple(map(Sentence, appended.preceding)))
                done = await model.batcher.submit(request, Options(), Turn(document.session_id, "interactive"))
            answer = await self._store.finish(
                document, appended.position, Answer(done.text, done.score, done.context_size)
            )
        return TranslatedSentence(
            position=appended.position,
            source=text,
            translation=answer.translation,
            score=answer.score,
            context_size=answer.context_size,
        )

    async def read(self, document: DocumentKey) -> State:
        """The document as it stands; see `ContextStore.read`."""
        return await self._store.read(document)

    async def delete(self, document: DocumentKey) -> None:
        """Forget the document at once; see `ContextStore.delete`."""
        await self._store.delete(document)

    @asynccontextmanager
    async def _taken_back_on_failure(self, document: DocumentKey, appended: Appended) -> AsyncIterator[None]:
        try:
            yield
        except BaseException:  # a client that has left as much as a full queue
            with suppress(ServiceError):
                await self._store.withdraw(document, appended)
            raise
