"""A line as the library that divides it into sentences should see it.

`sentencex` takes some characters for others than a reader would, and pairs quotation marks that are no pair; in their
places it is shown ones that it takes for what they are. Nothing is longer or shorter than it was.
"""

import re
from typing import Final

from models.data.words import TICKED

_AFTER_STOP: Final = re.compile(r"(?<=[。！？])[0-9]")
"""After a stop it takes any ASCII digit for decimals, and so misses 来た。3人は; a wide digit it does not."""
_BRACKETS: Final = str.maketrans("『』", "《》")
"""It does not know 『』, and divides what is in them."""
_DECIMAL: Final = re.compile(r"(?<=[0-9０-９])．(?=[0-9０-９])")
"""A wide full stop between digits is no end."""
_ELLIPSIS: Final = re.compile(r"…(?=[\"'”’»)\]]*\s+[\"'“‘«(\[¿¡]*(\w))")
"""It knows three dots, and not the one character that stands for them: an end where a capital letter follows."""
_NOTE: Final = re.compile(
    r"""(?<![.!?…。．！？])([.!?…。．！？]++["'”’»」』)\]]*+)([¹²³⁰⁴-⁹†‡]++|(?<=\w[.!?])\*{1,3}+(?=\s))"""
    r"""(?=\s*+["'“‘«„(\[「『¿¡]*+(\w?))"""
)
"""The number of a note behind a stop. It has that begin the next sentence, or makes none where two numbers are.

As white space it changes nothing: Dr.¹ Smith is no end.
"""
_TICKED: Final = re.compile(TICKED, re.VERBOSE)
"""It takes what opens code behind a stop for a quotation mark that closes."""
_SPACED_STOP: Final = re.compile(r"(?<=[A-Z])[^\S\r\n]+(?=\.)")
"""It panics at a wide or no-break space between a capital letter and a full stop, as pages on the web have them."""
_ANSWER: Final = re.compile(r"\b(?:No|no|Mm)(?=\.\s+[^\W\d_])(?!\.\s+(?:[IVXLC]{2,}|[VXLC])\b)")
"""It takes this for the abbreviation of number, or of millimetre, though nothing is counted behind it."""
_NO_ABBREVIATION: Final = "Na"
_OPENS: Final = re.compile(r"""(?<![^\s(\[{"'“‘—–/-])["'“‘„](?=["'“‘(\[]{0,4}+(\S))""")
_CLOSES: Final = re.compile(r"""([.!?…])(["“”'’]++)(?!\w)(?=(\s+[^\W\d_])?)|["“”]""")
"""Quotation marks by the white space around them. It takes the next two for a pair, also of a speech that has begun, or
that ends, in another paragraph, or of an apostrophe, and divides nothing between them."""


def disguised(line: str, *, spaced: bool) -> str:
    """The line with some of its characters replaced, of the same length.

    Args:
        line: what is to be divided.
        spaced: whether the language has spaces between words.
    """
    line = _TICKED.sub(lambda found: "A" * len(found[0]), line)
    line = _NOTE.sub(lambda found: found[0] if found[3].islower() else found[1] + " " * len(found[2]), line)
    line = _DECIMAL.sub("０", _AFTER_STOP.sub("０", line))
    line = _ELLIPSIS.sub(lambda found: "." if found[1].isupper() else "…", line)
    line = _SPACED_STOP.sub(lambda found: " " * len(found[0]), line)  # also before what was an ellipsis
    line = line.translate(_BRACKETS)
    return _without_pairs(_ANSWER.sub(_NO_ABBREVIATION, line)) if spaced else line


def _without_pairs(line: str) -> str:
    """Quotation marks that open as what stands before a word, and those that close as one that closes no pair."""
    line = _OPENS.sub(lambda found: "a" if found[1].islower() else "/", line)
    return _CLOSES.sub(_closing, line)


def _closing(found: re.Match[str]) -> str:
    """A stop and one mark behind it, of however many; no stop where the sentence goes on, as in "Why?" he asked."""
    stop, marks, behind = found.groups(default="")
    goes_on = stop and behind.strip().islower()
    return "a" * (len(marks) - 1) + ("," if goes_on else stop) + "”"
