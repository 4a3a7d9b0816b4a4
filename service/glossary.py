"""The terms of a request, as they are kept with a session and as they are found in its sentences."""

from collections.abc import Iterable
from functools import lru_cache

import orjson

from models.data.glossary import Glossary, Term
from service.schemas import GlossaryTerm


def written(terms: Iterable[GlossaryTerm]) -> str:
    """Terms as a session keeps them; empty where there are none."""
    pairs = [(term.source, term.target) for term in terms]
    return orjson.dumps(pairs).decode() if pairs else ""


def terms_of(written: str) -> list[GlossaryTerm]:
    """Terms that a session keeps."""
    pairs = orjson.loads(written) if written else []
    return [GlossaryTerm.model_construct(source=source, target=target) for source, target in pairs]


@lru_cache(maxsize=64)
def glossary_of(written: str) -> Glossary:
    """The same, to be found in sentences, of which a session or a client's calls may have many."""
    return Glossary(Term(term.source, term.target) for term in terms_of(written))
