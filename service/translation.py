"""The use cases: a whole document, and a document that grows sentence by sentence."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress

from models.bundle.requests import Options, Translation, TranslationRequest
from models.data.documents import Sentence
from models.errors import SentenceTooLongError
from service.batcher import Admission
from service.catalogue import Catalogue, Model
from service.context_store import Answer, Appended, ContextStore, DocumentKey, Lease, Session, State
from service.errors import InvalidInputError, ServiceError
from service.schemas import DocumentAnswer, DocumentRequest, SessionRequest, TranslatedSentence
from service.segmentation import Segmented, gap_of, split
from service.settings import Settings


class Documents:
    """Whole documents: need no Redis. With source-only context no sentence has to wait for the one before it."""

    def __init__(
        self, catalogue: Catalogue, admission: Admission, settings: Settings, new_id: Callable[[], str]
    ) -> None:
        self._catalogue = catalogue
        self._admission = admission
        self._settings = settings
        self._new_id = new_id

    async def translate(self, request: DocumentRequest) -> DocumentAnswer:
        """Translate each sentence of a document with those before it.

        Raises:
            InvalidInputError, SentenceTooLongError: the document exceeds a limit.
            AntecedentError: see `Catalogue.choose`, `Admission.reserve` and `Batcher.submit`.
        """
        model = self._catalogue.choose(request.source_lang, request.target_lang, request.model)
        with self._admission.reserve():
            document = self._sentences(request)
            self._check(document.sentences, request.context)
        window = model.window if request.strategy == "direct" else 0
        requests = requests_of(document.sentences, request.context, window)
        done = await self._all(model, requests, Options(request.strategy, request.beam_size))
        return DocumentAnswer(
            id=self._new_id(),
            model=model.name,
            text=document.join([translated.text for translated in done], gap=gap_of(request.target_lang)),
            sentences=[
                TranslatedSentence(
                    position=position,
                    source=source,
                    translation=translated.text,
                    score=translated.score,
                    context_size=translated.context_size,
                )
                for position, (source, translated) in enumerate(zip(document.sentences, done, strict=True))
            ],
        )

    def _sentences(self, request: DocumentRequest) -> Segmented:
        if request.text is not None:
            return split(request.text, request.source_lang, longest=self._settings.max_sentence_characters)
        sentences = tuple(request.sentences or ())
        between = ("\n",) * (len(sentences) - 1)
        return Segmented(sentences, ("", *between, "") if sentences else ("",))

    def _check(self, sentences: Sequence[str], context: Sequence[str]) -> None:
        settings = self._settings
        if len(sentences) > settings.max_document_sentences:
            raise InvalidInputError(
                f"{len(sentences)} sentences; at most {settings.max_document_sentences} are accepted"
            )
        if len(context) > settings.max_context_sentences:
            raise InvalidInputError(f"{len(context)} context sentences; at most {settings.max_context_sentences}")
        for position, sentence in enumerate(sentences):
            check_length(sentence, settings.max_sentence_characters, f"sentence {position}")
        for position, sentence in enumerate(context):
            check_length(sentence, settings.max_sentence_characters, f"context sentence {position}")

    async def _all(self, model: Model, requests: Sequence[TranslationRequest], options: Options) -> list[Translation]:
        """Translate all, a bounded number at a time; the first error ends the rest."""
        turns = asyncio.Semaphore(self._settings.document_concurrency)

        async def one(request: TranslationRequest) -> Translation:
            async with turns:
                return await model.batcher.submit(request, options)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(request)) for request in requests]
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return [task.result() for task in tasks]


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
                done = await model.batcher.submit(request, Options())
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


def requests_of(sentences: Sequence[str], context: Sequence[str], window: int) -> list[TranslationRequest]:
    """Each sentence with the `window` sentences before it; `context` comes before the first."""
    history = [Sentence(source) for source in (*context, *sentences)]
    first = len(context)
    return [
        TranslationRequest(sentence, tuple(history[max(0, first + position - window) : first + position]))
        for position, sentence in enumerate(sentences)
    ]


def check_length(sentence: str, most: int, which: str) -> None:
    """Refuse a sentence with more characters than are accepted.

    Raises:
        SentenceTooLongError: says how long it is and may be.
    """
    if len(sentence) > most:
        raise SentenceTooLongError(f"{which} has {len(sentence)} characters; at most {most} are accepted")
