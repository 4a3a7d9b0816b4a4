"""Translation memories that are stored, with a session or a file, to be looked up for their sentences."""

from collections.abc import Iterable
from functools import lru_cache

import orjson

from models.text.memory import Segment, TranslationMemory
from service.schemas.terms import MemorySegment


def written(segments: Iterable[MemorySegment | Segment]) -> str:
    """Serialise segments for storage; empty if there are none."""
    pairs = [(segment.source, segment.target) for segment in segments]
    return orjson.dumps(pairs).decode() if pairs else ""


def segments_of(written: str) -> list[MemorySegment]:
    """Parse stored segments."""
    return [MemorySegment.model_construct(source=source, target=target) for source, target in _pairs(written)]


def stored_memory(written: str) -> TranslationMemory:
    """Make a memory of stored segments."""
    return TranslationMemory(Segment(source, target) for source, target in _pairs(written))


session_memory = lru_cache(maxsize=64)(stored_memory)
"""The same, cached, since all sentences of a session have the same memory."""


def _pairs(written: str) -> list[list[str]]:
    return orjson.loads(written) if written else []
