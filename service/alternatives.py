"""Other translations of a sentence: how a model is asked for them, and which of those that it finds are shown."""

from collections.abc import Sequence

from models.engine.requests import Alternative, Options, Strategy, Translation
from service import schemas


def options(strategy: Strategy, beam_size: int | None, alternatives: int, model_beam: int) -> Options:
    """How to translate for so many of them, by a model that has `model_beam` where nobody names a beam."""
    if beam_size is None and alternatives >= model_beam:
        beam_size = alternatives + 1
    return Options(strategy, beam_size, alternatives + 1)


def others(translation: Translation) -> tuple[Alternative, ...]:
    """Those that are other texts: the same one may be said in different pieces."""
    known, found = {translation.text}, list[Alternative]()
    for each in translation.alternatives:
        if each.text not in known:
            known.add(each.text)
            found.append(each)
    return tuple(found)


def as_sent(alternatives: Sequence[Alternative]) -> list[schemas.Alternative]:
    """The same for a client."""
    return [schemas.Alternative(translation=each.text, score=each.score) for each in alternatives]
