"""Japanese dates apart from the times behind them: of 10月5日13:00 models make October 5:00."""

import re
from typing import Final

_WEEKDAY: Final = r"(?: [ ]?+ [(（] [月火水木金土日] (?:曜日?)?+ (?:・[祝休])?+ [)）] | [月火水木金土日]曜日?+ )?+"
_DATE: Final = rf"(?P<date> (?<=[0-9０-９]) 日 {_WEEKDAY} ) [ \u3000]?+"
_TIME: Final = r"[0-9０-９]{1,2}+ (?: 時 (?!間) (?: [0-9０-９]{1,2}+分 | 半 )?+ | [:：] [0-9０-９]{2} )"
_BEFORE_A_RANGE: Final = re.compile(rf"{_DATE} (?= {_TIME} [ ]?+ [〜～~–-] )", re.VERBOSE)
_BEFORE_A_TIME: Final = re.compile(rf"{_DATE} (?= {_TIME} )", re.VERBOSE)


def times_apart(text: str) -> str:
    """Put what is between a date and the time that follows it: 10月5日（土）、13:00～15:00, and 10月5日の13時まで.

    Not before 午前 or 午後, which say as much.
    """
    return _BEFORE_A_TIME.sub(r"\g<date>の", _BEFORE_A_RANGE.sub(r"\g<date>、", text)) if "日" in text else text
