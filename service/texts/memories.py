"""Translation memories as clients send them with a file, and what is kept of one: what the file has of it."""

import html
import re
from collections.abc import Iterable, Iterator
from io import BytesIO
from itertools import islice
from typing import Final

import orjson
from pydantic import TypeAdapter, ValidationError

from models.data.memory import Segment, TranslationMemory
from models.data.memory_files import segments_of_tmx
from models.errors import DataError
from service.errors import InvalidInputError
from service.http.problems import reason
from service.limits import check_segments
from service.schemas import Limits, MemorySegment, MemorySegments
from service.texts.reading import ReadText
from service.texts.term_lines import rows_of_tsv

_SEGMENTS: Final = TypeAdapter(MemorySegments)
_DECLARATION: Final = re.compile(r"\A\ufeff?\s*<\?xml[^>]*\?>")
"""Of an encoding that the text no longer has."""


def memory_of(member: str, text: str, languages: tuple[str, str], limits: Limits) -> TranslationMemory:
    """A memory in TMX, or in lines with a tab between source and target.

    Raises:
        InvalidInputError, SentenceTooLongError: it is neither, or in other languages, or has too much; `member` names
            it to the client.
    """
    is_xml = text.lstrip("\ufeff \t\r\n").startswith("<")
    rows = _of_tmx(member, text, *languages) if is_xml else rows_of_tsv(member, text)
    some = islice(rows, limits.max_memory_segments + 1)
    try:
        segments = _SEGMENTS.validate_python([{"source": source, "target": target} for source, target in some])
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise InvalidInputError(f"{member}: entry {first['loc'][0]}, {first['loc'][1]}: {reason(first)}") from None
    check_segments(segments, limits)
    return TranslationMemory(Segment(each.source, each.target) for each in segments)


def _of_tmx(member: str, text: str, source: str, target: str) -> Iterator[Segment]:
    try:
        yield from segments_of_tmx(BytesIO(_DECLARATION.sub("", text).encode()), source, target)
    except DataError as error:
        raise InvalidInputError(f"{member}: {error}") from None


def found_in(memory: TranslationMemory, text: ReadText) -> str:
    """What a memory has of a text's sentences, as they stand in it, to be kept; empty where that is nothing."""
    segments = memory.of(text.sentences) if text.tagged is None else _as_marked(memory, text)
    pairs = [(segment.source, segment.target) for segment in segments]
    return orjson.dumps(pairs).decode() if pairs else ""


def segments_of(kept: str) -> list[MemorySegment]:
    """What was kept."""
    pairs: Iterable[tuple[str, str]] = orjson.loads(kept) if kept else ()
    return [MemorySegment.model_construct(source=source, target=target) for source, target in pairs]


def _as_marked(memory: TranslationMemory, text: ReadText) -> Iterator[Segment]:
    """Sentences that are in HTML or XML: the memory knows what they say."""
    for sentence in dict.fromkeys(text.sentences):
        target = None if "<" in sentence else memory.find(html.unescape(sentence))
        if target is not None:
            yield Segment(sentence, html.escape(target, quote=False))
