"""Translation of a whole corpus from file to file; a job that ended early continues when started again.

Knows nothing of Ray: what translates the parts is passed as an argument.
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
    """Result of a job."""

    sentences: int
    parts: int
    kept: int
    """Parts that an earlier job had already translated."""


def translate_corpus(
    corpus: Path,
    out: Path,
    settings: Settings,
    translate: Translate,
    *,
    part_sentences: int,
    progress: Callable[[int, int], object],
) -> Outcome:
    """Translate the documents of a corpus to one line per line, empty where the line is.

    Finished parts are kept beside `out`, so that a job that ends early continues when it is started again.

    Args:
        corpus: one sentence per line, an empty line between documents.
        out: written when everything is translated.
        settings: how to translate.
        translate: does the work.
        part_sentences: minimum sentences of a part, in whole documents.
        progress: called with the number of finished sentences, and of all sentences of the corpus.

    Raises:
        DataError: the corpus is damaged, a line of it is unusable, or sentences of it cannot be translated; all other
            parts are nevertheless translated and kept.
    """
    with CorpusFile.open(corpus, settings.key) as file:
        parts = list(file.parts(part_sentences))
        kept = KeptTranslations(out)
        missing: dict[str, list[Part]] = defaultdict(list)  # repeated parts of a corpus are translated once
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
    """Yield the untranslatable lines, by number, in all parts with this text; the first one was sent."""
    for line in translation.refused.splitlines():
        number, _, reason = line.partition(": ")
        yield from ((int(number) + part.line - same[0].line, reason) for part in same)
