"""Bodies of requests and answers as LibreTranslate's clients send and read them.

What we could not do as asked is no member here, and so refused by its name.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field

from service.schemas import MAX_BEAM, Body, Language, Text, Texts
from service.texts.detection import Detected
from service.texts.language_names import name_of
from service.texts.reading import Ranked

MOST_TEXTS = 50
"""Of a request, as with DeepL's clients."""
_UNLIKELY: Final = 0.01


def _listed(q: Any) -> Any:  # noqa: ANN401 - what a client has sent
    if not isinstance(q, str | list):
        raise ValueError("must be a text, or a list of texts")
    return [q] if isinstance(q, str) else q


def _said(source: Any) -> Any:  # noqa: ANN401 - likewise
    if isinstance(source, str) and source.lower() == "auto":
        return None
    return "" if source is None else source  # which is no language


def _counted(number: Any) -> Any:  # noqa: ANN401 - likewise
    if isinstance(number, bool):
        raise ValueError("must be an integer")
    return number


def _or(otherwise: str | int) -> BeforeValidator:
    """Takes what is empty for what is not said, as LibreTranslate does."""
    return BeforeValidator(lambda value: otherwise if value is None or value == "" else value)


class LibreRequest(Body):
    """A text to translate, or several, each of them a document of its own."""

    q: Annotated[Texts, BeforeValidator(_listed), Field(min_length=1, max_length=MOST_TEXTS)]
    source: Annotated[Language | None, BeforeValidator(_said)]
    """None for `auto`."""
    target: Language
    context: Text | None = None
    """Not LibreTranslate's: what comes before each text, in the source language; it is not translated."""
    format: Annotated[Literal["text", "html"], _or("text")] = "text"
    alternatives: Annotated[int, _or(0), BeforeValidator(_counted), Field(ge=0, lt=MAX_BEAM)] = 0
    """How many other translations of each text are wanted."""

    @property
    def is_in_target(self) -> bool:
        """Whether the texts are said to be in the language that is asked for: they come back as they are."""
        return self.source is not None and self.source.lower() == self.target.lower()


class DetectRequest(Body):
    """A text whose language is asked for."""

    q: Annotated[Texts, BeforeValidator(_listed), Field(min_length=1, max_length=MOST_TEXTS)]


class SourceLanguage(Body):
    """In which language a text was taken to be, and how sure that is, in percent; 0 where there was no choice."""

    confidence: float
    language: str

    @classmethod
    def of(cls, found: Detected) -> Self:
        """What was detected, as such clients read it."""
        return cls(confidence=round(100 * found.confidence, 1), language=found.language)


class LibreAnswer(Body):
    """The translation, or as many as there were texts, in their order."""

    translatedText: str | list[str]  # noqa: N815 - its clients' own name
    detectedLanguage: SourceLanguage | list[SourceLanguage] | None = None  # noqa: N815 - likewise
    """Only where the source was `auto`."""
    alternatives: Sequence[str] | Sequence[Sequence[str]] | None = None
    """Other translations of the text, or of each; only where some were asked for."""


class LibreLanguage(Body):
    """A language that some model reads or writes, and those that are written for it, if any."""

    code: str
    name: str
    targets: list[str]


def languages_of(pairs: Iterable[tuple[str, str]]) -> list[LibreLanguage]:
    """The languages of models' pairs."""
    served: dict[str, set[str]] = {}
    for source, target in pairs:
        served.setdefault(source, set()).add(target)
        served.setdefault(target, set())
    return [LibreLanguage(code=code, name=name_of(code), targets=sorted(served[code])) for code in sorted(served)]


def likely(found: Sequence[Detected]) -> list[SourceLanguage]:
    """Languages that are likelier than one in a hundred; or the only one, of which that says nothing."""
    if len(found) == 1:
        return [SourceLanguage(confidence=0, language=found[0].language)]
    return [SourceLanguage.of(each) for each in found if each.confidence > _UNLIKELY]


def answer_to(asked: LibreRequest, source: Detected, translations: Sequence[Ranked], *, single: bool) -> LibreAnswer:
    """The answer with the translations: with the one alone, if a `single` text came and not a list."""
    several = LibreAnswer(
        translatedText=[each.best for each in translations],
        detectedLanguage=[SourceLanguage.of(source)] * len(translations) if asked.source is None else None,
        alternatives=[each.others for each in translations] if asked.alternatives else None,
    )
    return several if not single else LibreAnswer(**{name: value and value[0] for name, value in several})
