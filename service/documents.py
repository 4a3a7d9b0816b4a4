"""The use case of whole documents."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from models.bundle.requests import Options, Translation, TranslationRequest
from models.data.documents import Sentence
from service.errors import InvalidInputError
from service.inference.admission import Admission
from service.inference.backlog import Turn
from service.inference.catalogue import Catalogue, Model
from service.limits import check_length
from service.schemas import DocumentAnswer, DocumentRequest, TranslatedSentence
from service.segmentation import Segmented, gap_of, split
from service.settings import Settings


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document that can be translated: within the limits, split into sentences, its model chosen."""

    id: str
    request: DocumentRequest
    model: Model
    segmented: Segmented

    @property
    def sentences(self) -> tuple[str, ...]:
        """Its sentences, in order."""
        return self.segmented.sentences


class Documents:
    """Whole documents: need no Redis. With source-only context no sentence has to wait for the one before it."""

    def __init__(
        self, catalogue: Catalogue, admission: Admission, settings: Settings, new_id: Callable[[], str]
    ) -> None:
        self._catalogue = catalogue
        self._admission = admission
        self._settings = settings
        self._new_id = new_id

    def prepare(self, request: DocumentRequest) -> PreparedDocument:
        """Choose the model, split the text and check the limits; nothing is queued.

        Raises:
            InvalidInputError, SentenceTooLongError: the document exceeds a limit.
            AntecedentError: see `Catalogue.choose` and `Admission.reserve`.
        """
        model = self._catalogue.choose(request.source_lang, request.target_lang, request.model)
        with self._admission.reserve():
            document = self._sentences(request)
            self._check(document.sentences, request.context)
        return PreparedDocument(self._new_id(), request, model, document)

    async def translate(self, prepared: PreparedDocument) -> DocumentAnswer:
        """Translate each sentence of a document with those before it.

        Raises:
            AntecedentError: see `Catalogue.hold` and `Batcher.submit`.
        """
        request, document = prepared.request, prepared.segmented
        with self._catalogue.hold(prepared.model) as model:
            window = model.window if request.strategy == "direct" else 0
            requests = requests_of(document.sentences, request.context, window)
            done = await self._all(model, prepared, requests)
        return DocumentAnswer(
            id=prepared.id,
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

    async def _all(
        self, model: Model, prepared: PreparedDocument, requests: Sequence[TranslationRequest]
    ) -> list[Translation]:
        """Translate all, a bounded number at a time; the first error ends the rest."""
        turns = asyncio.Semaphore(self._settings.document_concurrency)
        options = Options(prepared.request.strategy, prepared.request.beam_size)
        turn = Turn(prepared.id, "bulk")

        async def one(request: TranslationRequest) -> Translation:
            async with turns:
                return await model.batcher.submit(request, options, turn)

        try:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(one(request)) for request in requests]
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None
        return [task.result() for task in tasks]


def requests_of(sentences: Sequence[str], context: Sequence[str], window: int) -> list[TranslationRequest]:
    """Each sentence with the `window` sentences before it; `context` comes before the first."""
    history = [Sentence(source) for source in (*context, *sentences)]
    first = len(context)
    return [
        TranslationRequest(sentence, tuple(history[max(0, first + position - window) : first + position]))
        for position, sentence in enumerate(sentences)
    ]
