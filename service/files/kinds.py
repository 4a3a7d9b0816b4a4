"""The kinds of files that are translated, by the suffixes of their names, and how they are read and written."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from service.errors import InvalidInputError
from service.files import books, markdown
from service.files.office.files import OPEN_SLIDE_FILES, OPEN_TEXT_FILES, SLIDE_FILES, WORD_FILES, OfficeFiles
from service.files.plain import text_like, text_of
from service.files.programs import android, catalogs, json_texts, properties, resx
from service.files.restructured import files as restructured
from service.files.subtitles import cues, substation
from service.files.workbooks import open_workbook, workbook
from service.files.xliff import files as xliff
from service.schemas.limits import Limits
from service.texts.tagged import HTML, Markup


def _page(_content: bytes, translation: str) -> bytes:
    """Encode a page with a byte order mark, which takes precedence over the encoding that it declares."""
    return translation.encode("utf-8-sig")


@dataclass(frozen=True, slots=True)
class Kind:
    """A file's media type, and how its text is read and replaced."""

    media_type: str
    markup: Markup | None = None
    """How tags in the text are read; None for plain text."""
    wrapped: bool = False
    """Whether its paragraphs may be wrapped by hand, and are unwrapped."""
    packed: bool = False
    """Whether the file is an archive, of which the text is only a part with size limits of its own."""
    read: Callable[[bytes], str] = text_of
    """Returns the text of a file; raises InvalidInputError if it cannot be read."""
    write: Callable[[bytes, str], bytes] = text_like
    """Returns the file with another text."""
    say_language: Callable[[bytes, str], bytes] | None = None
    """Sets the target language in a file written by `write`, for formats that state it."""

    def written(self, content: bytes, text: str, language: str) -> bytes:
        """Return the file with its text in another language."""
        written = self.write(content, text)
        return written if self.say_language is None else self.say_language(written, language)


def _office(kind: str, read: Callable[[bytes], str], write: Callable[[bytes, str], bytes]) -> Kind:
    return Kind(f"application/vnd.{kind}", markup=HTML, packed=True, read=read, write=write)


def _document(kind: str, files: OfficeFiles) -> Kind:
    return _office(kind, files.html_of, files.with_translation)


def _subtitles(media_type: str) -> Kind:
    return Kind(f"{media_type}; charset=utf-8", read=cues.text_of, write=cues.with_translation)


_SUBSTATION: Final = Kind("text/x-ssa; charset=utf-8", HTML, read=substation.html_of, write=substation.with_translation)
_HTML: Final = Kind("text/html; charset=utf-8", markup=HTML, write=_page)
_XLIFF: Final = Kind(
    "application/xliff+xml",
    HTML,
    read=xliff.html_of,
    write=xliff.with_translation,
    say_language=xliff.with_language,
)
_JSON: Final = Kind("application/json", HTML, read=json_texts.html_of, write=json_texts.with_translation)
_RESX: Final = Kind("application/xml", HTML, read=resx.html_of, write=resx.with_translation)
KINDS: Final = {
    ".txt": Kind("text/plain; charset=utf-8", wrapped=True),
    ".md": Kind("text/markdown; charset=utf-8", wrapped=True, read=markdown.text_of, write=markdown.with_translation),
    ".rst": Kind("text/x-rst; charset=utf-8", HTML, read=restructured.html_of, write=restructured.with_translation),
    ".srt": _subtitles("application/x-subrip"),
    ".vtt": _subtitles("text/vtt"),
    ".ass": _SUBSTATION,
    ".ssa": _SUBSTATION,
    ".html": _HTML,
    ".htm": _HTML,
    ".docx": _document("openxmlformats-officedocument.wordprocessingml.document", WORD_FILES),
    ".pptx": _document("openxmlformats-officedocument.presentationml.presentation", SLIDE_FILES),
    ".xlsx": _office("openxmlformats-officedocument.spreadsheetml.sheet", workbook.html_of, workbook.with_translation),
    ".ods": _office(open_workbook.MEDIA_TYPE, open_workbook.html_of, open_workbook.with_translation),
    ".odt": _document("oasis.opendocument.text", OPEN_TEXT_FILES),
    ".odp": _document("oasis.opendocument.presentation", OPEN_SLIDE_FILES),
    ".xlf": _XLIFF,
    ".xliff": _XLIFF,
    ".po": Kind(
        "text/x-gettext-translation; charset=utf-8", HTML, read=catalogs.html_of, write=catalogs.with_translation
    ),
    ".json": _JSON,
    ".arb": _JSON,
    ".properties": Kind("text/x-java-properties", HTML, read=properties.html_of, write=properties.with_translation),
    ".resx": _RESX,
    ".resw": _RESX,
    ".xml": Kind("application/xml", HTML, read=android.html_of, write=android.with_translation),
    ".epub": Kind("application/epub+zip", books.MARKUP, packed=True, read=books.html_of, write=books.with_translation),
}


def is_known(name: str) -> bool:
    """Return whether files with such a name are read."""
    return PurePosixPath(name).suffix.lower() in KINDS


def kind_of(name: str) -> Kind:
    """Return the kind of a file.

    Raises:
        InvalidInputError: files of this kind are not read.
    """
    suffix = PurePosixPath(name).suffix
    if (kind := KINDS.get(suffix.lower())) is None:
        what = f"files that end with {suffix}" if suffix else "files whose names have no extension"
        raise InvalidInputError(f"file: {what} are not translated; supported: {', '.join(KINDS)}")
    return kind


def check_size(name: str, content: bytes, limits: Limits) -> None:
    """Refuse a file with more bytes than accepted, which are fewer for plain-text formats.

    Raises:
        InvalidInputError: it is too large (the message states the limit), or of a kind that is not read.
    """
    packed = kind_of(name).packed
    most = limits.max_file_bytes if packed else min(limits.max_file_bytes, limits.max_body_bytes)
    if len(content) > most:
        raise InvalidInputError(
            f"file: {'has' if packed else 'is text of'} more than {most} bytes, which is the maximum"
        )
