"""What of a text its language does not write: words in the script of another one, which stay as they are.

A model of Japanese spells `Microsoft Word`, or a sentence of English, a letter at a time, and makes something else of
it. So a sentence of nothing else is not translated, and such words within one are terms: they are looked for in its
translation, and if they are not there, it is read with another word in their place, which the model copies.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from models.data.glossary import Glossary, Term
from models.data.spacing import gap_of, primary
from models.data.spelt import Spelt

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
"""Of languages that are written in one; of others, such as Serbian, nothing is in another one."""
_SIGNS: Final = str.maketrans({"。": ".", "、": ",", "！": "!", "？": "?", "「": '"', "」": '"', "　": " "})
_GOES_ON: Final = re.compile(r"(?<=[。、！？])(?=[\w「])")
"""Where a space is missing behind a sign, once it is one of a language with spaces."""
_ALONE: Final = re.compile(rf"[{_IDEOGRAPHS}ぁ-ヿ가-힣]")
"""Letters of which one is a word."""


@dataclass(frozen=True, slots=True)
class Script:
    """That of one language."""

    own: re.Pattern[str]
    """A letter of it."""
    other: re.Pattern[str]
    """Words of another one, one after another, with the signs between them; not what a number is measured in."""

    @classmethod
    def of(cls, language: str) -> "Script | None":
        """The script of a language, by its ISO 639 code; none where that says nothing."""
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
        """Whether a text has a letter of it."""
        return self.own.search(text) is not None

    def words_of_others(self, text: str) -> Iterator[str]:
        """What a text has in another script, but for single letters."""
        for found in self.other.finditer(text):
            if sum(map(str.isalpha, found[0])) > 1 or _ALONE.search(found[0]):
                yield found[0]


def with_terms(spelt: Spelt, glossary: Glossary, script: Script | None) -> Spelt:
    """A text with those of its terms that are no part of a stand-in, and with words of others as terms, too."""
    places = [(spelt.plain.index(word), len(word)) for word, _ in spelt.replaced]
    taken = [(begin, begin + length) for begin, length in places]
    found = [each for each in glossary.found(spelt.plain) if not any(map(each.overlaps, taken))]
    terms = [each.term for each in found]
    if script is not None:
        left = _without(spelt.plain, [*taken, *((each.begin, each.end) for each in found)])
        terms += [Term(words, unicodedata.normalize("NFKC", words)) for words in script.words_of_others(left)]
    return replace(spelt, terms=tuple(dict.fromkeys(terms))) if terms else spelt


def with_signs_of(language: str, text: str) -> str:
    """A text in words of others with signs of a language, if that is written with spaces, in place of Japanese ones."""
    return _GOES_ON.sub(" ", text).translate(_SIGNS) if gap_of(language) else text


def _without(text: str, places: Sequence[tuple[int, int]]) -> str:
    """A text with an end of a line in each of some places."""
    pieces, end = list[str](), 0
    for begin, behind in sorted(places):
        pieces += [text[end:begin], "\n"]
        end = behind
    return "".join([*pieces, text[end:]])
