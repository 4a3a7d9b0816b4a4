"""Read documents in reStructuredText as HTML, without what is for programs, and write translations in place.

Each paragraph becomes one line, since its text is another one.
"""

from service.files.messages import page_of, texts_of
from service.files.plain import text_like, text_of
from service.files.restructured.reader import Reader
from service.files.restructured.words import Words


def html_of(content: bytes) -> str:
    """Return the texts of a document, one after the other.

    Raises:
        InvalidInputError: it is in an encoding that is not read.
    """
    return page_of([each.words for each in _words(text_of(content))], content)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the document with its texts replaced by `translation`: the translated result of `html_of`."""
    text = text_of(content)
    found = iter(texts_of(translation, [each.words for each in _words(text)], content))
    written = (each if isinstance(each, str) else each.written(next(found)) for each in Reader(text).pieces())
    return text_like(content, "".join(written))


def _words(text: str) -> list[Words]:
    return [each for each in Reader(text).pieces() if isinstance(each, Words)]
