"""Keys of menus and buttons in texts of programs: `&File` of Qt and Windows, `_File` of GTK, `ファイル(&F)` of both."""

import re
from typing import Final, NamedTuple

_BEHIND: Final = re.compile(r"\s?[(（][&_](?P<key>[A-Za-z0-9])[)）]")
_WITHIN: Final = re.compile(r"(?:(?:(?<![A-Z0-9])&|&(?=[a-z]))(?!\w{1,31};)|(?<!\S)_)(?=(?P<key>[^\W\d_]))")
"""Not R&D, nor the name of a variable; an entity has no key."""
_LONGEST: Final = 60
"""Characters of a text that is on a button, or in a menu."""
_OF_PROGRAMS: Final = frozenset("$%<@\\{")
"""One of them is in each placeholder, whose letters are for programs."""
_DOTS: Final = " .…:："
"""What menus and buttons have last, behind a key."""


class Keyed(NamedTuple):
    """A text without the mark of its key, and that; nothing where it has none."""

    words: str
    mark: str = ""
    key: str = ""

    def marked(self, translation: str) -> str:
        """A translation of the words with such a mark: before its first letter, or behind it where no key has any."""
        if not self.mark or self.mark in translation:
            return translation
        letters = (at for at, character in enumerate(translation) if character.isupper() or character.islower())
        if (first := next(letters, None)) is not None:
            return f"{translation[:first]}{self.mark}{translation[first:]}"
        end = len(translation.rstrip(_DOTS))
        return f"{translation[:end]}({self.mark}{self.key}){translation[end:]}"


def keyed(text: str) -> Keyed:
    """A text of a program, and its key."""
    if len(text) > _LONGEST or not _OF_PROGRAMS.isdisjoint(text) or text.count("&") + text.count("_") != 1:
        return Keyed(text)
    found = _BEHIND.search(text) or _WITHIN.search(text)
    if found is None:
        return Keyed(text)
    mark = "&" if "&" in found[0] else "_"
    return Keyed(f"{text[: found.start()]}{text[found.end() :]}", mark, found["key"].upper())
