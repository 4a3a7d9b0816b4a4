"""Documents for load tests: made up, with the lengths of real ones, or those of a corpus."""

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from models.data.documents import read_documents
from models.errors import DataError
from models.text.words import has_words

Documents = tuple[tuple[str, ...], ...]

MADE_UP_IN: Final = "ja"
SENTENCES: Final = (15, 17, 19, 20, 22, 26, 31, 41, 57, 81, 118)
"""Sentences of a document: deciles, shortest to longest, of the 54 development documents of the Kyoto corpus."""
CHARACTERS: Final = (1, 7, 14, 20, 25, 30, 36, 42, 51, 66, 175)
"""Characters of a sentence: deciles of the same documents."""

_WHO = (
    "平安時代の歌人",
    "この寺の僧侶",
    "二条城の庭師",
    "鎌倉時代の武将",
    "若い天皇",
    "町の商人",
    "著名な画家",
    "京都の公家",
)
_WHEN = ("応仁の乱の後", "十世紀の初め", "明治時代", "その翌年", "室町幕府の末期", "数年の間", "春と秋", "晩年")
_WHERE = ("山科", "鴨川の東", "宇治", "大阪", "比叡山の麓", "御所の近く", "嵐山", "奈良")
_WHAT = ("古い書物", "庭園", "和歌", "仏像", "屋敷", "茶の湯", "絵巻", "橋")
_LINKED = ("を作り、", "を伝え、", "を好み、", "を再建し、", "について学び、")
_ENDED = ("を残した。", "で知られている。", "を見つけた。", "を大切にした。", "を建てたと伝えられる。")


def made_up(rng: random.Random, count: int) -> Documents:
    """Make up `count` documents of Japanese sentences, with lengths drawn from those of real ones."""
    return tuple(
        tuple(_sentence(rng, _drawn(CHARACTERS, rng)) for _ in range(_drawn(SENTENCES, rng))) for _ in range(count)
    )


def from_corpus(rng: random.Random, file: Path, count: int) -> Documents:
    """Return `count` documents of a corpus, or all of a smaller one, in random order.

    Sentences without a word are left out: as context they take no room in a document, but do in a session, whose later
    answers would then differ.

    Raises:
        DataError: the corpus cannot be read, or has no document with a word.
    """
    sources = ([sentence.source for sentence in document.sentences] for document in read_documents(file))
    found = [worded for document in sources if (worded := tuple(filter(has_words, document)))]
    if not found:
        raise DataError("has no document with a word", file)
    return tuple(rng.sample(found, min(count, len(found))))


def _drawn(deciles: Sequence[int], rng: random.Random) -> int:
    """Draw a value, which is equally likely to lie between any two neighbouring deciles."""
    place = rng.randrange(len(deciles) - 1)
    return rng.randint(deciles[place], deciles[place + 1])


def _sentence(rng: random.Random, characters: int) -> str:
    """Make up a sentence of about so many characters: as many clauses as fit, or a heading."""
    if characters < 10:
        return rng.choice(_WHERE) + "の" + rng.choice(_WHAT)
    text = f"{rng.choice(_WHO)}は"
    if characters < 25:
        return text + rng.choice(_WHAT) + rng.choice(_ENDED)
    while True:
        clause = f"{rng.choice(_WHEN)}に{rng.choice(_WHERE)}で{rng.choice(_WHAT)}"
        if len(text) + 2 * len(clause) > characters:
            return text + clause + rng.choice(_ENDED)
        text += clause + rng.choice(_LINKED)
