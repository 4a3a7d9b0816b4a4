"""Whole corpora through a translator, line for line."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from models.config import ContextWindow
from models.data.documents import Document, Window, read_documents, read_lines, windows
from models.data.replacement import REAL, Replacement
from models.training.evaluation import Translated

CHUNK = 512
"""Sentences that are translated before the first of them is given: enough for full batches of like lengths."""


class Translator(Protocol):
    """What translates."""

    def translate(self, windows: Sequence[Window]) -> Sequence[Translated]:
        """A translation of the current sentence of each window."""


def translate_file(
    translator: Translator,
    source: Path,
    window: ContextWindow,
    *,
    replacement: Replacement = REAL,
    progress: Callable[[Sequence[Window]], Iterable[Window]] = iter,
) -> Iterator[str]:
    """Translate the documents of a file: for each of its lines one, empty where that is.

    Args:
        translator: what translates.
        source: a sentence a line, an empty line between documents.
        window: which sentences around each one the translator is given.
        replacement: what it is given in their place.
        progress: wraps the sentences that are gone through.

    Raises:
        DataError: the file is missing, or a line cannot be used.
    """
    documents = read_documents(source)
    translations = _translations(translator, progress(_windows(documents, window, replacement)))
    for line in read_lines(source):
        yield next(translations) if line.strip() else ""


def _windows(documents: Sequence[Document], window: ContextWindow, replacement: Replacement) -> list[Window]:
    given = [(each, number) for number, document in enumerate(documents) for each in windows(document, window)]
    return replacement.apply([each for each, _ in given], [number for _, number in given])


def _translations(translator: Translator, given: Iterable[Window]) -> Iterator[str]:
    chunk: list[Window] = []
    for window in given:
        chunk.append(window)
        if len(chunk) == CHUNK:
            yield from (translated.text for translated in translator.translate(chunk))
            chunk = []
    if chunk:
        yield from (translated.text for translated in translator.translate(chunk))
