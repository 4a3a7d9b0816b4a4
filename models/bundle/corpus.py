"""Whole corpora through a translator, line for line."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from models.config import ContextWindow
from models.data.documents import Document, read_documents, read_lines
from models.data.replacement import REAL, Replacement
from models.training.document_translation import Translator, translate_documents

CHUNK = 512
"""Sentences of whole documents that are translated before the first of them is given: enough for full batches."""


def translate_file(
    translator: Translator, source: Path, window: ContextWindow, *, replacement: Replacement = REAL
) -> Iterator[str]:
    """Translate the documents of a file: for each of its lines one, empty where that is.

    Args:
        translator: what translates.
        source: a sentence a line, an empty line between documents.
        window: which sentences around each one the translator is given.
        replacement: what it is given in their place.

    Raises:
        DataError: the file is missing, or a line cannot be used.
    """
    documents = read_documents(source)
    # A replacement may take its sentences from any document, so it is given them all.
    chunks = _chunks(documents) if replacement.kind == "real" else [documents]
    texts = (
        translated.text
        for chunk in chunks
        for translated in translate_documents(translator, chunk, window, replacement=replacement)
    )
    for line in read_lines(source):
        yield next(texts) if line.strip() else ""


def _chunks(documents: Sequence[Document]) -> Iterator[list[Document]]:
    chunk: list[Document] = []
    for document in documents:
        chunk.append(document)
        if sum(len(each.sentences) for each in chunk) >= CHUNK:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
