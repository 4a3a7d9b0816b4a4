"""Limits of requests, beyond those in their schemas."""

from collections.abc import Sequence
from typing import Final

from models.errors import SentenceTooLongError
from models.text.markup import unmarked
from service.errors import InvalidInputError
from service.schemas.limits import Limits
from service.schemas.terms import GlossaryTerm, MemorySegment
from service.settings import Settings

_WITH_TAGS: Final = 4
"""A sentence with its tags may be so many times as long as the limit for its text: tags are kept, but not read."""


def check_length(sentence: str, most: int, which: str, **extras: int) -> None:
    """Refuse a sentence with more characters than are accepted; tags count only if they are most of it.

    `which` identifies it in the message, and `extras`, such as its position, in the problem.

    Raises:
        SentenceTooLongError: it is too long; the message states its length and the limit.
    """
    if len(sentence) <= most:
        return
    characters = max(len(unmarked(sentence).text), len(sentence) // _WITH_TAGS)
    if characters > most:
        raise SentenceTooLongError(f"{which} has {characters} characters; at most {most} are accepted", **extras)


def check_terms(terms: Sequence[GlossaryTerm], limits: Limits | Settings) -> None:
    """Refuse a glossary with more terms, or more characters in all, than are accepted.

    Raises:
        InvalidInputError: it has too many; the message states the limit.
    """
    if len(terms) > (most := limits.max_glossary_terms):
        raise InvalidInputError(f"the glossary has more than {most} terms, which is the maximum")
    characters = sum(len(term.source) + len(term.target) for term in terms)
    if characters > (most := limits.max_glossary_characters):
        raise InvalidInputError(f"the glossary has {characters} characters; at most {most} are accepted")


def check_segments(segments: Sequence[MemorySegment], limits: Limits | Settings) -> None:
    """Refuse a translation memory with more segments, or longer translations, than are accepted.

    Raises:
        InvalidInputError, SentenceTooLongError: it exceeds a limit, which the message states.
    """
    if len(segments) > (most := limits.max_memory_segments):
        raise InvalidInputError(f"the memory has more than {most} segments, which is the maximum")
    for number, segment in enumerate(segments):
        check_length(segment.target, limits.max_translation_characters, f"translation {number} of the memory")


def check_session_memory(segments: Sequence[MemorySegment], limits: Settings) -> None:
    """Refuse a memory that `check_segments` refuses, or that has more characters in all than are kept for a session.

    Raises:
        InvalidInputError, SentenceTooLongError: it exceeds a limit, which the message states.
    """
    check_segments(segments, limits)
    characters = sum(len(segment.source) + len(segment.target) for segment in segments)
    if characters > (most := limits.max_session_memory_characters):
        raise InvalidInputError(f"the memory has {characters} characters; at most {most} are accepted for a session")


def check_alternatives(sentences: int, alternatives: int, most: int) -> None:
    """Refuse more translations, including alternatives, than the largest document has: an answer contains them all.

    Raises:
        InvalidInputError: there would be too many; the message states the limit in sentences.
    """
    if sentences * (1 + alternatives) > most:
        raise InvalidInputError(
            f"a document with {alternatives} alternatives can have at most {most // (1 + alternatives)} sentences"
        )


def check_number(sentences: int, most: int) -> None:
    """Refuse a document with more sentences than are accepted.

    Raises:
        InvalidInputError: it has too many; the message states the limit.
    """
    if sentences > most:
        raise InvalidInputError(f"the document has more than {most} sentences, which is the maximum")
