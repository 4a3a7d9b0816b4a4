"""What DeepL's clients ask for, in terms of documents and sessions."""

from collections.abc import Iterable, Sequence
from itertools import islice

from models.data.spacing import gap_of, primary
from service.deepl.bodies import OfferedLanguage, TextsRequest, TranslatedText
from service.errors import InvalidInputError
from service.inference.catalogue import Model
from service.schemas import DocumentRequest, SessionRequest
from service.segmentation import Segmented
from service.sessions import Sessions
from service.store.document import DocumentKey, State


def source_of(request: TextsRequest, models: Iterable[Model]) -> str:
    """The language of the texts: as the client says, or the only one from which its target language is served.

    Raises:
        InvalidInputError: it does not say, and there are several, or none.
    """
    if request.source_lang is not None:
        return request.source_lang
    target = primary(request.target_lang)
    sources = sorted({model.pair[0] for model in models if primary(model.pair[1]) == target})
    if len(sources) != 1:
        served = ", ".join(sources) or "none"
        raise InvalidInputError(f"source_lang is missing, and is not guessed; served to {target}: {served}")
    return sources[0]


def offered(models: Iterable[Model], *, as_source: bool) -> list[OfferedLanguage]:
    """The languages that some model reads, or writes."""
    codes = {model.pair[0 if as_source else 1].upper() for model in models}
    return [OfferedLanguage(language=code, name=code) for code in sorted(codes)]


def document_of(request: TextsRequest, text: str, source_lang: str, context: list[str]) -> DocumentRequest:
    """One of the texts, as a document of its own."""
    if request.split_sentences == "nonewlines":
        text = gap_of(source_lang).join(text.splitlines())
    whole = request.split_sentences == "0"
    return DocumentRequest(
        source_lang=source_lang,
        target_lang=request.target_lang,
        text=None if whole else text,
        sentences=[text] if whole else None,
        context=context,
    )


async def named(sessions: Sessions, tenant: str, request: TextsRequest, source_lang: str) -> DocumentKey:
    """The document that a client of this tenant calls so; it begins, if it is not there yet or has expired.

    Raises:
        AntecedentError: see `Sessions.create`.
    """
    begun = SessionRequest(source_lang=source_lang, target_lang=request.target_lang)
    created = await sessions.create(tenant, begun, f"deepl\0{request.document_id}")
    return DocumentKey(tenant, created.session_id)


async def append(sessions: Sessions, document: DocumentKey, texts: Sequence[Segmented], target_lang: str) -> list[str]:
    """The translations of texts, whose sentences are the next of a document; or its last already, in a repeated call.

    Raises:
        AntecedentError: see `Sessions.read` and `Sessions.translate`; those before stay in the document.
    """
    sentences = [sentence for text in texts for sentence in text.sentences]
    first = _place(await sessions.read(document), sentences)
    found = []
    for position, sentence in enumerate(sentences, first):
        answer = await sessions.translate(document, sentence, position=position, idempotency_key=None)
        found.append(answer.translation)
    translations = iter(found)
    gap = gap_of(target_lang)
    return [text.join(list(islice(translations, len(text.sentences))), gap=gap) for text in texts]


def _place(state: State, sentences: Sequence[str]) -> int:
    """Where sentences belong: behind the last, unless they begin with the last ones.

    DeepL's clients repeat by themselves a call whose answer was lost, and have nothing by which to know it again.
    """
    kept = {entry.position: entry.source for entry in state.entries}
    for place in range(max(0, state.next_position - len(sentences)), state.next_position):
        there = range(place, state.next_position)
        if [kept.get(position) for position in there] == list(sentences[: len(there)]):
            return place
    return state.next_position


def translated(text: str, source_lang: str, translation: str) -> TranslatedText:
    """A translation as a client reads it."""
    return TranslatedText(detected_source_language=source_lang.upper(), text=translation, billed_characters=len(text))
