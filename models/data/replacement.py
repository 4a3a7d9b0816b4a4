"""Replacement of the real context by another one, to measure what a model makes of it.

Guo and Nguyen 2020 replace the preceding sentence by random words or by one constant sentence, in both training and
test, to see how much of the gain is due to the real context. A replacement keeps the number of context sentences before
and after the current one, changes their sources and targets alike, and never the current sentence.
"""

import random
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, assert_never

from models.data.documents import Sentence, Window
from models.data.tokenizer import SPACE, SPECIAL_PIECES, TARGET_LANGUAGE, Tokenizer
from models.errors import ConfigError, DataError

ContextKind = Literal["real", "none", "empty", "random", "fixed", "shuffled"]

_NO_TEXT: Final = re.compile(rf"<0x[0-9A-F]{{2}}>|{TARGET_LANGUAGE.pattern}")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Text pieces that random context is made of."""

    source: tuple[str, ...]
    target: tuple[str, ...]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "Vocabulary":
        """Return the text pieces of both languages, without control symbols and bytes."""
        return cls(_text_pieces(tokenizer.source_pieces), _text_pieces(tokenizer.target_pieces))


@dataclass(frozen=True, slots=True)
class Replacement:
    """A replacement for the sentences around the current one.

    - `real`: they are kept;
    - `none` and `empty`: there are none; `none` is for a model without any context, the sentence backbone, which the
      caller chooses, and `empty` for the context model, as it translates the first sentence of a document;
    - `random`: sentences of the same length, of pieces drawn uniformly from `vocabulary`;
    - `fixed`: one sentence, drawn once and used everywhere;
    - `shuffled`: as many consecutive sentences of another document.

    The same windows and `seed` give the same replacement.

    Raises:
        ConfigError: `random` without a vocabulary.
    """

    kind: ContextKind = "real"
    seed: int = 1
    vocabulary: Vocabulary | None = None
    constant: Sentence | None = None
    """The sentence for `fixed`, if already drawn: a caller that applies it in portions draws it from all windows."""

    def __post_init__(self) -> None:
        if self.kind == "random" and self.vocabulary is None:
            raise ConfigError("random context needs a vocabulary to draw words from")

    def apply(self, windows: Sequence[Window], documents: Sequence[Hashable]) -> list[Window]:
        """Replace the context of each window.

        Args:
            windows: Windows of one or more documents, in order.
            documents: For each window, which document it belongs to.

        Raises:
            DataError: `shuffled`, but all windows belong to one document.
        """
        chooser = random.Random(self.seed)  # noqa: S311
        match self.kind:
            case "real":
                return list(windows)
            case "none" | "empty":
                return [Window(window.current) for window in windows]
            case "random":
                return self._random(windows, chooser)
            case "fixed":
                constant = self.constant or self.draw(windows)
                return [_with(window, [constant] * len(_around(window))) if constant else window for window in windows]
            case "shuffled":
                return _shuffled(windows, documents, chooser)
            case _:
                assert_never(self.kind)

    def draw(self, windows: Sequence[Window]) -> Sentence | None:
        """Draw the sentence used everywhere with `fixed`; None if no window has context.

        If possible it is never a current sentence itself, so that it gives no window its answer away.
        """
        current = {window.current.source for window in windows}
        everywhere = list(dict.fromkeys(sentence for window in windows for sentence in _around(window)))
        candidates = [sentence for sentence in everywhere if sentence.source not in current] or everywhere
        return random.Random(self.seed).choice(candidates) if candidates else None  # noqa: S311

    def _random(self, windows: Sequence[Window], chooser: random.Random) -> list[Window]:
        assert self.vocabulary is not None
        source, target = self.vocabulary.source, self.vocabulary.target

        def draw(sentence: Sentence) -> Sentence:
            translation = None if sentence.target is None else _random_text(target, len(sentence.target), chooser)
            return Sentence(_random_text(source, len(sentence.source), chooser), translation)

        return [_with(window, [draw(sentence) for sentence in _around(window)]) for window in windows]


REAL: Final = Replacement()
"""The real context."""


def _shuffled(windows: Sequence[Window], documents: Sequence[Hashable], chooser: random.Random) -> list[Window]:
    found: dict[Hashable, list[Sentence]] = {}
    for window, document in zip(windows, documents, strict=True):
        found.setdefault(document, []).extend((*window.preceding, window.current, *window.following))
    if len(found) < 2:
        raise DataError("shuffled context needs sentences of more than one document")
    names = list(found)
    pools = {document: _distinct(sentences) for document, sentences in found.items()}

    def elsewhere(document: Hashable, size: int) -> tuple[Sentence, ...]:
        other = document
        while other == document:
            other = chooser.choice(names)
        pool = pools[other]
        start = chooser.randrange(len(pool))
        return tuple(pool[(start + offset) % len(pool)] for offset in range(size))

    return [
        _with(window, elsewhere(document, len(_around(window))))
        for window, document in zip(windows, documents, strict=True)
    ]


def _distinct(sentences: Sequence[Sentence]) -> list[Sentence]:
    """Return each sentence once, with its translation if any has one; a current sentence is given without its own."""
    found: dict[str, Sentence] = {}
    for sentence in sentences:
        if sentence.source not in found or found[sentence.source].target is None:
            found[sentence.source] = sentence
    return [sentence for sentence in found.values() if sentence.target is not None] or list(found.values())


def _around(window: Window) -> tuple[Sentence, ...]:
    return window.preceding + window.following


def _with(window: Window, around: Sequence[Sentence]) -> Window:
    """Return the window with other sentences, as many as before, around the current one."""
    before = len(window.preceding)
    return Window(window.current, tuple(around[:before]), tuple(around[before:]))


def _random_text(pieces: Sequence[str], characters: int, chooser: random.Random) -> str:
    """Draw pieces until the text is as long as the one that it replaces."""
    drawn: list[str] = []
    length = 0
    while length < characters:
        drawn.append(chooser.choice(pieces))
        length += len(drawn[-1])
    return "".join(drawn).replace(SPACE, " ").strip()


def _text_pieces(pieces: Sequence[str]) -> tuple[str, ...]:
    text = pieces[len(SPECIAL_PIECES) :]
    return tuple(piece for piece in text if piece != SPACE and not _NO_TEXT.fullmatch(piece))
