"""Whether a text says anything."""

import re
import unicodedata
from typing import Final

_NO_WORDS: Final = re.compile(
    r"""
      (?:https?|ftp)://[!-~]++ | www\.[!-~]++                                     # an address
    | (?<![A-Za-z0-9._%+-]) [A-Za-z0-9._%+-]++ @ [A-Za-z0-9-]++ (?:\.[A-Za-z0-9-]++)++   # of mail
    | </?[a-z][a-z0-9:-]*+                                                        # a tag: <br/> <g id="1">
      (?: \s++ [A-Za-z:_-]++ \s*+=\s*+ (?: "[^"<>]*+" | '[^'<>]*+' | [^\s"'<>=/]++ ) )*+ \s*+ /?>
    | &(?: \#x?[0-9A-Fa-f]++ | [A-Za-z][A-Za-z0-9]*+ );                           # an entity
    | [$%\#]? \{{1,2} \s*+ [A-Za-z_][A-Za-z0-9_.:-]*+ \s*+ \}{1,2}                # {name} {{name}} ${name} %{name}
    | % (?:\([A-Za-z_][A-Za-z0-9_]*+\))? (?:[0-9]++\$)? [-+0\#]*+ [0-9]*+ (?:\.[0-9]++)?
      (?:ll?|h|z)?+ [sdifuxXcrgeq@] (?![A-Za-z])                                  # %s %d %(name)s %1$s %.2f
    """,
    re.VERBOSE | re.ASCII,
)
"""What has letters for programs alone. Takes a time that is linear in the length of the text."""
_SIGNS: Final = ("://", "www.", "@", "<", "&", "{", "%")
"""One of them is in each of these."""

_MAY_BE_LETTER: Final = re.compile(r"([^\W\d_])\1*+")
"""Quickly past digits, and past one letter over and over, of which a document may have megabytes."""
_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lo"})


def has_words(text: str) -> bool:
    """Whether there is something to translate: a letter, not only numbers, punctuation and symbols such as emoji.

    A model that is given a date, an amount or a lone full stop makes up what they might have stood in. A letter that
    only modifies others says nothing alone: ーーーー is a rule. Nor do the letters of addresses, tags and placeholders.
    """
    if any(sign in text for sign in _SIGNS):
        text = _NO_WORDS.sub(" ", text)
    return any(unicodedata.category(found[1]) in _LETTERS for found in _MAY_BE_LETTER.finditer(text))
