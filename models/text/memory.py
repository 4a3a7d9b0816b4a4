"""Translation memories: sentences whose translations are known."""

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple


class Segment(NamedTuple):
    """A sentence and its approved translation."""

    source: str
    target: str


class TranslationMemory:
    """Known translations by sentence; of several segments with the same source the last counts.

    White space is ignored, as tools write it in many ways, and so is how letters with accents, or が, are composed in
    Unicode. All else counts, including case and final punctuation.
    """

    def __init__(self, segments: Iterable[Segment]) -> None:
        self._targets = {_spaced(segment.source): segment.target.strip() for segment in segments}

    def find(self, sentence: str) -> str | None:
        """Return the known translation of a sentence, or None."""
        return self._targets.get(_spaced(sentence)) if self._targets else None

    def of(self, sentences: Iterable[str]) -> Iterator[Segment]:
        """Yield the segments of some sentences, each once, however their white space is written."""
        for source in dict.fromkeys(map(_spaced, sentences)):
            if source in self._targets:
                yield Segment(source, self._targets[source])


def _spaced(text: str) -> str:
    """Replace runs of white space by single spaces, strip it, and compose characters."""
    return " ".join(unicodedata.normalize("NFC", text).split())


NO_MEMORY: Final = TranslationMemory(())
