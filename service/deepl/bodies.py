"""Bodies of requests and answers as DeepL's clients send and read them.

What we could not do as asked, such as a style, is no member here, and so refused by its name.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from service.schemas import Body, FileName, Language, Text, Texts

MOST_TEXTS = 50
"""Of a request, as DeepL has it."""
MOST_TAGS = 1000
MOST_DICTIONARIES = 50
"""Of a request."""


def _names(value: Any) -> Any:  # noqa: ANN401 - what a client has sent
    """Names of tags, of which a string, or an element of a list, may have several with commas between."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(each, str) for each in listed):
        return value
    return tuple(name.strip() for each in listed for name in each.split(",") if name.strip())


Tags = Annotated[tuple[Text, ...], BeforeValidator(_names), Field(max_length=MOST_TAGS)]


class _Asked(Body):
    """What is asked for. A member without a value is not said: Mastodon sends one where it knows no source language."""

    @model_validator(mode="before")
    @classmethod
    def _without_what_is_empty(cls, members: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in members.items() if value is not None and value != ""}


class TextsRequest(_Asked):
    """Texts to translate: each is a document of its own, or all of them go on with one that the client names."""

    text: Annotated[Texts, Field(min_length=1, max_length=MOST_TEXTS)]
    target_lang: Language
    source_lang: Language | None = None
    context: Text | None = None
    """What comes before each text, in the source language; it is not translated."""
    document_id: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    """Not DeepL's: the client's own id of a document, to which these texts are the next."""
    glossary_id: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    """Whose terms the translations have."""
    split_sentences: Literal["0", "1", "nonewlines"] | None = None
    """How; by itself "1", and "nonewlines" in HTML, as DeepL has it."""
    tag_handling: Literal["html", "xml"] | None = None
    """What the texts are, unless they are text and no more."""
    tag_handling_version: Literal["v1", "v2"] | None = None
    """Of DeepL's ways, which are the same here."""
    ignore_tags: Tags = ()
    """Elements that are not translated."""
    splitting_tags: Tags = ()
    """Elements between which sentences end."""
    non_splitting_tags: Tags = ()
    """Elements within sentences."""
    outline_detection: bool = True
    """Whether elements of XML between which sentences end are found."""
    preserve_formatting: bool = True
    """As it is in any case."""
    formality: Literal["default", "prefer_more", "prefer_less"] = "default"
    """A wish that no model of ours knows; to insist on it is an error."""
    show_billed_characters: bool = True
    model_type: str | None = None
    """Which of DeepL's models; ours is chosen by the languages."""

    @property
    def split(self) -> Literal["0", "1", "nonewlines"]:
        """How sentences are split."""
        return self.split_sentences or ("nonewlines" if self.tag_handling == "html" else "1")

    @model_validator(mode="after")
    def _tags_are_handled(self) -> Self:
        if self.tag_handling is None and (self.ignore_tags or self.splitting_tags or self.non_splitting_tags):
            raise ValueError("say what the texts are: ignore_tags and the like need tag_handling, html or xml")
        return self

    @model_validator(mode="after")
    def _context_is_the_document(self) -> Self:
        if self.context is not None and self.document_id is not None:
            raise ValueError("give context or document_id: the context of a document's texts are those before them")
        return self


class DictionaryRequest(Body):
    """The terms of a glossary for a pair of languages; its entries are lines of two terms."""

    source_lang: Language
    target_lang: Language
    entries: Text
    entries_format: Literal["tsv", "csv"]


GlossaryName = Annotated[Text, Field(min_length=1, max_length=1024)]


class GlossaryRequest(DictionaryRequest):
    """A glossary to keep, of one pair of languages."""

    name: GlossaryName


class MultilingualRequest(Body):
    """A glossary to keep, of any pairs of languages."""

    name: GlossaryName
    dictionaries: Annotated[list[DictionaryRequest], Field(min_length=1, max_length=MOST_DICTIONARIES)]


class GlossaryChange(_Asked):
    """What is to be another in a glossary: its name, or terms for pairs of languages, which come to those there are."""

    name: GlossaryName | None = None
    dictionaries: Annotated[tuple[DictionaryRequest, ...], Field(max_length=MOST_DICTIONARIES)] = ()


class DictionaryAnswer(Body):
    """A pair of languages of a glossary."""

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
    """A list of one such, as DeepL has it."""

    dictionaries: list[DictionaryEntries]


class MultilingualAnswer(Body):
    """What there is to know of a glossary but its terms."""

    glossary_id: str
    name: str
    creation_time: str
    dictionaries: list[DictionaryAnswer]


class MultilingualList(Body):
    """All glossaries of a tenant, the oldest first."""

    glossaries: list[MultilingualAnswer]


class GlossaryAnswer(Body):
    """What there is to know of a glossary of one pair of languages but its terms."""

    glossary_id: str
    name: str
    ready: bool = True
    source_lang: str
    target_lang: str
    creation_time: str
    entry_count: int


class GlossariesAnswer(Body):
    """All of a tenant, the oldest first."""

    glossaries: list[GlossaryAnswer]


class GlossaryPair(Body):
    """Languages that a glossary may have."""

    source_lang: str
    target_lang: str


class GlossaryPairs(Body):
    """All of them."""

    supported_languages: list[GlossaryPair]


class TranslatedText(Body):
    """A text's translation; nothing is billed, but a client counts on the member."""

    detected_source_language: str
    text: str
    billed_characters: int


class TextsAnswer(Body):
    """The translations, in the order of the texts."""

    translations: list[TranslatedText]


class OfferedLanguage(Body):
    """A language that some model reads, or writes."""

    language: str
    name: str
    supports_formality: bool = False


class FileRequest(_Asked):
    """What comes with a file to translate."""

    target_lang: Language
    source_lang: Language | None = None
    filename: FileName
    """The name that the file was sent under, or another one; its end says what the file is."""
    output_format: str | None = None
    """Of the translation: that of the file, in any case."""
    glossary_id: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    """Whose terms the translation has."""
    formality: Literal["default", "prefer_more", "prefer_less"] = "default"
    """A wish that no model of ours knows; to insist on it is an error."""


class FileHandle(Body):
    """By which a client asks for a file again; nobody else knows the key."""

    document_id: str
    document_key: str


class FileKeyRequest(Body):
    """The key that came with the id."""

    document_key: Annotated[Text, Field(max_length=200)]


class FileStatus(Body):
    """What has become of a file."""

    document_id: str
    status: Literal["queued", "translating", "done", "error"]
    seconds_remaining: int | None = None
    """While it is translated, by the sentences that are."""
    billed_characters: int | None = None
    error_message: str | None = None


class Usage(Body):
    """Characters are not counted here: limits are in sentences per minute, and told by 429."""

    character_count: int = 0
    character_limit: int = 10**12
    """What DeepL says where there is none."""
