"""Sentences whose translations are known, as a translation memory has them."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple


class Segment(NamedTuple):
    """A sentence and its translation, as somebody has approved it."""

    source: str
    target: str


class TranslationMemory:
    """Finds what a sentence has been translated to; of several segments with the same source the last counts.

    White space does not matter: tools write it in many ways. All else does, capitals and marks of a sentence's end too.
    """

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._targets = {_spaced(segment.source): segment.target.strip() for segment in segments}

    def find(self, sentence: str) -> str | None:
        """The translation of a sentence, if it has one."""
        return self._targets.get(_spaced(sentence)) if self._targets else None

    def of(self, sentences: Iterable[str]) -> Iterator[Segment]:
        """What it has of some sentences, each once, in whatever ways its white space is written."""
        for source in dict.fromkeys(map(_spaced, sentences)):
            if source in self._targets:
                yield Segment(source, self._targets[source])


def _spaced(text: str) -> str:
    """With a space wherever there is white space, but none around it."""
    return " ".join(text.split())


NO_MEMORY: Final = TranslationMemory(())
