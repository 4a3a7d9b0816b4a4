"""Decode files that are plain text, and encode another text in the same way."""

from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from typing import Final

from service.errors import InvalidInputError

_ISO_2022: Final = (b"\x1b$", b"\x1b(")
"""Escapes of ISO-2022, a common encoding whose bytes are also valid UTF-8, but mean something else there."""


def text_of(content: bytes) -> str:
    """Return the text of a file.

    Raises:
        InvalidInputError: it is neither in UTF-8 nor, with a byte order mark, in UTF-16.
    """
    encoding = "utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig"
    if any(escape in content for escape in _ISO_2022):
        raise InvalidInputError("file: is not in UTF-8, but in ISO-2022")
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.upper().removesuffix("-SIG")
        raise InvalidInputError(f"file: is not in {name}: byte {error.start}") from None
    if "\0" in text:
        raise InvalidInputError("file: is not in UTF-8, but in UTF-16 without a byte order mark, or no text")
    return text


def text_like(content: bytes, text: str) -> bytes:
    """Encode another text in UTF-8, with a byte order mark if the file has that of UTF-8."""
    return text.encode("utf-8-sig" if content.startswith(BOM_UTF8) else "utf-8")
