"""Read documents in reStructuredText as HTML, without what is for programs, and write translations in place.

Each paragraph becomes one line, since its text is another one. Tags in it are words about tags.
"""

import html

from service.files.numbered import html_of_words, paragraphs_of
from service.files.plain import text_like, text_of
from service.files.restructured.reader import Reader
from service.files.restructured.words import Words


def html_of(content: bytes) -> str:
    """Return the texts of a document, one after the other.

    Raises:
        InvalidInputError: it is in an encoding that is not read.
    """
    found = (each for each in Reader(text_of(content)).pieces() if isinstance(each, Words))
    return "".join(f"<p>{html_of_words(each.words)}</p>" for each in found)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the document with its texts replaced by `translation`: the translated result of `html_of`."""
    found = map(html.unescape, paragraphs_of(translation))
    text = text_of(content)
    reader = Reader(text)
    pieces = (each if isinstance(each, str) else each.written(next(found)) for each in reader.pieces())
    written = "".join(pieces)
    return text_like(content, written if written == text else written + reader.targets())
