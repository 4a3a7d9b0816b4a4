"""Large initials of Word, each a paragraph of its own before the one whose first letter it is (ECMA-376, 17.3.1.11).

Read by themselves, neither the letter nor the rest of its word would say anything.
"""

import re
from typing import Final

from service.files.office.fields import W
from service.files.xml_text import Element

_PARAGRAPH, _PROPERTIES, _SAYS = W + "p", W + "pPr", W + "t"
_KINDS: Final = frozenset(("drop", "margin"))
_INITIAL: Final = re.compile(r"\W*+\w?")


def join(root: Element) -> None:
    """Put each initial into its word; its emptied paragraph waits in the properties of the one it belongs to."""
    for frame in list(root.iter(W + "framePr")):
        initial = next(frame.iterancestors(_PARAGRAPH), None)
        if frame.get(W + "dropCap") not in _KINDS or initial is None:
            continue
        paragraph = initial.getnext()
        letter, word = (None if each is None else _first_text(each) for each in (initial, paragraph))
        if paragraph is None or paragraph.tag != _PARAGRAPH or letter is None or word is None:
            continue
        word.text, letter.text = f"{letter.text or ''}{word.text or ''}", ""
        properties = paragraph.find(_PROPERTIES)
        if properties is None:
            properties = paragraph.makeelement(_PROPERTIES)
            paragraph.insert(0, properties)
        properties.append(initial)


def divide(root: Element) -> None:
    """Revert `join`: the first letter of each such paragraph becomes the initial again."""
    for properties in list(root.iter(_PROPERTIES)):
        if (initial := properties.find(_PARAGRAPH)) is None:
            continue
        paragraph = properties.getparent()
        letter, word = _first_text(initial), _first_text(paragraph)
        if letter is not None and word is not None and (found := _INITIAL.match(word.text or "")):
            letter.text, word.text = found[0], found.string[found.end() :]
        paragraph.addprevious(initial)
        if not len(properties):
            paragraph.remove(properties)


def _first_text(paragraph: Element) -> Element | None:
    """Return the first text of a paragraph, but not of another one within it, such as in a box."""
    return next((text for text in paragraph.iter(_SAYS) if next(text.iterancestors(_PARAGRAPH)) is paragraph), None)
