"""Division of a corpus into parts of whole documents, each identified by its text and how it is to be translated.

A part is the unit that one worker translates, that is kept, and that is repeated after a failure. Imports neither
torch nor Ray.
"""

import gzip
import hashlib
import shutil
import tempfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from models.data.documents import SIGNATURE, decode_line, require_unpacked
from models.errors import DataError


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive documents of a corpus."""

    key: str
    """SHA-256 of the text and of how it is to be translated: it stands for one translation, wherever that is made."""
    offset: int
    """Offset of the first byte in the file."""
    size: int
    """Size in bytes."""
    line: int
    """Number of its first line in the file, from 1."""
    sentences: int


@dataclass(frozen=True, slots=True)
class CorpusFile:
    """A corpus of any size in a file from which any part can be read."""

    name: Path
    """Name of the file for errors."""
    file: Path
    """The file to read; absolute, since a process of the cluster that reads it may have another working directory."""
    how: str
    """What its translation depends on besides the text."""

    @classmethod
    @contextmanager
    def open(cls, corpus: Path, how: str) -> Iterator["CorpusFile"]:
        """Open a corpus; one that ends in `.gz` is unpacked within the block.

        Raises:
            DataError: the file is damaged.
        """
        if corpus.suffix != ".gz":
            yield cls(corpus, corpus.absolute(), how)
            return
        with tempfile.NamedTemporaryFile() as plain:
            try:
                with gzip.open(corpus) as packed:
                    shutil.copyfileobj(packed, plain)
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise DataError(f"cannot be read: {error}", corpus) from None
            plain.flush()
            yield cls(corpus, Path(plain.name), how)

    def parts(self, least: int) -> Iterator[Part]:
        """Divide the corpus after documents, into parts of at least `least` sentences; the last one may have fewer.

        Raises:
            DataError: the file is compressed, or a line is not UTF-8 or longer than any sentence.
        """
        with self.file.open("rb") as stream:
            begin = stream.read(SIGNATURE)
            require_unpacked(self.name, begin)
            offset = len(BOM_UTF8) if begin.startswith(BOM_UTF8) else 0
            stream.seek(offset)
            first = 1
            for lines, sentences in _groups(stream, self.name, least):
                text = b"".join(lines)
                yield Part(self._key(text), offset, len(text), first, sentences)
                offset += len(text)
                first += len(lines)

    def read(self, part: Part) -> bytes:
        """Read the text of a part from the file.

        Raises:
            DataError: the text has changed since the corpus was divided.
        """
        with self.file.open("rb") as stream:
            stream.seek(part.offset)
            text = stream.read(part.size)
        if self._key(text) != part.key:
            raise DataError("has changed since its translation began", self.name, part.line)
        return text

    def _key(self, text: bytes) -> str:
        return hashlib.sha256(b"\0".join((self.how.encode(), text))).hexdigest()


def _groups(lines: Iterable[bytes], corpus: Path, least: int) -> Iterator[tuple[list[bytes], int]]:
    """Yield the lines of whole documents with the empty lines after them, and their number of sentences."""
    group: list[bytes] = []
    sentences, ended = 0, False
    for number, line in enumerate(lines, 1):
        empty = not decode_line(corpus, number, line)
        if ended and not empty and sentences >= least:
            yield group, sentences
            group, sentences = [], 0
        group.append(line)
        sentences, ended = sentences + (not empty), empty
    if group:
        yield group, sentences
