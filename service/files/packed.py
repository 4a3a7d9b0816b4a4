"""Files that are archives (ZIP): opened, read within limits, and written again with other parts."""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from service.errors import InvalidInputError

_MOST_BYTES: Final = 2**26
"""Of all that is packed in a file; more is no document, but a bomb."""
_MOST_READ_BYTES: Final = 2**23
"""Of the parts that people read: some novels."""
MOST_TAGS: Final = 500_000
"""In them: each is some hundred bytes of memory."""
_MOST_PARTS: Final = 20_000
"""Which are listed at the end of a file; all are read before anything else can be, and each is half a kilobyte then."""
_LISTED: Final = b"PK\x01\x02"
"""What each of them begins with in that list."""
_PACKED: Final = frozenset((ZIP_STORED, ZIP_DEFLATED))
"""How such files are packed; others are unpacked whole, however long they said to be."""


def opened(content: bytes, suffix: str, main: str | re.Pattern[str]) -> ZipFile:
    """The archive that a file is, which has a part of the name `main`, or of one like that.

    Raises:
        InvalidInputError: it is none, has too many parts, or unpacks to too much.
    """
    if content.count(_LISTED) > _MOST_PARTS:
        raise InvalidInputError(f"file: is no {suffix}: it has more than {_MOST_PARTS} parts")
    try:
        archive = ZipFile(BytesIO(content))
    except (BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidInputError(f"file: is no {suffix}: {error}") from None
    names = archive.namelist()
    has_main = main in names if isinstance(main, str) else any(map(main.fullmatch, names))
    if not has_main or len(set(names)) < len(names):
        raise InvalidInputError(f"file: is no {suffix}: it does not hold what such a file does")
    if any(info.compress_type not in _PACKED for info in archive.infolist()):
        raise InvalidInputError(f"file: is no {suffix}: it is packed as none is")
    _check_size(archive.infolist(), _MOST_BYTES, "it")
    return archive


def read_parts(archive: ZipFile, parts: Sequence[ZipInfo]) -> Iterator[tuple[str, bytes]]:
    """Those that people read, each with its name.

    Raises:
        InvalidInputError: they are too large, have too many tags, or are damaged.
    """
    _check_size(parts, _MOST_READ_BYTES, "its text")
    room = MOST_TAGS
    for info in parts:
        content = unpacked(archive, info)
        room -= content.count(b"<")
        if room < 0:
            raise InvalidInputError(f"file: has more than {MOST_TAGS} tags")
        yield info.filename, content


def check_excerpts(excerpts: Iterable[bytes]) -> None:
    """Refuse what people read of larger parts, if it is more than whole parts may be.

    Raises:
        InvalidInputError: it is too large, or has too many tags.
    """
    size = tags = 0
    for excerpt in excerpts:
        size += len(excerpt)
        tags += excerpt.count(b"<")
    if size > _MOST_READ_BYTES or tags > MOST_TAGS:
        raise InvalidInputError(f"file: its text has more than {_MOST_READ_BYTES} bytes or {MOST_TAGS} tags")


def _check_size(infos: Iterable[ZipInfo], most: int, which: str) -> None:
    if sum(info.file_size for info in infos) > most:
        raise InvalidInputError(f"file: {which} has more than {most} bytes when it is unpacked")


def unpacked(archive: ZipFile, info: ZipInfo) -> bytes:
    """One part, which is as long as it says.

    Raises:
        InvalidInputError: it is not, or is damaged.
    """
    try:
        with archive.open(info) as packed:
            content = packed.read(info.file_size + 1)  # all that it says it has: else a bomb would be unpacked first
    except (
        ArithmeticError,
        BadZipFile,
        EOFError,
        NotImplementedError,
        OSError,
        RuntimeError,
        ValueError,
        zlib.error,
    ) as error:
        raise InvalidInputError(f"file: {info.filename} is damaged, or encrypted: {error}") from None
    if len(content) != info.file_size:
        raise InvalidInputError(f"file: {info.filename} is damaged: it has not the length that it says")
    return content


def with_parts(archive: ZipFile, changed: Mapping[str, bytes]) -> bytes:
    """The same archive with other contents of some parts, by their names."""
    written = BytesIO()
    with ZipFile(written, "w") as target:
        for info in archive.infolist():
            content = changed.get(info.filename)
            target.writestr(info, unpacked(archive, info) if content is None else content)
    return written.getvalue()
