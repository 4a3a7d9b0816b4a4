"""Glossaries that are kept, for one pair of languages or for several."""

from typing import Annotated, Literal

from pydantic import Field

from service.deepl.bodies.common import DeepLRequest
from service.schemas.body import Body
from service.schemas.fields import Language, Text

MOST_DICTIONARIES = 50
"""The most dictionaries of a request."""
GlossaryName = Annotated[Text, Field(min_length=1, max_length=1024)]


class DictionaryRequest(Body):
    """The terms of a glossary for a pair of languages; `entries` has two terms on each line."""

    source_lang: Language
    target_lang: Language
    entries: Text
    entries_format: Literal["tsv", "csv"]


class GlossaryRequest(DictionaryRequest):
    """A glossary to store, for one pair of languages."""

    name: GlossaryName


class MultilingualRequest(Body):
    """A glossary to store, for any pairs of languages."""

    name: GlossaryName
    dictionaries: Annotated[list[DictionaryRequest], Field(min_length=1, max_length=MOST_DICTIONARIES)]


class GlossaryChange(DeepLRequest):
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
