"""English months and days of the week that are abbreviated, in full: of "Sept. 23" a model makes the 23rd of any."""

import re
from typing import Final

from models.text.weekdays import DAYS, MONTHS

_MONTHS: Final = {name[:3].lower(): name for name in MONTHS if name != "May"}
"""By how they are abbreviated; May is not."""
_DAYS: Final = {name[:3].lower(): name for name in DAYS.values()}
_MONTH: Final = r"(?i:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b"
_DAY: Final = r"(?:Mon|MON|Tues?|TUES?|Wed|WED|Thu(?:rs?)?|THU(?:RS?)?|Fri|FRI|Sat|SAT|Sun|SUN)\b"
"""He sat there in the sun."""
_STOP: Final = r"(?: \. (?! \s*+ \Z ) )?+"
"""The full stop of an abbreviation, unless it is the sentence's as well."""
_DATE: Final = rf"(?: (?: {_MONTH} | {'|'.join(MONTHS)} ) \.? [ ]? [0-9] )"
_TIME: Final = r"(?: [0-9]{1,2} (?: [:.][0-9]{2} )?+ [ ]? (?: [ap]\.?m\b | [–-] ) )"
_ABBREVIATED: Final = re.compile(
    rf"""
    (?<! [\w.-] )
    (?: (?P<month> {_MONTH} ) \.?+ (?= [ ]? [0-9] )
      | (?<= [0-9][ ] ) (?P<behind> {_MONTH} ) {_STOP}
      | {_DAY} \.? (?: (?: [ ]?[&/–-][ ]? | ,?[ ]and[ ] | ,[ ] | [ ]to[ ] ) {_DAY} {_STOP} )++
      | {_DAY} (?: \.?+ (?= ,?[ ] {_DATE} | [ ] {_TIME} ) | \. (?= , | \) | 's\b | [ ] [a-z0-9(] ) )
      | (?: (?<= \bon[ ] ) | (?<= \blast[ ] ) | (?<= \bnext[ ] ) | (?<= \bevery[ ] ) ) {_DAY} {_STOP} )
    """,
    re.VERBOSE,
)
"""Sept. 23, 23 Sept 2024; Mon-Fri, Fri., Sat. and Sun.; Mon 9 a.m., on Mon. at noon: Sun and Sat are words as well."""
_NAMES: Final = (*_MONTHS, *_DAYS)
"""One of them is in each abbreviation, and none in most texts."""
_EACH_DAY: Final = re.compile(rf"({_DAY})\.?")


def dates_in_full(text: str) -> str:
    """Write abbreviated months of dates, and days of the week, in full: Mon., Sept. 23 as Monday, September 23."""
    small = text.lower()
    return _ABBREVIATED.sub(_in_full, text) if any(name in small for name in _NAMES) else text


def _in_full(found: re.Match[str]) -> str:
    if month := found["month"] or found["behind"]:
        ends_at_digit = found.end() < len(found.string) and found.string[found.end()].isdigit()
        return _written_like(month, _MONTHS[month[:3].lower()], found.string) + (" " if ends_at_digit else "")
    return _EACH_DAY.sub(lambda day: _written_like(day[1], _DAYS[day[1][:3].lower()], found.string), found[0])


def _written_like(abbreviation: str, name: str, text: str) -> str:
    """Write a name in capitals as its abbreviation is, or in small letters as all of the text."""
    if abbreviation.isupper():
        return name.upper()
    return name.lower() if text.islower() else name
