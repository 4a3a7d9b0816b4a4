"""English ranges of times, in full: of "1-3 p.m." a model makes 1～3時, and of "11-1 pm" 11-1ペーム."""

import re
from typing import Final

_CLOCK: Final = r"(?: 1[0-2] | 0?[1-9] ) (?: [:.][0-5][0-9] )?+"
_HALF: Final = r"[ ]?+ [ap] (?: \.[ ]?m\. | m\b )"
_NAMED: Final = r"(?: noon | midnight ) \b"
_RANGE: Final = re.compile(
    rf"""
    (?<! [\w:.,/-] ) (?P<first> (?P<start> {_CLOCK} ) (?P<half> {_HALF} )?+ | {_NAMED} )
    (?P<between> [ ]?+ [-‐‑‒–—~] [ ]?+ | [ ] (?:to|till|until|and|or) [ ] )
    (?P<last> (?P<end> {_CLOCK} ) (?P<other> {_HALF} ) | {_NAMED} )
    """,
    re.VERBOSE | re.IGNORECASE | re.ASCII,
)
_OPPOSITE: Final = str.maketrans("apAP", "paPA")


def ranges_in_full(text: str) -> str:
    """Write ranges of times with both halves of the day: 1-3 p.m. as 1 p.m. to 3 p.m., 11-1 pm as 11 am to 1 pm."""
    return _RANGE.sub(_in_full, text)


def _in_full(found: re.Match[str]) -> str:
    between = found["between"] if found["between"].strip().isalpha() else " to "
    return f"{found['first']}{_half_of_start(found)}{between}{found['last']}"


def _half_of_start(found: re.Match[str]) -> str:
    """Return the half of the day that the first time lacks: that of the last one, unless it is later on the clock."""
    if found["half"] or not found["start"] or not found["other"]:
        return ""
    start, end = (_minutes(found[name]) for name in ("start", "end"))
    return found["other"] if start <= end else found["other"].translate(_OPPOSITE)


def _minutes(clock: str) -> int:
    """Return how long after noon or midnight a time is."""
    hour, _, minute = clock.replace(".", ":").partition(":")
    return int(hour) % 12 * 60 + int(minute or 0)
