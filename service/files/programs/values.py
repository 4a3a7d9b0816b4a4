"""Which values in a program's file are texts, and which are for programs."""

import re
from typing import Final

from models.text.words import has_words
from service.errors import InvalidInputError

_MOST: Final = 100_000
_OF_TIME: Final = "(?:[yY]{1,4}|[MLEdD]{1,4}|[aA]|[hHkms]{1,2}|S{1,3}|z)"
_FOR_PROGRAMS: Final = re.compile(
    r"#[0-9A-Fa-f]{3,8}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|(?=[a-f]*[0-9])[0-9a-f]{24,}"
    r"|\d{4}-\d\d-\d\dT[\d:.]++(?:Z|[+-]\d\d:?\d\d)?|[A-Za-z0-9]++(?:[._][A-Za-z0-9]++)++"
    r"|\.{1,2}/[A-Za-z0-9_./-]++|(?:/[A-Za-z0-9_.-]++){2,}+/?|(?:[A-Za-z0-9_-]++/)++[A-Za-z0-9_-]++(?:\.[A-Za-z0-9]++)++"
    r"|(?:application|audio|font|image|multipart|text|video)/(?!(?:audio|image|text|video)\Z)[a-z0-9.+*-]++"
    r"(?:; ?charset=[A-Za-z0-9-]++)?|[a-z]{2,3}(?:-[A-Z][a-z]{3})?-[A-Z]{2}|true|false|null|(?i:utf-?8)"
    r"|[0-9]++(?:\.[0-9]++)?(?:px|r?em|v[hw])"
    rf"|(?=.*(?:yy|YY|MM|dd|DD|[Hh]{{2}}|mm)){_OF_TIME}(?:[ ,./:-]{{1,2}}{_OF_TIME})++"
)
"""Strings for programs, which are not translated.

These are colours, long ids, times, names of files, of other texts and of constants, paths (but not /month or and/or),
media types (`image/png`), locales, and date formats (`MMM d, yyyy`).
"""


def is_text(value: str) -> bool:
    """Return whether a value is meant for people."""
    return has_words(value) and not _FOR_PROGRAMS.fullmatch(value)


def check_number(values: int) -> None:
    """Refuse a file with too many values.

    Raises:
        InvalidInputError: it has more than one file may have.
    """
    if values > _MOST:
        raise InvalidInputError(f"file: has more than {_MOST} texts")
