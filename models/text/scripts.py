"""Words in a text that are in the script of another language, which are kept unchanged.

A model of Japanese reads `Microsoft Word`, or an English sentence, letter by letter, and turns it into something else.
So a sentence of nothing else is not translated, and such words within a sentence are terms: they are looked for in its
translation, and if missing, the sentence is read with another word in their place, which the model copies.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final

from models.text.glossary import Glossary, Term
from models.text.numbers import Numbers
from models.text.spacing import gap_of, primary
from models.text.spelt import Spelt

_IDEOGRAPHS: Final = r"々〆〇\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_LATIN: Final = r"A-Za-zªºÀ-ÖØ-öø-ʯ\u1e00-\u1effＡ-Ｚａ-ｚ"
_SCRIPTS: Final = {
    rf"{_IDEOGRAPHS}ぁ-ゟ゠-ヿㇰ-ㇿｦ-ﾟ": ("ja",),
    rf"{_IDEOGRAPHS}ㄅ-ㄯ": ("yue", "zh"),
    rf"{_IDEOGRAPHS}ᄀ-ᇿ\u3130-\u318f가-힣": ("ko",),
    r"\u0400-\u052f": ("be", "bg", "mk", "ru", "uk"),
    r"\u0370-\u03ff\u1f00-\u1fff": ("el",),
    r"\u0600-\u06ff\u0750-\u077f\ufb50-\ufdff\ufe70-\ufeff": ("ar", "fa", "ur"),
    r"\u0590-\u05ff\ufb1d-\ufb4f": ("he",),
    r"\u0900-\u097f": ("hi", "mr", "ne"),
    r"\u0e00-\u0e7f": ("th",),
    _LATIN: (
        *("ca", "cs", "cy", "da", "de", "en", "es", "et", "eu", "fi", "fr", "ga", "gl", "hr", "hu", "id", "is", "it"),
        *("lt", "lv", "ms", "mt", "nb", "nl", "nn", "no", "pl", "pt", "ro", "sk", "sl", "sq", "sv", "sw", "tl", "tr"),
        *("vi",),
    ),
}
"""Letters, and the languages written in only these; in others, such as Serbian, no word counts as foreign."""
_SIGNS: Final = str.maketrans({"。": ".", "、": ",", "！": "!", "？": "?", "「": '"', "」": '"', "　": " "})
_GOES_ON: Final = re.compile(r"(?<=[。、！？])(?=[\w「])")
"""Where a space is missing after a sign, once it is replaced by one of a language with spaces."""
_ALONE: Final = re.compile(rf"[{_IDEOGRAPHS}ぁ-ヿ가-힣]")
"""Letters that can be a word on their own."""


@dataclass(frozen=True, slots=True)
class Script:
    """The script of one language."""

    own: re.Pattern[str]
    """Matches a letter of this script."""
    other: re.Pattern[str]
    """Matches consecutive words of other scripts, with the signs between them, but not the unit of a number."""

    @classmethod
    def of(cls, language: str) -> "Script | None":
        """Return the script of a language, by its ISO 639 code; None if the code does not determine it."""
        own = next((letters for letters, languages in _SCRIPTS.items() if primary(language) in languages), None)
        if own is None:
            return None
        letter = rf"(?:(?![{own}])[^\W\d_])"
        word = rf"{letter}(?:{letter}|[0-9\u0300-\u036fー])*+"
        return cls(
            re.compile(f"[{own}]"),
            re.compile(rf"(?<![0-9])(?<!(?![{own}])[^\W\d_]){word}(?:[ '’&.+,:/-]{{1,2}}(?:{word}|[0-9]++))*+"),
        )

    def writes(self, text: str) -> bool:
        """Whether a text has a letter of this script."""
        return self.own.search(text) is not None

    def words_of_others(self, text: str) -> Iterator[str]:
        """Yield a text's words in other scripts, except single letters."""
        for found in self.other.finditer(text):
            if sum(map(str.isalpha, found[0])) > 1 or _ALONE.search(found[0]):
                yield found[0]


def with_terms(spelt: Spelt, glossary: Glossary, script: Script | None, numbers: Numbers | None = None) -> Spelt:
    """Add glossary terms outside of stand-ins, words of other scripts, and numbers beside these to a text as terms."""
    places = [(spelt.plain.index(word), len(word)) for word, _ in spelt.replaced]
    taken = [(begin, begin + length) for begin, length in places]
    found = [each for each in glossary.found(spelt.plain) if not any(map(each.overlaps, taken))]
    terms = [each.term for each in found]
    left = _without(spelt.plain, [*taken, *((each.begin, each.end) for each in found)])
    if script is not None:
        words = list(script.words_of_others(left))
        terms += [Term(each, unicodedata.normalize("NFKC", each)) for each in words]
        left = reduce(lambda text, each: text.replace(each, "\n"), words, left)
    if numbers is not None:
        terms += numbers.terms(left)
    return replace(spelt, terms=tuple(dict.fromkeys(terms))) if terms else spelt


def with_signs_of(language: str, text: str) -> str:
    """Replace Japanese punctuation in a text of foreign words by that of a language written with spaces."""
    return _GOES_ON.sub(" ", text).translate(_SIGNS) if gap_of(language) else text


def _without(text: str, places: Sequence[tuple[int, int]]) -> str:
    """Replace some places of a text by line ends."""
    pieces, end = list[str](), 0
    for begin, behind in sorted(places):
        pieces += [text[end:begin], "\n"]
        end = behind
    return "".join([*pieces, text[end:]])
