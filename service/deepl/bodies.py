"""Bodies of requests and answers as DeepL's clients send and read them.

Options that the service cannot honour, such as a style, are left out on purpose, and so refused by name.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from service.schemas.body import Body
from service.schemas.fields import FileName, Language, Text, Texts

MOST_TEXTS = 50
"""The most texts of a request, as with DeepL."""
MOST_TAGS = 1000
MOST_DICTIONARIES = 50
"""The most dictionaries of a request."""


def _names(value: Any) -> Any:  # noqa: ANN401 - what a client has sent
    """Split names of tags, of which a string, or each element of a list, may have several separated by commas."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        return value
    return tuple(name.strip() for each in listed for name in each.split(",") if name.strip())


Tags = Annotated[tuple[Text, ...], BeforeValidator(_names), Field(max_length=MOST_TAGS)]


class _Asked(Body):
    """A request in which an empty member counts as missing: Mastodon sends one if it knows no source language."""

    @model_validator(mode="before")
    @classmethod
    def _without_what_is_empty(cls, members: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in members.items() if value is not None and value != ""}


class TextsRequest(_Asked):
    """Texts to translate: each is a document of its own, or all of them continue one that the client names."""

    text: Annotated[Texts, Field(min_length=1, max_length=MOST_TEXTS)]
    target_lang: Language
    source_lang: Language | None = None
    context: Text | None = None
    """What comes before each text, in the source language; it is not translated."""
    document_id: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    """Not DeepL's: the client's own id of a document, which these texts continue."""
    glossary_id: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
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
    formality: Literal["default", "prefer_more", "prefer_less"] = "default"
    """A preference, which no model here takes into account; DeepL's strict values are refused."""
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


class DictionaryRequest(Body):
    """The terms of a glossary for a pair of languages; `entries` has two terms on each line."""

    source_lang: Language
    target_lang: Language
    entries: Text
    entries_format: Literal["tsv", "csv"]


GlossaryName = Annotated[Text, Field(min_length=1, max_length=1024)]


class GlossaryRequest(DictionaryRequest):
    """A glossary to store, for one pair of languages."""

    name: GlossaryName


class MultilingualRequest(Body):
    """A glossary to store, for any pairs of languages."""

    name: GlossaryName
    dictionaries: Annotated[list[DictionaryRequest], Field(min_length=1, max_length=MOST_DICTIONARIES)]


class GlossaryChange(_Asked):
    """A change of a glossary: a new name, or terms for pairs of languages, which are added to the existing ones."""

    name: GlossaryName | None = None
    dictionaries: Annotated[tuple[DictionaryRequest, ...], Field(max_length=MOST_DICTIONARIES)] = ()


class DictionaryAnswer(Body):
    """A pair of languages of a glossary, and the number of its terms."""

    source_lang: str
    target_lang: str
    entry_count: int


class DictionaryEntries(Body):
    """The terms of a glossary for a pair of languages."""

    source_lang: str
    target_lang: str
    entries: str
    entries_format: Literal["tsv"] = "tsv"


class DictionariesAnswer(Body):
    """A list of a single pair's terms, as with DeepL."""

    dictionaries: list[DictionaryEntries]


class MultilingualAnswer(Body):
    """A glossary without its terms."""

    glossary_id: str
    name: str
    creation_time: str
    dictionaries: list[DictionaryAnswer]


class MultilingualList(Body):
    """All glossaries of a tenant, the oldest first."""

    glossaries: list[MultilingualAnswer]


class GlossaryAnswer(Body):
    """A glossary for one pair of languages, without its terms."""

    glossary_id: str
    name: str
    ready: bool = True
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


class GlossariesAnswer(Body):
    """All glossaries of a tenant for one pair of languages, the oldest first."""

    glossaries: list[GlossaryAnswer]


class GlossaryPair(Body):
    """A pair of languages that a glossary may be for."""

    source_lang: str
    target_lang: str


class GlossaryPairs(Body):
    """All pairs of languages that a glossary may be for."""

    supported_languages: list[GlossaryPair]


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


class FileRequest(_Asked):
    """The options sent with a file to translate."""

    target_lang: Language
    source_lang: Language | None = None
    filename: FileName
    """The name under which the file was sent, or another one; its suffix gives the kind of file."""
    output_format: str | None = None
    """The format of the translation, which has to be that of the file."""
    glossary_id: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    """The glossary whose terms the translation uses."""
    formality: Literal["default", "prefer_more", "prefer_less"] = "default"
    """A preference, which no model here takes into account; DeepL's strict values are refused."""


class FileHandle(Body):
    """The id and the key by which a client asks for a file again; nobody else knows the key."""

    document_id: str
    document_key: str


class FileKeyRequest(Body):
    """The key that came with the id."""

    document_key: Annotated[Text, Field(max_length=200)]


class FileStatus(Body):
    """The state of a file."""

    document_id: str
    status: Literal["queued", "translating", "done", "error"]
    seconds_remaining: int | None = None
    """While the file is being translated: an estimate from the sentences done so far."""
    billed_characters: int | None = None
    error_message: str | None = None


class Usage(Body):
    """The usage, for clients that ask: characters are not counted, but sentences per minute limited (status 429)."""

    character_count: int = 0
    character_limit: int = 10**12
    """DeepL's value for no limit."""
