"""Days of the week, which models lose: of 5月3日（水） they make May 3, or May 3 (water)."""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from models.text.glossary import Term

UNREAD: Final = ("ja", "en")
"""The language pair in which days of the week behind a date are not read, but terms with it (`japanese_weekdays`)."""
DAYS: Final = {
    "月": "Monday",
    "火": "Tuesday",
    "水": "Wednesday",
    "木": "Thursday",
    "金": "Friday",
    "土": "Saturday",
    "日": "Sunday",
}
MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_JAPANESE: Final = re.compile(
    r"""
    (?<! \d ) (?P<whole>
        (?: (?: (?P<year> \d{4} ) 年 )?+ (?P<month> 1[0-2] | 0?[1-9] | １[０-２] | [１-９] ) 月 )?+
        (?P<date> [12][0-9] | 3[01] | 0?[1-9] | [１２][０-９] | ３[０１] | [１-９] ) 日 )
    (?: [ ]?+ [(（] (?P<short> [月火水木金土日] ) (?: 曜日? )?+ (?P<free> ・[祝休] )?+ [)）]
      | [ ]?+ (?P<day> [月火水木金土日] ) 曜日?+ )
  | (?<! [\d/.] ) (?P<figures> (?: \d{4} [/.] )?+ (?: 1[0-2] | 0?[1-9] ) [/.] (?: [12][0-9] | 3[01] | 0?[1-9] ) )
    [ ]?+ [(（] (?P<behind> [月火水木金土日] ) (?:・[祝休])?+ [)）]
  | (?P<alone> [月火水木金土日] ) 曜日?+
    """,
    re.VERBOSE,
)
_ENGLISH: Final = re.compile(rf"\b(?P<day>{'|'.join(DAYS.values())})s?\b", re.IGNORECASE)
_AS_NAMES: Final = ("マンデー", "チューズデー", "ウェンズデー", "サーズデー", "フライデー", "サタデー", "サンデー")
"""What they are in names: the Sunday Times."""


def japanese_weekdays(text: str) -> Iterator[Term]:
    """Yield the days of the week in a Japanese text, with their dates, as terms of an English translation.

    It has to say the day; the date is part of the term so that both have their places where the model has neither.
    """
    for found in _JAPANESE.finditer(text):
        day = DAYS[found["short"] or found["day"] or found["behind"] or found["alone"]]
        if figures := found["figures"]:
            yield Term(found[0], f"{figures} ({day[:3]})", (day, day[:3]))
        else:
            yield Term(found[0], day if found["alone"] else _english_date(found, day), (day, day[:3]))


def without_weekdays(text: str) -> str:
    """Remove the days of the week behind the dates of a Japanese text, of which a model makes (water) or (the gold)."""
    return _JAPANESE.sub(lambda found: found["whole"] or found["figures"] or found[0], text)


def _english_date(found: re.Match[str], day: str) -> str:
    year, month, date = (unicodedata.normalize("NFKC", found[part] or "") for part in ("year", "month", "date"))
    said = f"{MONTHS[int(month) - 1]} {int(date)}" if month else f"the {_ordinal(int(date))}"
    return f"{day}, {said}{f', {year}' if year else ''}{' (holiday)' if found['free'] else ''}"


def _ordinal(number: int) -> str:
    ending = "th" if 10 < number < 14 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def english_weekdays(text: str) -> Iterator[Term]:
    """Yield the days of the week in an English text as terms of a Japanese translation."""
    said = {name: (day, as_name) for (day, name), as_name in zip(DAYS.items(), _AS_NAMES, strict=True)}
    for found in _ENGLISH.finditer(text):
        day, as_name = said[found["day"].capitalize()]
        yield Term(found[0], f"{day}曜日", (f"{day}曜", f"（{day}）", f"({day})", as_name))
