"""Times of the clock with a half of the day: of "died at 2 p.m." a model makes 午前2時, one time in seven.

From Japanese, it gets one in twenty wrong, or leaves the time out.
"""

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
_DIGITS: Final = "[0-9０-９]"
_JAPANESE: Final = re.compile(
    rf"""
    午 (?P<half> [前後] ) (?P<hour> {_DIGITS}{{1,2}} | 十?[一二] | [零三四五六七八九十] )
    (?: 時 (?! 間 ) (?: (?P<past> 半 ) | (?P<minute> {_DIGITS}{{1,2}} ) 分 )?+ | [:：] (?P<minutes> {_DIGITS}{{2}} ) )
    (?! {_DIGITS} )
    """,
    re.VERBOSE,
)
_WORDS: Final = (
    *("twelve", "one", "two", "three", "four", "five"),
    *("six", "seven", "eight", "nine", "ten", "eleven"),
)
_PARTS: Final = {
    "前": ("in the morning", "in the early morning", "before dawn", "at dawn", "at night"),
    "後": ("in the afternoon", "in the evening", "at night"),
}


def english_clock_times(text: str) -> Iterator[Term]:
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


def japanese_clock_times(text: str) -> Iterator[Term]:
    """Yield the times of a Japanese text as terms that an English translation has to say, on either clock.

    Not those at twelve: 午前12時 is noon to some, and midnight to others.
    """
    for found in _JAPANESE.finditer(text):
        hour = _KANJI.index(found["hour"]) if found["hour"] in _KANJI else int(found["hour"])
        minute = 30 if found["past"] else int(found["minute"] or found["minutes"] or 0)
        if hour < len(_WORDS) and minute < 60:
            target, *others = _in_english(hour, minute, found["half"])
            yield Term(found[0], target, tuple(others))


def _in_english(hour: int, minute: int, half: str) -> Iterator[str]:
    """Yield how English says a time; the first without full stops, as it may be at the end of a sentence."""
    hours = dict.fromkeys((hour or 12, hour))
    clocks = [f"{each}:{minute:02}" for each in hours]
    words = [*clocks]
    if minute == 0:
        clocks = [*map(str, hours), *clocks]
        words += [f"{each} o'clock" for each in (*hours, _WORDS[hour])]
    elif minute == 30:
        words.append(f"half past {_WORDS[hour]}")
    for sign in ("am", "a.m.") if half == "前" else ("pm", "p.m."):
        yield from (f"{clock}{gap}{sign}" for gap in (" ", "") for clock in clocks)
    yield from (f"{each} {part}" for part in _PARTS[half] for each in words)
    if half == "後" and hour:  # in the morning, and at noon, both clocks have the same
        yield f"{hour + 12}:{minute:02}"
    if (hour, minute) == (0, 0):
        yield "midnight" if half == "前" else "noon"
