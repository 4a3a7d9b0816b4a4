"""Alternative translations of a sentence: how a model is asked for them, and which of its results are shown."""

from collections.abc import Sequence

from models.engine.requests import Alternative, Options, Strategy, Translation
from service.schemas import sentences


def options(strategy: Strategy, beam_size: int | None, alternatives: int, model_beam: int) -> Options:
    """Return options for so many alternatives; `model_beam` is the model's default beam size."""
    if beam_size is None and alternatives >= model_beam:
        beam_size = alternatives + 1
    return Options(strategy, beam_size, alternatives + 1)


def others(translation: Translation) -> tuple[Alternative, ...]:
    """Return the alternatives that differ as texts: a model may find the same text in different pieces."""
    known, found = {translation.text}, list[Alternative]()
    for each in translation.alternatives:
        if each.text not in known:
            known.add(each.text)
            found.append(each)
    return tuple(found)


def as_sent(alternatives: Sequence[Alternative]) -> list[sentences.Alternative]:
    """Convert alternatives to the client's schema."""
    return [sentences.Alternative(translation=each.text, score=each.score) for each in alternatives]
