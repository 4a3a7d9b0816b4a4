"""The kinds of files that are translated: by the ends of their names, how they are read and written."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final, Literal

from service.errors import InvalidInputError

_BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a file is to browsers, and to the reading of texts."""

    media_type: str
    tag_handling: Literal["html"] | None = None


_HTML: Final = Kind("text/html", "html")
KINDS: Final = {
    ".txt": Kind("text/plain"),
    ".md": Kind("text/markdown"),
    ".srt": Kind("application/x-subrip"),
    ".vtt": Kind("text/vtt"),
    ".html": _HTML,
    ".htm": _HTML,
}


def kind_of(name: str) -> Kind:
    """The kind of a file.

    Raises:
        InvalidInputError: it is none that is read.
    """
    suffix = PurePosixPath(name).suffix
    if (kind := KINDS.get(suffix.lower())) is None:
        what = f"files that end with {suffix}" if suffix else "files whose names say not what they are"
        raise InvalidInputError(f"file: {what} are not translated, but {', '.join(KINDS)}")
    return kind


def text_of(content: bytes) -> str:
    """What a file says.

    Raises:
        InvalidInputError: it is not in UTF-8, nor in UTF-16 with a byte order mark.
    """
    encoding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"file: is not in {encoding.upper()}: byte {error.start}") from None
    return text


def without_mark(text: str) -> tuple[str, str]:
    """The byte order mark of a text, where it has one, and the rest."""
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    return mark, text[len(mark) :]
