"""Texts in capitals, or in small letters alone, spelt as a vocabulary knows their words.

Of DO NOT OPEN THIS DOOR a model that has learnt from usual texts reads a letter at a time. Which spelling of a word is
usual the vocabulary tells, whose pieces have probabilities: Kyoto is likelier than KYOTO and kyoto.
"""

import re
from collections.abc import Collection
from functools import lru_cache
from itertools import chain
from typing import Final

import sentencepiece

from models.text.characters import are_spelt
from models.text.spacing import primary

_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LONG: Final = 4
"""Letters of a word that may get a capital; a shorter one is an abbreviation, such as USA, if it is not well known."""
_SENTENCE: Final = 3
"""Words of a text that is more than abbreviations."""
_SURE: Final = 2.0
"""How much likelier, in nats, a word has to be with a capital if the text has none: may and May are both usual."""
_WITH_TWO_I: Final = frozenset({"az", "tr"})
"""Languages in which I is the capital of ı, and İ that of i."""
_SMALL_I: Final = str.maketrans("Iİ", "ıi")
_CAPITAL_I: Final = str.maketrans("ıi", "Iİ")
_REMEMBERED: Final = 10_000
"""How many words' spellings are kept."""


class LetterCase:
    """How words of a language are spelt in one vocabulary."""

    def __init__(self, vocabulary: sentencepiece.SentencePieceProcessor, language: str) -> None:
        self._vocabulary = vocabulary
        self._has_two_i = primary(language) in _WITH_TWO_I
        self._usual = lru_cache(_REMEMBERED)(self._usual_of)

    def of(self, text: str, stand_ins: Collection[str] = ()) -> str:
        """Spell a text without small letters, or without capitals, as usual; any other one is returned as it is.

        So are abbreviations without another word, and letters of a script that has no capitals. Stand-ins stay.
        """
        if not (text.isupper() or text.islower() or stand_ins):
            return text
        words = [word for word in _WORD.findall(text) if word not in stand_ins]
        letters = "".join(filter(str.isalpha, chain.from_iterable(words)))
        if not _is_unusual(letters) or (max(map(len, words)) < _LONG and len(words) < _SENTENCE):
            return text
        said = _WORD.sub(lambda found: found[0] if found[0] in stand_ins else self._usual(found[0]), text)
        # in small letters it may be a part of a sentence
        return self._with_capital(said) if letters.isupper() else said

    def _usual_of(self, word: str) -> str:
        lower = (word.translate(_SMALL_I) if self._has_two_i else word).lower()
        if len(word) < _LONG and not re.match(r"i(?!\w)", lower):
            return lower if self._is_piece(lower) else word
        capital, sure = self._capital(lower), _SURE if word == lower else 0.0
        usual = capital if self._probability(capital) > self._probability(lower) + sure else lower
        return max(usual, word, key=self._probability)

    def _with_capital(self, text: str) -> str:
        first = _WORD.search(text)
        return text if first is None else f"{text[: first.start()]}{self._capital(text[first.start() :])}"

    def _capital(self, text: str) -> str:
        first = text[0].translate(_CAPITAL_I) if self._has_two_i else text[0]
        return first.upper() + text[1:]

    def _is_piece(self, word: str) -> bool:
        return len(self._vocabulary.encode(word, out_type=int)) == 1

    def _probability(self, word: str) -> float:
        """Return the log-probability of a word's pieces; less than any other if it cannot be spelt without bytes."""
        ids = self._vocabulary.encode(word, out_type=int)
        return sum(map(self._vocabulary.get_score, ids)) if are_spelt(self._vocabulary, ids) else float("-inf")


def _is_unusual(letters: str) -> bool:
    """Whether all letters are capitals, or all are small ones, of a script that has both."""
    return (letters.isupper() or letters.islower()) and all(each.lower() != each.upper() for each in letters)
