"""Documents from line-aligned text files, and the context window of each sentence.

A corpus is one file, or two with the same number of lines: one sentence per line, UTF-8, plain or gzip, with an empty
line (in both files at the same place) after each document. Knows nothing of tokens or tensors; does not import torch.
"""

import gzip
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from models.config import ContextWindow, data_folder
from models.errors import DataError

MAX_CHARACTERS = 4096
"""Limit for a sentence: twice the longest of any corpus in use; beyond it a file has probably lost its line ends."""

PIECE_SENTENCES = 512
"""Sentences worked on at a time, in whole documents: enough for full batches, few enough to show progress."""

_PACKED: Final = {
    b"\x1f\x8b": "gzip",
    b"BZh9": "bzip2",
    b"\xfd7zXZ": "xz",
    b"(\xb5/\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
"""What compressed files begin with."""
SIGNATURE = 5
"""Bytes of a file that tell whether it is compressed."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A source sentence and its translation, if there is one."""

    source: str
    target: str | None = None


@dataclass(frozen=True, slots=True)
class Document:
    """Sentences that are context for each other, in reading order."""

    sentences: tuple[Sentence, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Window:
    """A sentence and the sentences around it in its document, in reading order."""

    current: Sentence
    preceding: tuple[Sentence, ...] = ()
    following: tuple[Sentence, ...] = ()


@dataclass(slots=True)
class BadLines:
    """Lines that reading left out instead of raising: one entry, `file:line: reason`, per pair of lines."""

    found: list[str] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of pairs of lines (or of lines, without a target file) that were left out."""
        return len(self.found)

    def add(self, error: DataError) -> None:
        """Add one more."""
        self.found.append(str(error))


def read_documents(source: Path, target: Path | None = None, *, bad: BadLines | None = None) -> list[Document]:
    """Read a corpus; each document is named after its file and first line (from 1).

    With `bad`, unusable pairs of lines are left out and recorded there. A line that is empty in one file only makes
    such a pair, but still ends the document: better to lose context than to take another document's.

    Raises:
        DataError: a file is missing or damaged, or the files differ in their number of lines; and without `bad`: a line
            is not UTF-8, is longer than MAX_CHARACTERS, or is empty in one file only.
    """
    reader = _Reader(source, target)
    documents: list[Document] = []
    sentences: list[Sentence] = []
    first = 1
    for line, sentence in reader.sentences(bad):
        if sentence is not None:
            first = first if sentences else line
            sentences.append(sentence)
        elif sentences:
            documents.append(Document(tuple(sentences), f"{source.name}:{first}"))
            sentences = []
    if sentences:
        documents.append(Document(tuple(sentences), f"{source.name}:{first}"))
    return documents


def windows(document: Document, reach: ContextWindow) -> Iterator[Window]:
    """Yield each sentence of a document with the sentences that it is read with."""
    sentences = document.sentences
    for position, current in enumerate(sentences):
        first, end = reach.around(position)
        yield Window(current, sentences[first:position], sentences[position + 1 : end])


def in_pieces(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield groups of whole documents with PIECE_SENTENCES sentences or more; the last group may have fewer."""
    piece: list[Document] = []
    for document in documents:
        piece.append(document)
        if sum(len(each.sentences) for each in piece) >= PIECE_SENTENCES:
            yield piece
            piece = []
    if piece:
        yield piece


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reader that turns each line, or pair of lines, into a sentence, a boundary or an error."""

    source: Path
    target: Path | None

    def sentences(self, bad: BadLines | None) -> Iterator[tuple[int, Sentence | None]]:
        """Yield (line, sentence), or (line, None) where a document ends."""
        for line, (source, target) in enumerate(self._aligned(), 1):
            try:
                yield line, self._sentence(line, source, target)
            except DataError as error:
                if bad is None:
                    raise
                bad.add(error)
                if _is_blank(source) or _is_blank(target):
                    yield line, None

    def _aligned(self) -> Iterator[tuple[bytes, bytes]]:
        sources = read_lines(self.source)
        targets = sources if self.target is None else read_lines(self.target)
        if len(sources) != len(targets):
            pair = [(len(sources), str(self.source)), (len(targets), str(self.target))]
            (fewer, shorter), (more, longer) = sorted(pair)
            raise DataError(
                f"has no counterpart: {longer} has {more} lines, but {shorter} has {fewer}", longer, fewer + 1
            )
        return zip(sources, targets, strict=True)

    def _sentence(self, line: int, source: bytes, target: bytes) -> Sentence | None:
        source_text = decode_line(self.source, line, source)
        if self.target is None:
            return Sentence(source_text) if source_text else None
        target_text = decode_line(self.target, line, target)
        if source_text and target_text:
            return Sentence(source_text, target_text)
        if source_text or target_text:
            empty, full = (self.source, self.target) if target_text else (self.target, self.source)
            raise DataError(f"is empty, which ends a document, but {full} has a sentence there", empty, line)
        return None


def decode_line(path: Path, line: int, raw: bytes) -> str:
    """Decode a line and strip it; empty where a document ends.

    Raises:
        DataError: it is not UTF-8 or longer than MAX_CHARACTERS; the error names the file and the line.
    """
    text = _decoded(path, line, raw).strip()
    if len(text) > MAX_CHARACTERS:
        raise DataError(f"has {len(text)} characters, more than the limit of {MAX_CHARACTERS}", path, line)
    return text


def _decoded(path: Path, line: int, raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"is not valid UTF-8 at byte {error.start + 1}", path, line) from None


def _is_blank(raw: bytes) -> bool:
    return not raw.decode("utf-8", errors="replace").strip()


def read_lines(path: Path) -> list[bytes]:
    """Read the lines of a file; only a line feed ends a line, so U+2028 or U+0085 may occur in a sentence."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read()
    except FileNotFoundError:
        raise DataError(f"no such file{_data_folder_hint(path)}", path) from None
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot be read: {error}", path) from None
    require_unpacked(path, content)
    lines = content.split(b"\n")
    lines[0] = lines[0].removeprefix(BOM_UTF8)
    if not lines[-1]:
        lines.pop()
    return lines


def require_unpacked(path: Path, content: bytes) -> None:
    """Refuse compressed content: only gzip is read, and only if a name ending in `.gz` announces it."""
    kind = next((kind for begin, kind in _PACKED.items() if content.startswith(begin)), None)
    if kind is not None:
        what = "unpack it, or rename it to end in .gz" if kind == "gzip" else "unpack it, or compress it with gzip"
        raise DataError(f"is compressed with {kind}: {what}", path)


def read_translations(path: Path) -> list[str]:
    """Read a file of translations, one line per sentence.

    Raises:
        DataError: the file is missing or damaged, or a line is not UTF-8.
    """
    return [_decoded(path, number, line).removesuffix("\r") for number, line in enumerate(read_lines(path), 1)]


def refusal(corpus: Path, refused: Sequence[tuple[int, str]], more: str = "") -> DataError:
    """Build an error that names the line of every untranslatable sentence, with the reason for the first."""
    (line, reason), *others = sorted(refused)
    also = f"; nor can lines {', '.join(str(number) for number, _ in others)}" if others else ""
    return DataError(f"cannot be translated: {reason}{also}{more}", corpus, line)


def _data_folder_hint(path: Path) -> str:
    folder = data_folder()
    if not path.is_relative_to(folder):
        return ""
    return f"; corpora are expected in {folder}: set ANTECEDENT_DATA to the folder that contains them"
