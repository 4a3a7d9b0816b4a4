"""Detect the source language of texts, among the served ones, for clients that do not specify it."""

import asyncio
import math
import re
import threading
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from models.text.spacing import primary
from service.errors import InvalidInputError
from service.inference.catalogue import Model, ranges
from service.texts.tags import without_entities

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_READ_CHARACTERS: Final = 5_000
"""How much is read of all texts together: more does not make the detection more reliable."""
_NO_TEXT: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<[a-z!/?][^<>]*(?:>|\Z)", re.DOTALL | re.IGNORECASE
)
"""Tags, and content that no page shows: they are in no language, however English they look."""
_LOADING: Final = threading.Lock()
_OTHER_NAMES: Final = {"fil": "tl", "nb": "no"}
"""Language codes that the identifier knows under another code."""


@dataclass(frozen=True, slots=True)
class Detected:
    """The code of a served language, and its probability among the candidates, from 0 to 1."""

    language: str
    confidence: float


async def source_of(
    source_lang: str | None, target_lang: str, models: Iterable[Model], texts: Sequence[str] = ()
) -> Detected:
    """Return the source language: the client's, else the only one served to the target, else the likeliest.

    The confidence is 0 if the language was not detected from the texts.

    Raises:
        InvalidInputError: the client gives none, and none is served or none of several can be detected.
    """
    if source_lang is not None:
        return Detected(source_lang, 0.0)
    targets = ranges(target_lang)
    sources = {model.pair[0] for model in models if model.pair[1] in targets}
    if len(sources) == 1:
        return Detected(min(sources), 0.0)
    found = await detect(texts, sources)
    if not found:
        served = ", ".join(sorted(sources)) or "none"
        raise InvalidInputError(
            f"the source language is missing, and cannot be detected; served to {target_lang}: {served}"
        )
    return found[0]


async def detect(texts: Sequence[str], among: Collection[str]) -> list[Detected]:
    """Rank the languages that texts, together, may be in, the likeliest first; omit those unknown to the identifier.

    All are equally likely if nothing in the texts points to any of them.
    """
    return await asyncio.to_thread(_ranked, texts, among) if texts and among else []


def _ranked(texts: Sequence[str], among: Collection[str]) -> list[Detected]:
    with _LOADING:  # otherwise each of several first threads would load its own
        identifier = _identifier()
    scores = dict(identifier.rank(_beginning(texts)))
    known = sorted(language for language in among if _named(language) in scores)
    if not known:
        return []
    best = max(scores[_named(language)] for language in known)
    weights = [math.exp(scores[_named(language)] - best) for language in known]
    found = [Detected(language, weight / sum(weights)) for language, weight in zip(known, weights, strict=True)]
    return sorted(found, key=lambda each: -each.confidence)


def _beginning(texts: Sequence[str]) -> str:
    """Return the beginning of the texts in normal letters (NFKC): Japanese may be written in half-width ones."""
    read, room = list[str](), _READ_CHARACTERS
    for text in texts:
        read.append(without_entities(_NO_TEXT.sub(" ", text))[:room])
        room -= len(read[-1])
        if not room:
            break
    return unicodedata.normalize("NFKC", "\n".join(read))


def _named(language: str) -> str:
    return _OTHER_NAMES.get(primary(language), primary(language))


@cache
def _identifier() -> "LanguageIdentifier":
    """Load the identifier only when needed: it takes 90 MB and a second, and many services have one pair only."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
