"""Read documents in reStructuredText as HTML, without what is for programs, and write translations in place.

Each paragraph becomes one line, since its text is another one. Tags in it are words about tags.
"""

import html
from collections.abc import Iterator, Sequence
from itertools import islice

from service.files.numbered import html_of_words, paragraphs_of
from service.files.plain import text_like, text_of
from service.files.restructured.reader import Reader
from service.files.restructured.tables import Table
from service.files.restructured.words import Words


def html_of(content: bytes) -> str:
    """Return the texts of a document, one after the other.

    Raises:
        InvalidInputError: it is in an encoding that is not read.
    """
    found = (words for piece in Reader(text_of(content)).pieces() for words in _words(piece))
    return "".join(f"<p>{html_of_words(each.words)}</p>" for each in found)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the document with its texts replaced by `translation`: the translated result of `html_of`."""
    found = map(html.unescape, paragraphs_of(translation))
    text = text_of(content)
    reader = Reader(text)
    written = "".join(_written(each, found) for each in reader.pieces())
    return text_like(content, written if written == text else written + reader.targets())


def _words(piece: str | Words | Table) -> Sequence[Words]:
    if isinstance(piece, str):
        return ()
    return [piece] if isinstance(piece, Words) else piece.words


def _written(piece: str | Words | Table, found: Iterator[str]) -> str:
    """Return what a document has for a piece, with the next texts that are found."""
    if isinstance(piece, str):
        return piece
    return piece.written(next(found)) if isinstance(piece, Words) else piece.written(islice(found, len(piece.words)))
