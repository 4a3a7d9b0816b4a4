"""Read translation memories that clients send with a file; only the segments that the file contains are stored."""

import html
import re
from collections.abc import Iterator
from io import BytesIO
from itertools import islice
from typing import Final

from pydantic import TypeAdapter

from models.errors import DataError
from models.text.memory import Segment, TranslationMemory
from models.text.memory_files import segments_of_tmx
from service.errors import InvalidInputError
from service.schemas.limits import Limits
from service.schemas.terms import MemorySegments
from service.texts.reading import ReadText
from service.texts.term_lines import rows_of_tsv, validated
from service.use_cases.known import Finder
from service.use_cases.limits import check_segments
from service.use_cases.terms import stored_memory, written

_SEGMENTS: Final = TypeAdapter(MemorySegments)
_MEMBER: Final = "memory"
"""The field of a form that holds the memory."""
_DECLARATION: Final = re.compile(r"\A\ufeff?\s*<\?xml[^>]*\?>")
"""The XML declaration, which names an encoding that the decoded text no longer has."""


def memory_of(text: str, languages: tuple[str, str], limits: Limits) -> TranslationMemory:
    """Read a memory in TMX, or in lines with a tab between source and target.

    Raises:
        InvalidInputError, SentenceTooLongError: it is neither, is in other languages, or exceeds a limit.
    """
    is_xml = text.lstrip("\ufeff \t\r\n").startswith("<")
    rows = _of_tmx(text, *languages) if is_xml else rows_of_tsv(_MEMBER, text)
    segments = validated(_MEMBER, _SEGMENTS, islice(rows, limits.max_memory_segments + 1))
    check_segments(segments, limits)
    return TranslationMemory(Segment(each.source, each.target) for each in segments)


def _of_tmx(text: str, source: str, target: str) -> Iterator[Segment]:
    try:
        yield from segments_of_tmx(BytesIO(_DECLARATION.sub("", text).encode()), source, target)
    except DataError as error:
        raise InvalidInputError(f"{_MEMBER}: {error}") from None


def found_in(memory: TranslationMemory, text: ReadText) -> str:
    """Serialise the segments that a memory has for a text's sentences; empty if there are none."""
    plain = text.sentences if text.tagged is None else map(html.unescape, filter(_is_plain, text.sentences))
    return written(memory.of(plain))


def finder_of(kept: str, text: ReadText) -> Finder | None:
    """Return a lookup in what `found_in` returned, for sentences as the text has them; None if that is empty.

    In HTML or XML, a sentence is looked up by its plain text, without entities, and not at all if it has tags.
    """
    if not kept:
        return None
    memory = stored_memory(kept)
    if text.tagged is None:
        return memory.find

    def find(sentence: str) -> str | None:
        target = memory.find(html.unescape(sentence)) if _is_plain(sentence) else None
        return None if target is None else html.escape(target, quote=False)

    return find


def _is_plain(sentence: str) -> bool:
    return "<" not in sentence
