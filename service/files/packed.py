"""Open files that are archives (ZIP), read their parts within limits, and write them with some parts replaced."""

import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from service.errors import InvalidInputError

_MOST_BYTES: Final = 2**26
"""The most bytes that a whole file may unpack to; more is not a document, but a bomb."""
_MOST_READ_BYTES: Final = 2**23
"""The most bytes of the parts that people read: several novels."""
MOST_TAGS: Final = 500_000
"""The most tags in those parts: each takes some hundred bytes of memory."""
_MOST_PARTS: Final = 20_000
"""The most parts: the list of them at the end of a file has to be read first, and takes half a kilobyte for each."""
_LONGEST_NAME: Final = 1000
"""The most characters in the name of a part: other names are built from it, one for each reference in the part."""
_LISTED: Final = b"PK\x01\x02"
"""The beginning of each entry in that list."""
_PACKED: Final = frozenset((ZIP_STORED, ZIP_DEFLATED))
"""The accepted methods of compression; `zipfile` unpacks others whole, whatever length they declare."""


def opened(content: bytes, suffix: str, main: str | re.Pattern[str]) -> ZipFile:
    """Open a file as an archive, which must have a part with the name, or the pattern of names, `main`.

    Raises:
        InvalidInputError: it is no such archive, has too many parts or a part with a long name, or unpacks to too many
            bytes.
    """
    if content.count(_LISTED) > _MOST_PARTS:
        raise InvalidInputError(f"file: is not a valid {suffix}: it has more than {_MOST_PARTS} parts")
    try:
        archive = ZipFile(BytesIO(content))
    except (BadZipFile, NotImplementedError, ValueError) as error:
        raise InvalidInputError(f"file: is not a valid {suffix}: {error}") from None
    names = archive.namelist()
    has_main = main in names if isinstance(main, str) else any(map(main.fullmatch, names))
    if not has_main or len(set(names)) < len(names):
        raise InvalidInputError(f"file: is not a valid {suffix}: it lacks what such a file contains")
    if any(len(name) > _LONGEST_NAME for name in names):
        raise InvalidInputError(
            f"file: is not a valid {suffix}: a part's name is longer than {_LONGEST_NAME} characters"
        )
    if any(info.compress_type not in _PACKED for info in archive.infolist()):
        raise InvalidInputError(f"file: is not a valid {suffix}: it uses an unsupported method of compression")
    _check_size(archive.infolist(), _MOST_BYTES, "it")
    return archive


def read_parts(archive: ZipFile, parts: Sequence[ZipInfo]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the content of each part that people read.

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


def read_part(archive: ZipFile, name: str) -> bytes:
    """Return the content of one part that people read; see `read_parts`."""
    ((_, content),) = read_parts(archive, [archive.getinfo(name)])
    return content


def check_excerpts(excerpts: Iterable[bytes]) -> None:
    """Refuse excerpts of large parts if together they exceed the limits for whole parts.

    Raises:
        InvalidInputError: they are too large, or have too many tags.
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
    """Unpack one part, which must be as long as it declares.

    Raises:
        InvalidInputError: it is not, or is damaged.
    """
    try:
        with archive.open(info) as packed:
            content = packed.read(info.file_size + 1)  # no more than it declares, lest a bomb be unpacked
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
        raise InvalidInputError(f"file: {info.filename} is damaged: its length is not the one that it declares")
    return content


def with_parts(archive: ZipFile, changed: Mapping[str, bytes]) -> bytes:
    """Return the archive with the contents of some parts replaced, by their names."""
    written = BytesIO()
    with ZipFile(written, "w") as target:
        for info in archive.infolist():
            content = changed.get(info.filename)
            target.writestr(info, unpacked(archive, info) if content is None else content)
    return written.getvalue()
