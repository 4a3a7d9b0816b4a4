"""Terms of glossaries, and segments of translation memories."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, Field, StringConstraints

from models.text.glossary import UNFIT
from service.schemas.body import Body
from service.schemas.fields import encodable


def _on_one_line(text: str) -> str:
    if UNFIT.search(text):
        raise ValueError("must not contain line breaks, tabs or other control characters")
    return text


TermText = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(encodable),
    AfterValidator(_on_one_line),
]
SegmentText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1), AfterValidator(encodable)]


class GlossaryTerm(Body):
    """A word or phrase, and its required translation."""

    source: TermText = Field(examples=["源氏物語"])
    target: TermText = Field(examples=["The Tale of Genji"])


def _each_once(terms: Sequence[GlossaryTerm]) -> Sequence[GlossaryTerm]:
    known = set[str]()
    for number, term in enumerate(terms):
        if term.source in known:
            raise ValueError(f"term {number} has the same source as an earlier term")
        known.add(term.source)
    return terms


GlossaryTerms = Annotated[list[GlossaryTerm], Field(fail_fast=True), AfterValidator(_each_once)]


class MemorySegment(Body):
    """A sentence whose translation is known."""

    source: SegmentText = Field(examples=["源氏物語を書いた。"])
    target: Annotated[SegmentText, AfterValidator(_on_one_line)] = Field(examples=["She wrote The Tale of Genji."])


MemorySegments = Annotated[list[MemorySegment], Field(fail_fast=True)]
