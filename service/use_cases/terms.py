"""Terms of glossaries and segments of translation memories: stored as pairs of texts, and looked up in sentences."""

from collections.abc import Iterable
from functools import lru_cache

import orjson

from models.text.glossary import Glossary, Term
from models.text.memory import Segment, TranslationMemory
from service.schemas.terms import GlossaryTerm, MemorySegment


def written(pairs: Iterable[GlossaryTerm | MemorySegment | Segment]) -> str:
    """Serialise terms or segments for storage; empty if there are none."""
    found = [(each.source, each.target) for each in pairs]
    return orjson.dumps(found).decode() if found else ""


def terms_of(written: str) -> list[GlossaryTerm]:
    """Parse stored terms."""
    return [GlossaryTerm.model_construct(source=source, target=target) for source, target in _pairs(written)]


def segments_of(written: str) -> list[MemorySegment]:
    """Parse stored segments."""
    return [MemorySegment.model_construct(source=source, target=target) for source, target in _pairs(written)]


@lru_cache(maxsize=64)
def glossary_of(written: str) -> Glossary:
    """Make a glossary of stored terms; cached, since many sentences or calls may have the same."""
    return Glossary(Term(source, target) for source, target in _pairs(written))


def stored_memory(written: str) -> TranslationMemory:
    """Make a memory of stored segments."""
    return TranslationMemory(Segment(source, target) for source, target in _pairs(written))


session_memory = lru_cache(maxsize=64)(stored_memory)
"""The same, cached, since all sentences of a session have the same memory."""


def _pairs(written: str) -> list[list[str]]:
    return orjson.loads(written) if written else []
