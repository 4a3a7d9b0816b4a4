"""Times of the clock with a half of the day: of "died at 2 p.m." a model makes 午前2時, one time in seven."""

import re
from collections.abc import Iterator
from typing import Final

from models.text.glossary import Term

_ENGLISH: Final = re.compile(
    r"""
    (?<! [\w:.,-] ) (?P<hour> 1[0-2] | 0?[1-9] ) (?: [ ]?+ [:.] [ ]?+ (?P<minute> [0-5][0-9] ) )?+ [ ]?+
    (?P<half> [ap] ) (?: \.[ ]?+m (?: \. (?! \W*+ \Z ) | (?=\.) ) | m\b )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
"""At the end of a sentence without its last full stop, which is the sentence's as well."""
_KANJI: Final = ("零", "一", "二", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二")


def clock_times(text: str) -> Iterator[Term]:
    """Yield the times of an English text as terms that a Japanese translation has to say, on either clock."""
    for found in _ENGLISH.finditer(text):
        is_afternoon = found["half"] in "pP"
        hour, minute = int(found["hour"]), int(found["minute"] or 0)
        half = "午後" if is_afternoon else "午前"
        clocks = [f"{half}{hour % 12}", f"{half}{hour}", f"{half}{_KANJI[hour]}"]
        clocks += [f"{hour % 12 + 12}"] if is_afternoon else [f"朝{hour}", f"未明{hour}"]
        ends = [f"時{minute}分", f"時{minute:02}分", f":{minute:02}"] if minute else ["時", ":00"]
        ends += ["時半"] if minute == 30 else []
        said = [f"{clock}{end}" for clock in clocks for end in ends]
        yield Term(found[0], said[0], tuple(said[1:]))
