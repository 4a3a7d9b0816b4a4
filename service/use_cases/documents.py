"""The use case of translating whole documents."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

from models.engine.requests import Options, Translation, TranslationRequest
from models.text.spacing import sentence_gap_of
from service.errors import InvalidInputError
from service.inference.admission import Admission, Place
from service.inference.backlog import Turn
from service.inference.catalogue import Catalogue, Model
from service.inference.document_queue import DocumentQueue
from service.inference.wire import Priority
from service.schemas.documents import DocumentAnswer, DocumentEnd, DocumentRequest, StreamedSentence
from service.schemas.sentences import TranslatedSentence
from service.segmentation.named_links import with_addresses
from service.segmentation.paragraphs import unwrapped
from service.segmentation.splitting import Segmented, split
from service.settings import Settings
from service.threads import in_thread_if_long
from service.use_cases.alternatives import as_sent, options, others
from service.use_cases.known import Finder, Known, known_of
from service.use_cases.limits import check_alternatives, check_length, check_number, check_segments, check_terms


@dataclass(frozen=True, slots=True)
class PreparedDocument:
    """A document ready to be translated: within the limits, split, with its model and reserved places in the queue."""

    id: str
    request: DocumentRequest
    model: Model
    segmented: Segmented
    known: Known
    place: Place

    @property
    def sentences(self) -> tuple[str, ...]:
        """Its sentences, in order."""
        return self.segmented.sentences


class DocumentStream:
    """The translated sentences of a document, in order, as they become ready."""

    def __init__(self, prepared: PreparedDocument, queue: DocumentQueue) -> None:
        self._prepared = prepared
        self._model = prepared.model.name
        self._queue = queue
        self._gap = sentence_gap_of(prepared.request.target_lang)
        self._separators = prepared.segmented.separators_with(self._gap)
        self._position = 0

    def __aiter__(self) -> "DocumentStream":
        """Iterate over the remaining sentences."""
        return self

    async def __anext__(self) -> StreamedSentence:
        """Return the next sentence; see `DocumentQueue.__anext__`."""
        translation = await anext(self._queue)
        before = self._separators[self._position]
        sentence = StreamedSentence(before=before, **self._members(self._position, translation))
        self._position += 1
        return sentence

    async def ready(self, seconds: float) -> bool:
        """Wait for the next sentence or the end, but no longer than `seconds`; see `DocumentQueue.ready`."""
        return await self._queue.ready(seconds)

    def end(self) -> DocumentEnd:
        """Return what is sent after the last sentence."""
        sentences = len(self._prepared.sentences)
        return DocumentEnd(id=self._prepared.id, model=self._model, sentences=sentences, after=self._separators[-1])

    async def whole(self) -> DocumentAnswer:
        """Return all sentences, once the last is translated; see `DocumentQueue.__anext__`."""
        translations = [translation async for translation in self._queue]
        return DocumentAnswer(
            id=self._prepared.id,
            model=self._model,
            text=self._prepared.segmented.join([translation.text for translation in translations], gap=self._gap),
            sentences=[
                TranslatedSentence(**self._members(position, translation))
                for position, translation in enumerate(translations)
            ],
        )

    def _members(self, position: int, translation: Translation) -> dict[str, Any]:
        source = self._prepared.sentences[position]
        return {
            "position": position,
            "source": source,
            "translation": translation.text,
            "score": None if source in self._prepared.known.translations else translation.score,
            "context_size": translation.context_size,
            "alternatives": as_sent(others(translation)),
        }


class Documents:
    """Translates whole documents, which need no Redis; each is one flow of the queue.

    Sentences have the priority `bulk`, except for a first one that somebody waits for: because the document is read as
    events, or has just one sentence. `concurrency` is how many sentences of a document may be in the queue at a time,
    however much room there is; `ping_seconds` and `idle_seconds` apply to readers of documents sent as events.
    """

    def __init__(
        self, catalogue: Catalogue, admission: Admission, settings: Settings, new_id: Callable[[], str]
    ) -> None:
        self._catalogue = catalogue
        self._admission = admission
        self._settings = settings
        self._new_id = new_id
        self.concurrency = settings.document_concurrency
        self.ping_seconds = settings.stream_ping_seconds
        self.idle_seconds = settings.stream_idle_seconds

    @asynccontextmanager
    async def prepare(
        self, request: DocumentRequest, segmented: Segmented | None = None, find: Finder | None = None
    ) -> AsyncIterator[PreparedDocument]:
        """Choose the model, split the text if it is not `segmented` yet, and check the limits; nothing is queued.

        `find` takes the place of the request's memory if that has been checked already.

        The document keeps its model until the end of the block, even if that is replaced meanwhile.

        Raises:
            InvalidInputError, SentenceTooLongError: the document exceeds a limit.
            AntecedentError: see `Catalogue.choose` and `Admission.reserve`.
        """
        document = self._new_id()
        model = self._catalogue.choose(request.source_lang, request.target_lang, request.model)
        with model.hold():
            self._check_context(request.context)
            check_terms(request.glossary, self._settings)
            check_segments(request.memory, self._settings)
            if segmented is None:
                with self._admission.reserve(document, self._places(self._fewest(request))):
                    segmented = await self._segmented(request)
            self.check_sentences(segmented.sentences)
            check_alternatives(len(segmented.sentences), request.alternatives, self._settings.max_document_sentences)
            self._check_drafts(request.drafts or ())
            with self._admission.reserve(document, self._places(len(segmented.sentences))) as place:
                known = await known_of(request, segmented.sentences, find)
                yield PreparedDocument(document, request, model, segmented, known, place)

    @contextmanager
    def stream(
        self, prepared: PreparedDocument, *, awaited: bool, among_others: bool = False
    ) -> Iterator[DocumentStream]:
        """Queue the first sentences; at the end of the block, those still waiting leave the queue.

        `awaited` says whether somebody waits for the first sentence, not for the whole document; `among_others`,
        whether several documents are awaited together, so that one of a single sentence gets no higher priority.

        Raises:
            AntecedentError: see `Batcher.enqueue`.
        """
        alone = len(prepared.sentences) == 1 and not among_others
        queue = self._queue(prepared, "interactive" if awaited or alone else "bulk")
        prepared.place.give_up()
        try:
            yield DocumentStream(prepared, queue)
        finally:
            queue.close()

    def _queue(self, prepared: PreparedDocument, first: Priority) -> DocumentQueue:
        request, model = prepared.request, prepared.model
        manifest = model.manifest
        in_context = request.strategy != "sentence"
        options = _options(request, manifest.decoding.beam_size)
        turns = chain([Turn(prepared.id, first)], repeat(Turn(prepared.id, "bulk")))

        def enqueue(sentence: TranslationRequest) -> asyncio.Future[Translation]:
            translation = prepared.known.translations.get(sentence.source)
            if translation is not None:
                return _completed(Translation.given(translation))
            return model.batcher.enqueue(prepared.known.annotated(sentence), options, next(turns))

        return DocumentQueue(
            prepared.sentences,
            request.context,
            enqueue,
            drafts=request.drafts,
            around=manifest.window.around if in_context else _alone,
            room=lambda: self._places(self._admission.share()),
            in_turn=in_context and manifest.reads_target_context,
        )

    def _places(self, sentences: int) -> int:
        """Return how many of so many sentences may be in the queue at a time."""
        return min(sentences, self.concurrency)

    def _fewest(self, request: DocumentRequest) -> int:
        """Return the number of sentences; for a text, not split yet, the least it must have if none is too long."""
        if request.text is None:
            return len(request.sentences or ())
        return -(-len(request.text) // self._settings.max_sentence_characters)

    async def split(self, texts: Sequence[str], language: str, *, unwrap: bool = False) -> list[Segmented]:
        """Split each text into sentences; with `unwrap`, its paragraphs may be wrapped by hand, and links be named.

        Raises:
            InvalidInputError: together, they are more than a document may have.
        """
        settings = self._settings
        longest, most = settings.max_sentence_characters, settings.max_document_sentences

        def work() -> list[Segmented]:
            found, room = list[Segmented](), most + 1
            for text in texts:
                read = with_addresses(unwrapped(text, language)) if unwrap else text
                found.append(split(read, language, longest=longest, most=room))
                room -= len(found[-1].sentences)
                if room == 0:
                    break
            return found

        found = await in_thread_if_long(work, texts)
        check_number(sum(len(text.sentences) for text in found), most)
        return found

    async def _segmented(self, request: DocumentRequest) -> Segmented:
        if request.text is None:
            return _as_given(request.sentences or ())
        (segmented,) = await self.split([request.text], request.source_lang, unwrap=True)
        return segmented

    def _check_context(self, context: Sequence[str]) -> None:
        settings = self._settings
        if len(context) > settings.max_context_sentences:
            raise InvalidInputError(
                f"the context has {len(context)} sentences; at most {settings.max_context_sentences} are accepted"
            )
        for position, sentence in enumerate(context):
            check_length(sentence, settings.max_sentence_characters, f"context sentence {position}")

    def check_sentences(self, sentences: Sequence[str]) -> None:
        """Refuse more sentences, or longer ones, than are accepted.

        Raises:
            InvalidInputError, SentenceTooLongError: they exceed a limit, which the message states.
        """
        settings = self._settings
        check_number(len(sentences), settings.max_document_sentences)
        for position, sentence in enumerate(sentences):
            check_length(sentence, settings.max_sentence_characters, f"sentence {position}", position=position)

    def _check_drafts(self, drafts: Sequence[str | None]) -> None:
        for position, draft in enumerate(drafts):
            check_length(draft or "", self._settings.max_translation_characters, f"draft {position}", position=position)


def _options(request: DocumentRequest, beam_size: int) -> Options:
    """Return the options for a document, with a model of this beam size."""
    if request.drafts is not None:
        return Options("verify", request.beam_size)
    return options(request.strategy, request.beam_size, request.alternatives, beam_size)


def _as_given(sentences: Sequence[str]) -> Segmented:
    """Put the caller's sentences on lines of their own."""
    between = ("\n",) * (len(sentences) - 1)
    return Segmented(tuple(sentences), ("", *between, "") if sentences else ("",))


def _completed(translation: Translation) -> asyncio.Future[Translation]:
    """Return a future that already has its result."""
    future = asyncio.get_running_loop().create_future()
    future.set_result(translation)
    return future


def _alone(position: int) -> tuple[int, int]:
    """Return the window of a sentence that is translated without context."""
    return position, position + 1
