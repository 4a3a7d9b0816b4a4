"""English months and days of the week that are abbreviated, in full: of "Sept. 23" a model makes the 23rd of any."""

import re
from typing import Final

_MONTHS: Final = {
    "Jan": "January",
    "Feb": "February",
    "Mar": "March",
    "Apr": "April",
    "Jun": "June",
    "Jul": "July",
    "Aug": "August",
    "Sep": "September",
    "Oct": "October",
    "Nov": "November",
    "Dec": "December",
}
_DAYS: Final = {
    "Mon": "Monday",
    "Tue": "Tuesday",
    "Wed": "Wednesday",
    "Thu": "Thursday",
    "Fri": "Friday",
    "Sat": "Saturday",
    "Sun": "Sunday",
}
_MONTH: Final = r"(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b"
_DAY: Final = r"(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun)\b"
_STOP: Final = r"(?: \. (?! \s*+ \Z ) )?+"
"""The full stop of an abbreviation, unless it is the sentence's as well."""
_DATE: Final = rf"(?: (?: {_MONTH} | {'|'.join(_MONTHS.values())} | May ) \.? [ ]? [0-9] )"
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
    return _ABBREVIATED.sub(_in_full, text) if any(name in text for name in _NAMES) else text


def _in_full(found: re.Match[str]) -> str:
    if found["month"]:
        return _MONTHS[found["month"][:3]] + ("" if found.string[found.end()] == " " else " ")
    if found["behind"]:
        return _MONTHS[found["behind"][:3]]
    return _EACH_DAY.sub(lambda day: _DAYS[day[1][:3]], found[0])
