"""Signs as Japanese and Chinese write them: as wide as a letter, whereas normalisation leaves those of ASCII."""

import re
from typing import Final

from models.data.spacing import primary

_WIDE: Final = {"ja": "():;!?~=", "zh": "():;!?,", "yue": "():;!?,"}
"""By language, the signs of ASCII that it writes wide; Japanese has commas of its own."""
_NARROW: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_LETTER: Final = r"[々〆ぁ-ゖァ-ヺー\u3400-\u9fff\uf900-\ufaff]"
_HAS_LETTER: Final = re.compile(_LETTER)
_BEHIND: Final = rf"(?:{_LETTER}|[」』】〉》])"
_SIGN: Final = re.compile(rf"(?<={_BEHIND})[:;!?~=,]|[:~](?={_LETTER})")


def with_wide_signs(text: str, language: str) -> str:
    """A translation as SentencePiece decodes it, with the signs of its language; as long as before.

    Signs beside Japanese or Chinese letters become wide. So do brackets around or behind some, unless there is a space
    before them: that is how nearly all of them are written (`docs/experiments/english-japanese.md`).
    """
    signs = _WIDE.get(primary(language), "")
    if not signs or not _HAS_LETTER.search(text):
        return text
    return _SIGN.sub(lambda found: _wide(found[0]) if found[0] in signs else found[0], _with_wide_brackets(text))


def with_narrow_signs(text: str) -> str:
    """The same as SentencePiece reads it."""
    return text.translate(_NARROW)


def _wide(sign: str) -> str:
    return chr(ord(sign) + 0xFEE0)


def _with_wide_brackets(text: str) -> str:
    signs, still_open = list(text), list[int]()
    for at, sign in enumerate(text):
        if sign == "(":
            still_open.append(at)
        elif sign == ")" and still_open:
            begin = still_open.pop()
            is_apart = text[begin - 1 : begin].isspace()
            if not is_apart and _HAS_LETTER.search(text, max(0, begin - 1), at):
                signs[begin], signs[at] = _wide("("), _wide(")")
    return "".join(signs)
