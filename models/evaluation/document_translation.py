"""Translation of whole documents, one sentence after the other if the translator reads its earlier translations."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, repeat
from operator import itemgetter
from typing import Protocol

from models.config import ContextWindow
from models.data.documents import PIECE_SENTENCES, Document, Sentence, Window
from models.data.replacement import REAL, Replacement


class Translated(Protocol):
    """One translation, such as `models.engine.requests.Translation`."""

    @property
    def text(self) -> str:
        """The translation, detokenized."""

    @property
    def tokens(self) -> int:
        """How many target tokens were generated."""


class Translator(Protocol):
    """Translates sentences in their context."""

    @property
    def reads_target(self) -> bool:
        """Whether it reads the translations of the preceding sentences."""

    def translate(self, windows: Sequence[Window]) -> Sequence[Translated]:
        """Translate the current sentence of each window; return as many translations, in the same order.

        The preceding sentences have the translator's own translations if it reads them, and none otherwise, so that no
        reference can find its way into a translation.
        """


def translate_documents(
    translator: Translator,
    documents: Sequence[Document],
    reach: ContextWindow,
    *,
    replacement: Replacement = REAL,
    drafted: bool = False,
) -> list[Translated]:
    """Translate every sentence of the documents.

    A translator that reads translations gets the first sentences of all documents together, then the second ones with
    its translations of the first, and so on; any other gets all sentences at once.

    Args:
        translator: what translates.
        documents: what is translated; targets, if there are any, are not read unless they are drafts.
        reach: which sentences around each one the translator is given as context.
        replacement: what it is given in place of that context.
        drafted: whether the targets are drafts, each given to the translator as the target of its current sentence.

    Returns:
        A translation for each sentence, in order.
    """
    found: list[list[Translated]] = [[] for _ in documents]
    if replacement.kind == "fixed" and translator.reads_target:
        replacement = replace(replacement, constant=_constant(translator, documents, reach, replacement))
    for turn in _turns(documents, in_turn=translator.reads_target):
        own = found if translator.reads_target else [None] * len(found)
        given = [_window(documents[number], position, reach, own[number], drafted) for number, position in turn]
        numbers = [number for number, _ in turn]
        if replacement.kind != "real":
            # A replacement context may also come from documents that are already translated to their end.
            over = [n for n in sorted({*range(len(documents))} - {*numbers}) if documents[n].sentences]
            ended = [_window(documents[n], len(documents[n].sentences) - 1, reach, own[n], drafted) for n in over]
            given = replacement.apply([*given, *ended], [*numbers, *over])[: len(given)]
        translations = translator.translate(given)
        if len(translations) != len(given):
            raise ValueError(f"{len(translations)} translations of {len(given)} sentences")
        for number, translation in zip(numbers, translations, strict=True):
            found[number].append(translation)
    return [translation for translations in found for translation in translations]


def _constant(
    translator: Translator, documents: Sequence[Document], reach: ContextWindow, replacement: Replacement
) -> Sentence | None:
    """Draw one sentence of all documents and translate it: a translator that reads translations needs that, too."""
    places = [(document, at) for document in documents for at in range(len(document.sentences))]
    drawn = replacement.draw([_window(document, at, reach, None, drafted=False) for document, at in places])
    return drawn and Sentence(drawn.source, translator.translate([Window(Sentence(drawn.source))])[0].text)


def _turns(documents: Sequence[Document], *, in_turn: bool) -> Iterator[list[tuple[int, int]]]:
    """Yield what can be translated together: each sentence's document and position, those of a document in order."""
    everything = [(number, at) for number, document in enumerate(documents) for at in range(len(document.sentences))]
    if in_turn:
        by_position = groupby(sorted(everything, key=itemgetter(1)), key=itemgetter(1))
        yield from (list(turn) for _, turn in by_position)
    elif everything:
        yield everything


def _window(
    document: Document, position: int, reach: ContextWindow, own: Sequence[Translated] | None, drafted: bool
) -> Window:
    """Return a sentence in its context, which has its own translations if any were made, and never references."""
    first, end = reach.around(position)
    sources = [sentence.source for sentence in document.sentences[first:end]]
    targets = repeat(None) if own is None else [translation.text for translation in own[first:position]]
    before = position - first
    preceding = tuple(map(Sentence, sources[:before], targets))
    current = Sentence(sources[before], document.sentences[position].target if drafted else None)
    return Window(current, preceding, tuple(map(Sentence, sources[before + 1 :])))


@dataclass(frozen=True, slots=True)
class Piecewise:
    """Wraps a translator: gives it at most `size` sentences at a time, and reports how many are done."""

    translator: Translator
    done: Callable[[int], object]
    """Called with the number of sentences after each call of the translator."""
    size: int = PIECE_SENTENCES

    @property
    def reads_target(self) -> bool:
        """As the wrapped translator."""
        return self.translator.reads_target

    def translate(self, windows: Sequence[Window]) -> list[Translated]:
        """As the wrapped translator."""
        found: list[Translated] = []
        for start in range(0, len(windows), self.size):
            piece = windows[start : start + self.size]
            found.extend(self.translator.translate(piece))
            self.done(len(piece))
        return found
