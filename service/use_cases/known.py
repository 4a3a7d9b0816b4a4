"""What is known of a document's sentences before they are translated."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from models.engine.requests import TranslationRequest
from models.text.glossary import Term
from models.text.memory import Segment, TranslationMemory
from service.schemas.documents import DocumentRequest
from service.segmentation.splitting import parts
from service.threads import in_thread_if_long
from service.use_cases.terms import glossary_of, written

Finder = Callable[[str], str | None]
"""Returns the translation of a sentence; None if it is not known."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known, by sentences as the document has them; for most of them, nothing is."""

    parts: Mapping[str, tuple[str, ...]]
    """The parts of a caller's sentence that is really several ones; not for texts, which are split by the service."""
    terms: Mapping[str, tuple[Term, ...]]
    """The terms of the glossary that a sentence may contain."""
    translations: Mapping[str, str]
    """The translations in the client's memory: these sentences need no model."""

    def annotated(self, sentence: TranslationRequest) -> TranslationRequest:
        """Add its parts and terms to a sentence."""
        inner, terms = self.parts.get(sentence.source), self.terms.get(sentence.source)
        return replace(sentence, parts=inner or (), terms=terms or ()) if inner or terms else sentence


async def known_of(request: DocumentRequest, sentences: Sequence[str], find: Finder | None = None) -> Known:
    """Return what is known of a document's sentences; `find`, if given, takes the place of the request's memory."""
    given = request.sentences or ()
    terms: Mapping[str, tuple[Term, ...]] = {}
    translations: Mapping[str, str] = {}
    if request.glossary:
        terms = await in_thread_if_long(lambda: _terms(request, sentences), sentences)
    if find is not None or request.memory:
        texts = [*sentences, *(segment.source for segment in request.memory)]
        translations = await in_thread_if_long(lambda: _translations(sentences, find or _finder(request)), texts)
    return Known(await in_thread_if_long(lambda: _parts(request, given), given), terms, translations)


def _parts(request: DocumentRequest, sentences: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    found = {sentence: parts(sentence, request.source_lang) for sentence in sentences}
    return {sentence: inner for sentence, inner in found.items() if inner}


def _terms(request: DocumentRequest, sentences: Sequence[str]) -> Mapping[str, tuple[Term, ...]]:
    glossary = glossary_of(written(request.glossary))
    found = {sentence: glossary.may_be_in(sentence) for sentence in sentences}
    return {sentence: terms for sentence, terms in found.items() if terms}


def _finder(request: DocumentRequest) -> Finder:
    return TranslationMemory(Segment(each.source, each.target) for each in request.memory).find


def _translations(sentences: Sequence[str], find: Finder) -> Mapping[str, str]:
    return {sentence: target for sentence in sentences if (target := find(sentence)) is not None}
