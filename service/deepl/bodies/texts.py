"""Texts that are translated in the answer to a request, the languages on offer, and the usage."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from service.deepl.bodies.common import DeepLRequest, Formality, Id
from service.schemas.body import Body
from service.schemas.fields import Language, Text, Texts

MOST_TEXTS = 50
"""The most texts of a request, as with DeepL."""
MOST_TAGS = 1000


def _names(value: Any) -> Any:  # noqa: ANN401 - what a client has sent
    """Split names of tags, of which a string, or each element of a list, may have several separated by commas."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        return value
    return tuple(name.strip() for each in listed for name in each.split(",") if name.strip())


Tags = Annotated[tuple[Text, ...], BeforeValidator(_names), Field(max_length=MOST_TAGS)]


class TextsRequest(DeepLRequest):
    """Texts to translate: each is a document of its own, or all of them continue one that the client names."""

    text: Annotated[Texts, Field(min_length=1, max_length=MOST_TEXTS)]
    target_lang: Language
    source_lang: Language | None = None
    context: Text | None = None
    """What comes before each text, in the source language; it is not translated."""
    document_id: Id | None = None
    """Not DeepL's: the client's own id of a document, which these texts continue."""
    glossary_id: Id | None = None
    """The glossary whose terms the translations use."""
    split_sentences: Literal["0", "1", "nonewlines"] | None = None
    """How sentences are split; by default "1", or "nonewlines" in HTML, as with DeepL."""
    tag_handling: Literal["html", "xml"] | None = None
    """The format of the texts; without it, they are plain text."""
    tag_handling_version: Literal["v1", "v2"] | None = None
    """The version of DeepL's tag handling; it makes no difference here."""
    ignore_tags: Tags = ()
    """Elements that are not translated."""
    splitting_tags: Tags = ()
    """Elements at which sentences end."""
    non_splitting_tags: Tags = ()
    """Elements that never end a sentence."""
    outline_detection: bool = True
    """Whether the elements of XML at which sentences end are detected."""
    preserve_formatting: bool = True
    """It makes no difference: formatting is always preserved."""
    formality: Formality = "default"
    show_billed_characters: bool = True
    model_type: str | None = None
    """One of DeepL's models; ignored, since the languages decide the model here."""

    @property
    def split(self) -> Literal["0", "1", "nonewlines"]:
        """How sentences are split."""
        return self.split_sentences or ("nonewlines" if self.tag_handling == "html" else "1")

    @model_validator(mode="after")
    def _tags_are_handled(self) -> Self:
        if self.tag_handling is None and (self.ignore_tags or self.splitting_tags or self.non_splitting_tags):
            raise ValueError("ignore_tags, splitting_tags and non_splitting_tags need tag_handling: html or xml")
        return self

    @model_validator(mode="after")
    def _context_is_the_document(self) -> Self:
        if self.context is not None and self.document_id is not None:
            raise ValueError(
                "give either context or document_id: the context of a document's texts is the texts before them"
            )
        return self


class TranslatedText(Body):
    """A text's translation; nothing is billed, but clients expect `billed_characters`."""

    detected_source_language: str
    text: str
    billed_characters: int


class TextsAnswer(Body):
    """The translations, in the order of the texts."""

    translations: list[TranslatedText]


class OfferedLanguage(Body):
    """A language that some model translates from, or into."""

    language: str
    name: str
    supports_formality: bool = False


class Usage(Body):
    """The usage, for clients that ask: characters are not counted, but sentences per minute limited (status 429)."""

    character_count: int = 0
    character_limit: int = 10**12
    """DeepL's value for no limit."""
