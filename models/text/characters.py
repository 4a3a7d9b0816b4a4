"""Replacement of characters that a vocabulary lacks by the nearest ones it has.

Otherwise a model reads a word processor's ’ as three bytes, which it has hardly ever seen, and invents something or
drops a word: it then translates `didn’t go` as `went`, and 𠮷田, a name like 吉田, as Satsuda.
"""

import unicodedata
from collections.abc import Iterable, Iterator
from typing import Final

import jntajis
import sentencepiece

from models.data.tokenizer import UNK

_PLAIN: Final = {
    each: plain
    for alike, plain in (
        ("‘", ("'", "“")),
        ("’", ("'", "”")),
        ("‚‛ʼʻ′´‹›", ("'",)),
        ("“”„‟″«»〝〞〟", ('"',)),
        ("‐‑‒–−", ("-",)),
        ("—―", (" - ",)),
    )
    for each in alike
}
"""Possible replacements of a character, nearest first."""
_SCHEMES: Final = sum(jntajis.MJShrinkSchemeCombo)


class Nearest(dict[int, str]):
    """A translation table from characters to their replacements for one vocabulary's model, filled on demand."""

    def __init__(self, vocabulary: sentencepiece.SentencePieceProcessor) -> None:
        self.vocabulary: Final = vocabulary

    def of(self, text: str) -> str:
        """Spell a text as well as the vocabulary can; unchanged if it has a piece for each character."""
        return text if text.isascii() else unicodedata.normalize("NFC", text).translate(self)

    def __missing__(self, code: int) -> str:
        """Find the replacement of a character; itself if there is none."""
        character = chr(code)
        self[code] = found = next(filter(self.has, [character, *_alike(character)]), character)
        return found

    def has(self, text: str) -> bool:
        """Whether the vocabulary can spell a text without byte pieces."""
        return are_spelt(self.vocabulary, self.vocabulary.encode(text, out_type=int))


def are_spelt(vocabulary: sentencepiece.SentencePieceProcessor, ids: Iterable[int]) -> bool:
    """Whether no pieces of a text are bytes, or unknown."""
    return not any(each == UNK or vocabulary.is_byte(each) for each in ids)


def _alike(character: str) -> Iterator[str]:
    """Return possible replacements of a character, nearest first."""
    yield from _PLAIN.get(character, ())
    letter = unicodedata.normalize("NFD", character)[0]
    if letter.isascii() and letter.isalpha():  # ō is o, but й is not и
        yield letter
    name = unicodedata.name(character, "")
    if unicodedata.category(character) == "Cf" or name.startswith("VARIATION SELECTOR"):
        yield ""  # soft hyphens and joiners are not read
    if name.startswith("CJK"):
        yield from _variants(character)


def _variants(kanji: str) -> Iterator[str]:
    """Return more usual forms of a kanji, as registers of people and of companies write them: 崎 for 﨑, 鴎 for 鷗."""
    yield from jntajis.mj_shrink_candidates(kanji, _SCHEMES)
    yield jntajis.jnta_shrink_translit(kanji, "", passthrough=True)
