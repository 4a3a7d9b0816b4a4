"""Whole documents: `/v1/documents`."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from service.schemas.body import Body
from service.schemas.fields import Alternatives, BeamSize, Deadline, Language, ModelName, Strategy, Text, Texts
from service.schemas.sentences import TranslatedSentence, check_beam
from service.schemas.terms import GlossaryTerms, MemorySegments

Drafts = Annotated[list[Text | None], Field(fail_fast=True)]


class DocumentRequest(Body):
    """A whole document: either text, which the service splits into sentences, or sentences, which it leaves unsplit."""

    source_lang: Language
    target_lang: Language
    text: Text | None = Field(None, examples=["紫式部は宮廷に仕えた。源氏物語を書いた。"])
    """The document as text. Give either `text` or `sentences`."""
    sentences: Texts | None = None
    """The document as a list of sentences."""
    context: Texts = []
    """Source sentences that precede the document, oldest first. They are not translated.

    A model that also reads the translations of preceding sentences has none for these.
    """
    model: ModelName | None = None
    strategy: Strategy = "direct"
    """How to translate.

    `direct` translates each sentence with the preceding ones as context. `sentence` translates each sentence alone.
    `rerank` produces `beam_size` translations of each sentence alone, and uses the preceding sentences to choose one.
    """
    beam_size: BeamSize | None = None
    """Number of hypotheses that the search keeps. Default: the model's own setting, or 1 with `drafts`."""
    alternatives: Alternatives = 0
    """Number of alternative translations to return for each sentence; there may be fewer.

    `beam_size` must be greater than this number; by default, it is. Each alternative counts as a sentence towards the
    maximum number of sentences in a document.
    """
    drafts: Drafts | None = None
    """A draft translation for each of `sentences`, such as its translation before an edit; null where there is none.

    Drafts do not change the result: it is the same as without them at `beam_size` 1. The part of a draft that agrees
    with the result is kept, and only what comes after it is decoded.
    """
    glossary: GlossaryTerms = []
    """Terms to use in the translation wherever their source occurs in a sentence as a word.

    If several terms begin at the same place, the longest one applies. A source without capitals matches in any case.
    """
    memory: MemorySegments = []
    """Sentences whose translations are known, such as those of the document's translation memory.

    A sentence of the document that matches one of them is not translated: it gets the known translation, and a null
    score. White space is ignored; everything else must match. If two segments have the same source, the last applies.
    """
    deadline_seconds: Deadline | None = None
    """How long the client waits for the answer. After that, the request fails with `own_deadline_exceeded`.

    The service's own deadline for each sentence applies in any case.
    """

    @model_validator(mode="after")
    def _one_of_text_and_sentences(self) -> Self:
        if (self.text is None) == (self.sentences is None):
            raise ValueError("give exactly one of text and sentences")
        return self

    @model_validator(mode="after")
    def _drafts_go_with_greedy_search(self) -> Self:
        if self.drafts is None:
            return self
        if self.sentences is None or len(self.drafts) != len(self.sentences):
            raise ValueError("drafts need sentences, and one entry for each of them: null where there is no draft")
        if self.strategy != "direct" or self.beam_size not in (None, 1):
            raise ValueError("drafts need the strategy direct and a beam_size of 1, the default with drafts")
        return self

    @model_validator(mode="after")
    def _beam_has_alternatives(self) -> Self:
        check_beam(self.beam_size if self.drafts is None else 1, self.alternatives)
        return self


class DocumentAnswer(Body):
    """A translated document."""

    id: str
    model: str
    text: str
    """The translations, with the white space and list markers of the original; one per line for `sentences`."""
    sentences: list[TranslatedSentence]


class StreamedSentence(TranslatedSentence):
    """The event `sentence`: a sentence of a document, sent once it and all sentences before it are translated.

    The document's text is the `before` and `translation` of each sentence in order, then the `after` of the event
    `done`.
    """

    before: str
    """The text between the previous translation and this one, such as white space and list markers."""


class DocumentEnd(Body):
    """The event `done`: the end of a document sent sentence by sentence."""

    id: str
    model: str
    sentences: int
    """How many sentences the document has."""
    after: str
    """The text after the last translation."""
