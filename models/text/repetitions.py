"""Words and phrases that a translation says several times in a row: "cook cook cook", "the son of the son of"."""

import re
from typing import Final

from models.text.spacing import gap_of, primary

_FLAGS: Final = re.VERBOSE | re.IGNORECASE
_WORD: Final = r"(?= [^\W\d_] ) [^\W_]++ (?: [-'’] [^\W_]++ )*+"
_PHRASE: Final = rf"{_WORD} (?: [ ] {_WORD} ){{,7}}?"
_SPACED: Final = rf"""
    \b (?P<phrase> {_WORD} [ ] {_PHRASE} ) [ ] (?P=phrase) \b
  | \b (?P<listed> {_PHRASE} ) (?: ,?+ [ ] (?P=listed) \b ){{2}}
  | (?: (?<=,[ ]) | (?<=\() ) (?P<item> {_PHRASE} ) ,[ ] (?P=item) (?= [,;)] | $ | [ ] (?:and|or) \b )
  | (?P<syllables> [^\W\d_]{{2,12}}? ) (?P=syllables){{3}}
"""
_ENGLISH: Final = re.compile(rf"\b (?! (?: had | that ) \b ) (?P<word> {_WORD} ) [ ] (?P=word) \b | {_SPACED}", _FLAGS)
"""Other languages double words, as French does in "nous nous" and Turkish in "yavaş yavaş"."""
_OTHERS: Final = re.compile(_SPACED, _FLAGS)
_UNSPACED: Final = re.compile(
    r"""
    (?P<word> (?= \w{,2} [\u3400-\u9fff] ) [^\W\d_]{3} | [^\W\d_]{4,24}? ) (?P=word)
  | (?P<listed> [^\W\d_]{2,24}? ) (?: [、，・]? (?P=listed) ){2}
  | (?<= [、，・（「(] ) (?P<item> [^\W\d_]{1,24}? ) [、，・] (?P=item) (?= [、，・）」)] | $ )
  | (?P<sign> [^\W\d_] ) (?P=sign){3}
    """,
    _FLAGS,
)
"""Japanese doubles two or three signs of kana: いろいろ, ひとりひとり."""
_IN_SPACED: Final = re.compile(rf"\b (?P<word> {_WORD} ) \W{{1,2}} (?P=word) \b | ([^\W\d_]{{1,12}}?) \2{{2}}", _FLAGS)
_IN_UNSPACED: Final = re.compile(r"(?P<word> \w{2,24}? ) \W? (?P=word) | (\w) \2{2}", _FLAGS)


class Repetitions:
    """Finds in translations what is said again and again, though the source says it once."""

    def __init__(self, source: str, target: str) -> None:
        """Read texts of these languages."""
        self._in_source = _IN_SPACED if gap_of(source) else _IN_UNSPACED
        self._in_target = (_ENGLISH if primary(target) == "en" else _OTHERS) if gap_of(target) else _UNSPACED

    def in_translation(self, text: str) -> bool:
        """Return whether a translation, or a part of one, repeats a word or phrase as no good one does."""
        return self._in_target.search(text) is not None

    def in_source(self, text: str) -> bool:
        """Return whether a text repeats anything, so that its translation may as well."""
        return self._in_source.search(text) is not None
