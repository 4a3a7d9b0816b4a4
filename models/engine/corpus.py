"""Translates whole corpora, line for line."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from unicodedata import normalize

from models.config import ContextWindow
from models.data.documents import Document, Sentence, decode_line, in_pieces, read_documents, read_lines, refusal
from models.data.replacement import REAL, Replacement
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.errors import DataError, SentenceTooLongError
from models.evaluation.document_translation import Translator, translate_documents
from models.text.memory import NO_MEMORY, TranslationMemory


def require_translatable(runtime: Runtime, source: Path, memory: TranslationMemory = NO_MEMORY) -> None:
    """Find sentences that cannot be translated and are not known, before hours are spent on the others.

    Raises:
        DataError: the file is missing, a line cannot be used, or sentences are too long; the message names all of them.
    """
    refused = []
    for number, line in enumerate(read_lines(source), 1):
        text = decode_line(source, number, line)
        # A byte is at most one token, after the tokenizer's normalization: that turns U+FDFA into eighteen letters.
        short = len(normalize("NFKC", text).encode()) + 1 < runtime.manifest.limits.source_tokens
        if short or memory.find(text) is not None:
            continue
        try:
            runtime.prepare([TranslationRequest(text)], Options())
        except SentenceTooLongError as error:
            refused.append((number, str(error)))
    if refused:
        raise refusal(source, refused)


def translate_file(
    translator: Translator,
    source: Path,
    window: ContextWindow,
    *,
    replacement: Replacement = REAL,
    drafts: Path | None = None,
) -> Iterator[str]:
    """Translate the documents of a file; yield one line for each of its lines, empty where that is empty.

    A sentence of which nothing is left in translation, such as a lone zero-width space, is returned as it is: an empty
    line would end a document.

    Args:
        translator: what translates.
        source: file with one sentence per line, and an empty line between documents.
        window: which sentences around each one the translator is given.
        replacement: what the translator is given in place of those sentences.
        drafts: file of draft translations, line for line; a line is empty if there is none.

    Raises:
        DataError: a file is missing, a line cannot be used, or the number of lines of drafts differs.
    """
    documents = read_documents(source)
    if drafts is not None:
        documents = _with_drafts(documents, source, drafts)
    # A replacement may take sentences from any document, so it needs all of them at once.
    chunks = in_pieces(documents) if replacement.kind == "real" else [documents]
    texts = (
        translated.text
        for chunk in chunks
        for translated in translate_documents(
            translator, chunk, window, replacement=replacement, drafted=drafts is not None
        )
    )
    for line in read_lines(source):
        yield (next(texts) or line.decode().strip()) if _has_text(line) else ""


def _with_drafts(documents: Sequence[Document], source: Path, drafts: Path) -> list[Document]:
    """Return the documents of a file, with the drafts as targets."""
    sources, lines = read_lines(source), read_lines(drafts)
    if len(sources) != len(lines):
        raise DataError(f"has {len(lines)} lines, but {source} has {len(sources)}", drafts)
    texts = (
        decode_line(drafts, number, line) or None
        for number, (given, line) in enumerate(zip(sources, lines, strict=True), 1)
        if _has_text(given)
    )
    return [
        Document(tuple(Sentence(sentence.source, next(texts)) for sentence in document.sentences), document.name)
        for document in documents
    ]


def _has_text(line: bytes) -> bool:
    """Return whether a line is a sentence; a lone ideographic space is none."""
    return bool(line.decode().strip())
