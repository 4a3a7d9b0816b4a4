"""Disguise a line so that `sentencex`, the library that splits it into sentences, reads it as a person would.

The library misreads some characters, and pairs quotation marks that are not a pair. Each of them is replaced by one
that it reads correctly. The length never changes, so that positions in the disguised line hold for the original.
"""

import re
from typing import Final

from models.text.words import CODE, TICKED

_AFTER_STOP: Final = re.compile(r"(?<=[。！？])[0-9]")
"""The library takes an ASCII digit after a stop for a decimal, and so misses 来た。3人は; not so a wide digit."""
_UNKNOWN: Final = str.maketrans("『』។៕", "《》。。")
"""The library does not know 『』, and splits the text within them, nor the full stops of Khmer."""
_WITHIN: Final = re.compile(r"(?<=[0-9０-９])．(?=[0-9０-９])|(?<=[A-Za-zＡ-Ｚａ-ｚ])．(?=[a-zａ-ｚ])")
"""A wide full stop within a number or an address ends no sentence: ３．１４, ｅｘａｍｐｌｅ．ｃｏｍ."""
_ELLIPSIS: Final = re.compile(r"…(?=[\"'”’»)\]]*\s+[\"'“‘«(\[¿¡]*(\w))")
"""The library knows three dots, but not the character `…`: it ends a sentence if a capital letter follows."""
_NOTE: Final = re.compile(
    r"""(?<![.!?…。．！？])([.!?…。．！？]++["'”’»」』)\]]*+)([¹²³⁰⁴-⁹†‡]++|(?<=\w[.!?])\*{1,3}+(?=\s))"""
    r"""(?=\s*+["'“‘«„(\[「『¿¡]*+(\w?))"""
)
"""A footnote mark after a stop: the library moves it to the next sentence, or sees no boundary if there are two.

Replaced by white space, it makes no difference: Dr.¹ Smith is still not split.
"""
_CODE: Final = re.compile(f"{TICKED} | {CODE}", re.VERBOSE)
"""The library takes a backtick that opens code for a closing quotation mark after a stop, and divides `a. B`."""
_SPACED_STOP: Final = re.compile(r"(?<=[A-Z])[^\S\r\n]+(?=\.)")
"""The library panics at a wide or no-break space between a capital letter and a full stop, as found on web pages."""
_ANSWER: Final = re.compile(r"\b(?:No|no|Mm)(?=\.\s+[^\W\d_])(?!\.\s+(?:[IVXLC]{2,}|[VXLC])\b)")
"""The library takes these words for the abbreviations of number and millimetre, even though no number follows."""
_NO_ABBREVIATION: Final = "Na"
_OPENS: Final = re.compile(r"""(?<![^\s(\[{"'“‘—–/-])["'“‘„](?=["'“‘(\[]{0,4}+(\S))""")
_CLOSES: Final = re.compile(r"""([.!?…])(["“”'’]++)(?!\w)(?=(\s+[^\W\d_])?)|["“”]""")
"""Opening and closing quotation marks, told apart by the white space around them. The library pairs any two in a row,
even if the speech begins or ends in another paragraph or one is an apostrophe, and splits nothing between them."""


def disguised(line: str, *, spaced: bool) -> str:
    """Return the line with some of its characters replaced; its length stays the same.

    Args:
        line: the line to be split into sentences.
        spaced: whether the language has spaces between words.
    """
    line = _CODE.sub(lambda found: "A" * len(found[0]), line)
    line = _NOTE.sub(lambda found: found[0] if found[3].islower() else found[1] + " " * len(found[2]), line)
    line = _WITHIN.sub("０", _AFTER_STOP.sub("０", line))
    line = _ELLIPSIS.sub(lambda found: "." if found[1].isupper() else "…", line)
    line = _SPACED_STOP.sub(lambda found: " " * len(found[0]), line)  # also before what was an ellipsis
    line = line.translate(_UNKNOWN)
    return _without_pairs(_ANSWER.sub(_NO_ABBREVIATION, line)) if spaced else line


def _without_pairs(line: str) -> str:
    """Replace opening quotation marks by characters that may precede a word, and closing ones by one without a pair."""
    line = _OPENS.sub(lambda found: "a" if found[1].islower() else "/", line)
    return _CLOSES.sub(_closing, line)


def _closing(found: re.Match[str]) -> str:
    """Keep a stop and one closing mark of several; drop the stop if the sentence goes on, as in "Why?" he asked."""
    stop, marks, behind = found.groups(default="")
    goes_on = stop and behind.strip().islower()
    return "a" * (len(marks) - 1) + ("," if goes_on else stop) + "”"
