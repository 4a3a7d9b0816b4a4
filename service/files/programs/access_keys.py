"""Access keys of menus and buttons in program texts: `&File` (Qt, Windows), `_File` (GTK), `ファイル(&F)` (both)."""

import re
from typing import Final, NamedTuple

_BEHIND: Final = re.compile(r"\s?[(（][&_](?P<key>[A-Za-z0-9])[)）]")
_WITHIN: Final = re.compile(r"(?:(?:(?<![A-Z0-9])&|&(?=[a-z]))(?!\w{1,31};)|(?<!\S)_)(?=(?P<key>[^\W\d_]))")
"""Matches neither R&D nor names of variables, nor entities, which have no key."""
_LONGEST: Final = 60
"""The most characters of a text on a button or in a menu."""
_OF_PROGRAMS: Final = frozenset("$%<@\\{")
"""Every placeholder has one of these characters; its letters are for programs."""
_DOTS: Final = " .…:："
"""Characters that end the text of a menu or button, after the key."""


class Keyed(NamedTuple):
    """A text without its access key's mark, and the mark and the key; both are empty if it has none."""

    words: str
    mark: str = ""
    key: str = ""

    def marked(self, translation: str) -> str:
        """Mark a translation: before its first letter; as `(&F)` at its end if it has none that could be a key."""
        if not self.mark or self.mark in translation:
            return translation
        letters = (at for at, character in enumerate(translation) if character.isupper() or character.islower())
        if (first := next(letters, None)) is not None:
            return f"{translation[:first]}{self.mark}{translation[first:]}"
        end = len(translation.rstrip(_DOTS))
        return f"{translation[:end]}({self.mark}{self.key}){translation[end:]}"


def keyed(text: str) -> Keyed:
    """Separate a program's text and its access key."""
    if len(text) > _LONGEST or not _OF_PROGRAMS.isdisjoint(text) or text.count("&") + text.count("_") != 1:
        return Keyed(text)
    found = _BEHIND.search(text) or _WITHIN.search(text)
    if found is None:
        return Keyed(text)
    mark = "&" if "&" in found[0] else "_"
    return Keyed(f"{text[: found.start()]}{text[found.end() :]}", mark, found["key"].upper())
