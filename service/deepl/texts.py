"""What DeepL's clients ask for, in terms of documents and sessions."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from models.data.spacing import gap_of, primary
from models.data.words import has_words
from service.deepl.bodies import OfferedLanguage, TextsRequest, TranslatedText
from service.deepl.tagged import Markup, Tagged
from service.documents import Documents, beside_others
from service.errors import InvalidInputError
from service.inference.catalogue import Model
from service.schemas import DocumentRequest, GlossaryTerm, SessionRequest
from service.segmentation import Segmented
from service.sessions import Sessions
from service.store.context_store import KEPT_POSITIONS
from service.store.document import DocumentKey, State

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
        raise InvalidInputError(f"the source language is missing, and is not guessed; served to {target}: {served}")
    return sources[0]


def offered(models: Iterable[Model], *, as_source: bool) -> list[OfferedLanguage]:
    """The languages that some model reads, or writes."""
    codes = {model.pair[0 if as_source else 1].upper() for model in models}
    named = chain.from_iterable((code,) if as_source else _VARIANTS.get(code, (code,)) for code in sorted(codes))
    return [OfferedLanguage(language=code, name=code) for code in named]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a client asks for, with what has been found out about it."""

    request: TextsRequest
    source_lang: str
    glossary: list[GlossaryTerm]


@dataclass(frozen=True, slots=True)
class ReadText:
    """One of the texts: its sentences, and how it is made of their translations again."""

    segmented: Segmented
    tagged: Tagged | None
    """What tags it has, unless it is text and no more."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is translated."""
        return self.segmented.sentences

    def join(self, translations: Sequence[str], target_lang: str) -> str:
        """The text in another language."""
        if self.tagged is not None:
            translations = [self.tagged.restored(translation) for translation in translations]
        return self.segmented.join(translations, gap=gap_of(target_lang))

    def document(self, asked: Asked, context: list[str]) -> DocumentRequest:
        """The text as a document of its own."""
        whole = asked.request.split == "0"
        return DocumentRequest(
            source_lang=asked.source_lang,
            target_lang=asked.request.target_lang,
            text=None if whole else self.segmented.join(self.sentences),
            sentences=list(self.sentences) if whole else None,
            context=context,
            glossary=asked.glossary,
        )


async def read_texts(documents: Documents, asked: Asked) -> list[ReadText]:
    """The sentences of each text, split as the client says.

    Raises:
        InvalidInputError: they are, together, more than a document may have, or no well-formed XML.
    """
    request, source_lang = asked.request, asked.source_lang
    tagged = await beside_others(lambda: _tagged(asked), request.text)
    blocks = [
        [_lines_joined(request, text, source_lang)] if one is None else list(one.blocks)
        for text, one in zip(request.text, tagged, strict=True)
    ]
    if request.split == "0":
        split = [_whole(block) for block in chain.from_iterable(blocks)]
    else:
        split = await documents.split(list(chain.from_iterable(blocks)), source_lang)
    of_all = iter(split)
    parts = [list(islice(of_all, len(each))) for each in blocks]
    return await beside_others(
        lambda: [
            ReadText(own[0] if one is None else one.segmented(own), one) for one, own in zip(tagged, parts, strict=True)
        ],
        request.text,
    )


def _whole(text: str) -> Segmented:
    """A text as one sentence, if it has words, and what is around it."""
    if not has_words(text):
        return Segmented((), (text,))
    sentence = text.strip()
    start = text.index(sentence)
    return Segmented((sentence,), (text[:start], text[start + len(sentence) :]))


def _tagged(asked: Asked) -> list[Tagged | None]:
    request = asked.request
    if request.tag_handling is None:
        return [None] * len(request.text)
    markup = Markup(
        request.tag_handling,
        ignored=frozenset(request.ignore_tags),
        splitting=frozenset(request.splitting_tags),
        joining=frozenset(request.non_splitting_tags),
        outline=request.outline_detection,
    )
    join_lines, said = request.split == "nonewlines", "".join(term.target for term in asked.glossary)
    return [markup.read(text, asked.source_lang, join_lines=join_lines, taken=said) for text in request.text]


def _lines_joined(request: TextsRequest, text: str, source_lang: str) -> str:
    return gap_of(source_lang).join(text.splitlines()) if request.split == "nonewlines" else text


def counted(texts: Iterable[ReadText]) -> int:
    """The sentences of texts, as a key's are counted: one without any has been looked through as well."""
    return sum(max(1, len(text.sentences)) for text in texts)


def in_groups(texts: Iterable[ReadText], most: int) -> list[list[ReadText]]:
    """Texts, those together that have at most so many sentences; a larger one is alone."""
    groups: list[list[ReadText]] = []
    room = 0
    for text in texts:
        size = len(text.sentences)
        if not groups or size > room:
            groups.append([])
            room = most
        groups[-1].append(text)
        room -= size
    return groups


async def named(sessions: Sessions, tenant: str, asked: Asked) -> DocumentKey:
    """The document that a client of this tenant calls so; it begins, if it is not there yet or has expired.

    With another glossary it is another document.

    Raises:
        AntecedentError: see `Sessions.create`.
    """
    request = asked.request
    begun = SessionRequest(source_lang=asked.source_lang, target_lang=request.target_lang, glossary=asked.glossary)
    ids = filter(None, ("deepl", request.document_id, request.glossary_id))
    created = await sessions.create(tenant, begun, "\0".join(ids))
    return DocumentKey(tenant, created.session_id)


async def append(sessions: Sessions, document: DocumentKey, texts: Sequence[ReadText], target_lang: str) -> list[str]:
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
    return [text.join(list(islice(translations, len(text.sentences))), target_lang) for text in texts]


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
