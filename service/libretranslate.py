"""Bodies of requests and answers as LibreTranslate's clients send and read them.

Options that the service cannot honour are left out on purpose, and so refused by name.
"""

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Final, Literal, Self

from pydantic import BeforeValidator, Field

from service.schemas.body import Body
from service.schemas.fields import MAX_BEAM, Language, Text, Texts
from service.texts.detection import Detected
from service.texts.language_names import name_of
from service.texts.reading import Ranked

MOST_TEXTS = 50
"""The most texts of a request, as with DeepL's clients."""
_UNLIKELY: Final = 0.01


def _listed(q: Any) -> Any:  # noqa: ANN401 - what a client has sent
    if not isinstance(q, str | list):
        raise ValueError("must be a text, or a list of texts")
    return [q] if isinstance(q, str) else q


def _said(source: Any) -> Any:  # noqa: ANN401 - likewise
    if isinstance(source, str) and source.lower() == "auto":
        return None
    return "" if source is None else source  # "" is refused as a language


def _counted(number: Any) -> Any:  # noqa: ANN401 - likewise
    if isinstance(number, bool):
        raise ValueError("must be an integer")
    return number


def _or(otherwise: str | int) -> BeforeValidator:
    """Treat an empty value as missing, as LibreTranslate does."""
    return BeforeValidator(lambda value: otherwise if value is None or value == "" else value)


class LibreRequest(Body):
    """A text to translate, or several, each a document of its own."""

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
        """Whether source and target language are the same, so that the texts are returned as they are."""
        return self.source == self.target


class DetectRequest(Body):
    """A text, or several, whose language is to be detected."""

    q: Annotated[Texts, BeforeValidator(_listed), Field(min_length=1, max_length=MOST_TEXTS)]


class SourceLanguage(Body):
    """The language that a text was taken to be in, with a confidence in percent; 0 if there was no choice."""

    confidence: float
    language: str

    @classmethod
    def of(cls, found: Detected) -> Self:
        """Convert a detected language to the form that these clients read."""
        return cls(confidence=round(100 * found.confidence, 1), language=found.language)


class LibreAnswer(Body):
    """The translation of a text, or those of several texts in their order."""

    translatedText: str | list[str]  # noqa: N815 - its clients' own name
    detectedLanguage: SourceLanguage | list[SourceLanguage] | None = None  # noqa: N815 - likewise
    """Only where the source was `auto`."""
    alternatives: Sequence[str] | Sequence[Sequence[str]] | None = None
    """Other translations of the text, or of each text; only if some were requested."""


class LibreLanguage(Body):
    """A language that some model translates from or into, and its target languages, if it has any."""

    code: str
    name: str
    targets: list[str]


def languages_of(pairs: Iterable[tuple[str, str]]) -> list[LibreLanguage]:
    """Return the languages in the models' pairs, each with its targets."""
    served: dict[str, set[str]] = {}
    for source, target in pairs:
        served.setdefault(source, set()).add(target)
        served.setdefault(target, set())
    return [LibreLanguage(code=code, name=name_of(code), targets=sorted(served[code])) for code in sorted(served)]


def likely(found: Sequence[Detected]) -> list[SourceLanguage]:
    """Return the languages with a probability above 1%; a single candidate gets confidence 0, as it had no rivals."""
    if len(found) == 1:
        return [SourceLanguage(confidence=0, language=found[0].language)]
    return [SourceLanguage.of(each) for each in found if each.confidence > _UNLIKELY]


def answer_to(asked: LibreRequest, source: Detected, translations: Sequence[Ranked], *, single: bool) -> LibreAnswer:
    """Make the answer with the translations; for a `single` text, which did not come in a list, just one."""
    several = LibreAnswer(
        translatedText=[each.best for each in translations],
        detectedLanguage=[SourceLanguage.of(source)] * len(translations) if asked.source is None else None,
        alternatives=[each.others for each in translations] if asked.alternatives else None,
    )
    return several if not single else LibreAnswer(**{name: value and value[0] for name, value in several})
