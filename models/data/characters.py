"""Characters that a vocabulary has no piece for, as the nearest that it has.

Otherwise a model reads three bytes for the ’ of a word processor, has hardly ever seen them, and makes something up or
drops a word: it then translates `didn’t go` as `went`.
"""

import unicodedata
from collections.abc import Iterator
from typing import Final

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
"""What may stand for a character, the nearest first."""


class Nearest(dict[int, str]):
    """What stands for each character, by its code, for the model of one vocabulary; found when first asked for."""

    def __init__(self, vocabulary: sentencepiece.SentencePieceProcessor) -> None:
        self._vocabulary = vocabulary

    def of(self, text: str) -> str:
        """The text as the vocabulary can best spell it; the same where it has a piece for each character."""
        return text if text.isascii() else unicodedata.normalize("NFC", text).translate(self)

    def __missing__(self, code: int) -> str:
        """Find what stands for a character; itself where nothing is nearer."""
        character = chr(code)
        self[code] = found = next(filter(self.has, [character, *_alike(character)]), character)
        return found

    def has(self, text: str) -> bool:
        """Whether the vocabulary has pieces for a text, other than bytes."""
        ids = self._vocabulary.encode(text, out_type=int)
        return not any(each == UNK or self._vocabulary.is_byte(each) for each in ids)


def _alike(character: str) -> Iterator[str]:
    """What may stand for a character, the nearest first."""
    yield from _PLAIN.get(character, ())
    letter = unicodedata.normalize("NFD", character)[0]
    if letter.isascii() and letter.isalpha():  # ō is o, but й is not и
        yield letter
    if unicodedata.category(character) == "Cf" or unicodedata.name(character, "").startswith("VARIATION SELECTOR"):
        yield ""  # soft hyphens and joiners are nothing to read
