"""What DeepL's clients ask for, in terms of documents and sessions."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final

from models.data.spacing import gap_of, primary
from service.deepl.bodies import OfferedLanguage, TextsRequest, TranslatedText
from service.documents import Documents
from service.errors import InvalidInputError
from service.inference.catalogue import Model
from service.schemas import DocumentRequest, SessionRequest
from service.segmentation import Segmented
from service.sessions import Sessions
from service.store.context_store import KEPT_POSITIONS
from service.store.document import DocumentKey, State

OneText = tuple[DocumentRequest, Segmented]
"""One of the texts, as a document of its own, and its sentences."""
_VARIANTS: Final = {"EN": ("EN-GB", "EN-US"), "PT": ("PT-BR", "PT-PT")}
"""Targets without a region that DeepL's own client refuses before it asks; the model is the same."""


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
    named = chain.from_iterable((code,) if as_source else _VARIANTS.get(code, (code,)) for code in sorted(codes))
    return [OfferedLanguage(language=code, name=code) for code in named]


def document_of(request: TextsRequest, text: str, source_lang: str, context: list[str]) -> DocumentRequest:
    """One of the texts, as a document of its own."""
    text = _lines_joined(request, text, source_lang)
    whole = request.split_sentences == "0"
    return DocumentRequest(
        source_lang=source_lang,
        target_lang=request.target_lang,
        text=None if whole else text,
        sentences=[text] if whole else None,
        context=context,
    )


async def segmented(documents: Documents, request: TextsRequest, source_lang: str) -> list[Segmented]:
    """The sentences of each text, split as the client says.

    Raises:
        InvalidInputError: they are, together, more than a document may have.
    """
    if request.split_sentences == "0":
        return [Segmented((text,), ("", "")) for text in request.text]
    return await documents.split([_lines_joined(request, text, source_lang) for text in request.text], source_lang)


def _lines_joined(request: TextsRequest, text: str, source_lang: str) -> str:
    return gap_of(source_lang).join(text.splitlines()) if request.split_sentences == "nonewlines" else text


def counted(texts: Iterable[Segmented]) -> int:
    """The sentences of texts, as a key's are counted: one without any has been looked through as well."""
    return sum(max(1, len(text.sentences)) for text in texts)


def in_groups(documents: Iterable[OneText], most: int) -> list[list[OneText]]:
    """Documents, those together that have at most so many sentences; a larger one is alone."""
    groups: list[list[OneText]] = []
    room = 0
    for document in documents:
        size = len(document[1].sentences)
        if not groups or size > room:
            groups.append([])
            room = most
        groups[-1].append(document)
        room -= size
    return groups


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
        InvalidInputError: they are more than a document keeps, so a repeated call could not be told from a new one.
        AntecedentError: see `Sessions.read` and `Sessions.translate`; those before stay in the document.
    """
    sentences = [sentence for text in texts for sentence in text.sentences]
    if len(sentences) > KEPT_POSITIONS:
        raise InvalidInputError(f"texts with document_id may have at most {KEPT_POSITIONS} sentences in one call")
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
