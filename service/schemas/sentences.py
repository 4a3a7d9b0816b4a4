"""Translated sentences of documents and sessions, with their alternatives."""

from service.schemas.body import Body


class Alternative(Body):
    """Another translation of a sentence."""

    translation: str
    score: float
    """As for the translation. Alternatives are in the order of the search, which favours length more than scores do."""


class TranslatedSentence(Body):
    """A sentence of a document or a session, and its translation."""

    position: int
    source: str
    translation: str
    score: float | None
    """Mean log-probability per token, including the end of sentence; null if the client supplied the translation."""
    context_size: int
    """How many preceding sentences the model used; 0 if the client supplied the translation."""
    alternatives: list[Alternative]
    """Other translations, in the order of the search; empty unless the document or session asked for them."""


def check_beam(beam_size: int | None, alternatives: int) -> None:
    """Refuse more alternatives than a beam of this size has room for.

    Raises:
        ValueError: there are more; the message says how many there may be.
    """
    if beam_size is not None and alternatives >= beam_size:
        raise ValueError(f"a beam_size of {beam_size} allows at most {beam_size - 1} alternatives")
