"""Which language texts are in, of those that are served: for clients that do not say it."""

import asyncio
import html
import math
import re
import threading
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Final

from models.data.spacing import primary
from service.errors import InvalidInputError
from service.inference.catalogue import Model, ranges

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

_READ_CHARACTERS: Final = 5_000
"""Of the texts together: more do not make it surer."""
_NO_TEXT: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<(script|style)\b.*?(?:</\1\s*>|\Z)|<[a-z!/?][^<>]*(?:>|\Z)", re.DOTALL | re.IGNORECASE
)
"""Tags and what no page shows, which are in no language, however English they look."""
_LOADING: Final = threading.Lock()
_OTHER_NAMES: Final = {"fil": "tl", "nb": "no"}
"""Codes that the identifier has under another one."""


@dataclass(frozen=True, slots=True)
class Detected:
    """A language as it is served, and how probable it is beside the others, from 0 to 1."""

    language: str
    confidence: float


async def source_of(
    source_lang: str | None, target_lang: str, models: Iterable[Model], texts: Sequence[str] = ()
) -> Detected:
    """The language of texts: as the client says; else the one that is translated into the target, or is likeliest.

    What was not detected has a confidence of 0.

    Raises:
        InvalidInputError: the client does not say it, and it is not served, or there are several and no texts.
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
    """Languages that texts may be in, taken as one, the likeliest first; none that the identifier does not know.

    Where nothing in the texts speaks for any of them, all are as likely.
    """
    return await asyncio.to_thread(_ranked, texts, among) if texts and among else []


def _ranked(texts: Sequence[str], among: Collection[str]) -> list[Detected]:
    with _LOADING:  # or each thread that came first would load one of its own
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
    """What is read of texts, in the letters that they have in books: Japanese may be in narrow ones."""
    read, room = list[str](), _READ_CHARACTERS
    for text in texts:
        read.append(html.unescape(_NO_TEXT.sub(" ", text))[:room])
        room -= len(read[-1])
        if not room:
            break
    return unicodedata.normalize("NFKC", "\n".join(read))


def _named(language: str) -> str:
    return _OTHER_NAMES.get(primary(language), primary(language))


@cache
def _identifier() -> "LanguageIdentifier":
    """Read when it is first needed: it takes 90 MB and a second, and many services have one language into another."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
