"""Map the requests of DeepL's clients to texts and sessions."""

from collections.abc import Iterable, Sequence
from itertools import chain, islice
from typing import Final

from service.deepl.bodies.texts import OfferedLanguage, TextsRequest, TranslatedText
from service.errors import InvalidInputError
from service.inference.catalogue import Model
from service.schemas.sessions import SessionRequest
from service.schemas.terms import GlossaryTerm
from service.store.context_store import KEPT_POSITIONS
from service.store.document import DocumentKey, State
from service.texts.language_names import name_of
from service.texts.reading import Asked, ReadText
from service.texts.tagged import Markup
from service.use_cases.sessions import Sessions
from service.use_cases.terms import written

_VARIANTS: Final = {"EN": ("EN-GB", "EN-US"), "PT": ("PT-BR", "PT-PT")}
"""Variants to offer for targets that DeepL's own client refuses without a region; the model is the same for both."""


def offered(models: Iterable[Model], *, as_source: bool) -> list[OfferedLanguage]:
    """Return the languages that some model translates from, or into."""
    codes = {model.pair[0 if as_source else 1].upper() for model in models}
    named = chain.from_iterable((code,) if as_source else _VARIANTS.get(code, (code,)) for code in sorted(codes))
    return [OfferedLanguage(language=code, name=name_of(code)) for code in named]


def asked_for(request: TextsRequest, source_lang: str, glossary: Sequence[GlossaryTerm]) -> Asked:
    """Combine a request with its source language and the terms of its glossary."""
    return Asked(
        request.text,
        source_lang,
        request.target_lang,
        glossary,
        markup=_markup(request),
        whole=request.split == "0",
        join_lines=request.split == "nonewlines",
    )


def _markup(request: TextsRequest) -> Markup | None:
    if request.tag_handling is None:
        return None
    return Markup(
        request.tag_handling,
        ignored=frozenset(request.ignore_tags),
        splitting=frozenset(request.splitting_tags),
        joining=frozenset(request.non_splitting_tags),
        outline=request.outline_detection,
    )


async def named(sessions: Sessions, tenant: str, request: TextsRequest, asked: Asked) -> DocumentKey:
    """Return the document that a tenant's client names with `document_id`; begin it if it is new or has expired.

    With another glossary, or with other terms in it, it is another document.

    Raises:
        AntecedentError: see `Sessions.create`.
    """
    begun = SessionRequest(source_lang=asked.source_lang, target_lang=asked.target_lang, glossary=list(asked.glossary))
    ids = filter(None, ("deepl", request.document_id, written(asked.glossary)))
    created = await sessions.create(tenant, begun, "\0".join(ids))
    return DocumentKey(tenant, created.session_id)


async def append(sessions: Sessions, document: DocumentKey, texts: Sequence[ReadText], target_lang: str) -> list[str]:
    """Translate texts as the next sentences of a document, or its last ones already if the call is repeated.

    Raises:
        InvalidInputError: they have more sentences than a document keeps: a repeated call would not be recognised.
        AntecedentError: see `Sessions.read` and `Sessions.translate`; sentences before the failed one stay.
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
    return [text.join(list(islice(translations, len(text.sentences))), target_lang) for text in texts]


def _place(state: State, sentences: Sequence[str]) -> int:
    """Return the position of the first sentence: after the last one, unless the last ones are the first of these.

    DeepL's clients automatically repeat a call whose answer was lost, and send nothing to recognise it by.
    """
    kept = {entry.position: entry.source for entry in state.entries}
    for place in range(max(0, state.next_position - len(sentences)), state.next_position):
        there = range(place, state.next_position)
        if [kept.get(position) for position in there] == list(sentences[: len(there)]):
            return place
    return state.next_position


def translated(text: str, source_lang: str, translation: str) -> TranslatedText:
    """Show a translation to a client."""
    return TranslatedText(detected_source_language=source_lang.upper(), text=translation, billed_characters=len(text))
