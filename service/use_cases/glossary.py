"""The terms of a request: stored with a session, and looked up in sentences."""

from collections.abc import Iterable
from functools import lru_cache

import orjson

from models.text.glossary import Glossary, Term
from service.schemas.terms import GlossaryTerm


def written(terms: Iterable[GlossaryTerm]) -> str:
    """Serialise terms for storage; empty if there are none."""
    pairs = [(term.source, term.target) for term in terms]
    return orjson.dumps(pairs).decode() if pairs else ""


def terms_of(written: str) -> list[GlossaryTerm]:
    """Parse stored terms."""
    pairs = orjson.loads(written) if written else []
    return [GlossaryTerm.model_construct(source=source, target=target) for source, target in pairs]


@lru_cache(maxsize=64)
def glossary_of(written: str) -> Glossary:
    """Make a glossary of stored terms; cached, since many sentences or calls may have the same."""
    return Glossary(Term(term.source, term.target) for term in terms_of(written))
