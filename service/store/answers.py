"""Answers as they are stored: JSON, which replicas of earlier releases read as well."""

from dataclasses import asdict

import orjson

from models.engine.requests import Alternative
from service.store.document import Answer


def written(answer: Answer) -> bytes:
    """Write an answer; without alternatives, which earlier releases do not know, unless it has some."""
    members = asdict(answer)
    if not members["alternatives"]:
        del members["alternatives"]
    return orjson.dumps(members)


def read(stored: str) -> Answer:
    """Parse an answer as it is stored."""
    members = orjson.loads(stored)
    alternatives = members.pop("alternatives", ())
    return Answer(**members, alternatives=tuple(Alternative(**each) for each in alternatives))
