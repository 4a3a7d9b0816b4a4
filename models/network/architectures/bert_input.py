"""BERT's input: `[CLS] preceding [SEP] current [SEP]`, then `following [SEP]` if following sentences are read."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from models.config import ContextWindow
from models.data.batches import Example, Tokens
from models.data.wordpiece import WordPiece
from models.network.observation import NOWHERE

CONTROL_PIECES = 3
"""[CLS], and [SEP] after the preceding and after the current sentence."""


def fit(own: Example, window: ContextWindow, limit: int) -> Example:
    """Cut to BERT's positions: the current sentence has priority, then what follows, then the latest words before.

    Args:
        own: sentences in BERT's pieces.
        window: maximum sentences around the current one.
        limit: pieces that BERT reads, control pieces included.
    """
    room = limit - CONTROL_PIECES
    source = own.source[:room]
    room -= len(source)
    following = _cut(own.following[: window.following], room - 1)
    room -= sum(map(len, following)) + bool(following)
    latest_first = own.preceding[::-1][: window.size]
    reversed_words = _cut([tokens[::-1] for tokens in latest_first], room)
    return Example(source, preceding=[tokens[::-1] for tokens in reversed_words[::-1]], following=following)


def row(own: Example, wordpiece: WordPiece) -> list[int]:
    """Return the input ids of one sentence and its fitted context, counted from 1."""
    end = wordpiece.separator
    ids = [wordpiece.begin, *chain(*own.preceding), end, *own.source, end]
    if own.following:
        ids += [*chain(*own.following), end]
    return [number + 1 for number in ids]


def places(own: Example) -> list[int]:
    """Return the sentence offset of each piece of such an input from the current one; `NOWHERE` for control pieces."""
    before = [place - len(own.preceding) for place, tokens in enumerate(own.preceding) for _ in tokens]
    after = [place for place, tokens in enumerate(own.following, 1) for _ in tokens]
    found = [NOWHERE, *before, NOWHERE, *(0 for _ in own.source), NOWHERE]
    return [*found, *after, NOWHERE] if own.following else found


def with_random_context(own: Example, words: Sequence[int]) -> Example:
    """Replace the context by as many random words, which depend on the current sentence alone."""
    chooser = random.Random(str(list(own.source)))  # noqa: S311

    def drawn(sentences: Sequence[Tokens]) -> list[Tokens]:
        return [chooser.choices(words, k=len(tokens)) for tokens in sentences]

    return replace(own, preceding=drawn(own.preceding), following=drawn(own.following))


def _cut(sentences: Sequence[Tokens], room: int) -> list[Tokens]:
    """Return the first sentences that fit; the last of them may be truncated."""
    kept: list[Tokens] = []
    for tokens in sentences:
        if room <= 0:
            break
        kept.append(tokens[:room])
        room -= len(tokens)
    return kept
