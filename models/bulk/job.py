"""A whole corpus, from its file to the file of its translation; started again after it has ended early, it goes on.

Knows nothing of Ray: who translates the parts comes in as an argument.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.bulk.kept import KeptTranslations
from models.bulk.parts import CorpusFile, Part
from models.bulk.worker import Settings, Translation
from models.data.documents import refusal

Translate = Callable[[CorpusFile, Sequence[Part], Settings], Iterable[Translation]]
"""Translates parts of a corpus, in whichever order they are ready."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a job came to."""

    sentences: int
    parts: int
    kept: int
    """Parts that a job before had translated already."""


def translate_corpus(
    corpus: Path,
    out: Path,
    settings: Settings,
    translate: Translate,
    *,
    part_sentences: int,
    progress: Callable[[int, int], object],
) -> Outcome:
    """Translate the documents of a corpus: for each of its lines one, empty where that is.

    What is ready is kept beside `out`, so that a job that ends early goes on when it is started again.

    Args:
        corpus: a sentence a line, an empty line between documents.
        out: appears when all is translated.
        settings: how to translate.
        translate: who does it.
        part_sentences: of a part, at least, in whole documents.
        progress: called with sentences that are done, and with all sentences of the corpus.

    Raises:
        DataError: the corpus is damaged, a line of it cannot be used, or sentences of it cannot be translated; all
            other parts are translated nevertheless, and kept.
    """
    with CorpusFile.open(corpus, settings.key) as file:
        parts = list(file.parts(part_sentences))
        kept = KeptTranslations(out)
        missing: dict[str, list[Part]] = defaultdict(list)  # what stands in the corpus twice is translated once
        for part in parts:
            if part not in kept:
                missing[part.key].append(part)
        outcome = Outcome(sum(part.sentences for part in parts), len(parts), sum(part in kept for part in parts))
        progress(sum(part.sentences for part in parts if part in kept), outcome.sentences)
        refused: list[tuple[int, str]] = []
        for translation in translate(file, [first for first, *_ in missing.values()], settings) if missing else ():
            same = missing[translation.key]
            if translation.refused:
                refused.extend(_refused(translation, same))
            else:
                kept.keep(translation.key, translation.text)
            progress(translation.sentences * len(same), outcome.sentences)
    if refused:
        raise refusal(corpus, refused, "; everything else is translated and kept")
    kept.join(parts)
    return outcome


def _refused(translation: Translation, same: Sequence[Part]) -> Iterator[tuple[int, str]]:
    """The lines that cannot be translated, by number, of all parts that say the same; the first one was to be."""
    for line in translation.refused.splitlines():
        number, _, reason = line.partition(": ")
        yield from ((int(number) + part.line - same[0].line, reason) for part in same)
