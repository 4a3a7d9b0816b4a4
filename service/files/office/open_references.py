"""Let cross-references of OpenDocument show the translated words that they refer to (ODF 1.3, part 3, section 7.7).

LibreOffice looks these up only when it is asked to (F9), and until then shows what the file says.
"""

from collections.abc import Iterator
from typing import Final

from lxml import etree

from service.files.xml_text import Element

_TEXT: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_PARAGRAPHS: Final = frozenset((_TEXT + "p", _TEXT + "h"))
_NAME, _REFERS_TO, _FORMAT = (_TEXT + name for name in ("name", "ref-name", "reference-format"))
_KINDS: Final = {_TEXT + "bookmark-ref": _TEXT + "bookmark", _TEXT + "reference-ref": _TEXT + "reference-mark"}
"""References, with what they refer to: the words between two elements, whose names end in `-start` and `-end`."""
_BEGINS: Final = {f"{kind}-start": kind for kind in _KINDS.values()}
_ENDS: Final = {f"{kind}-end": kind for kind in _KINDS.values()}
_SPACES: Final = frozenset(_TEXT + name for name in ("line-break", "s", "tab"))
_APART: Final = frozenset((_TEXT + "note", "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}annotation"))
"""Elements whose text is not of the paragraph around them."""
_LONGEST: Final = 1000
"""The longest text that a reference repeats: many could refer to the same one."""

_Key = tuple[str, str | None]


def update(root: Element) -> None:
    """Write the words that are referred to into all references that show words, not a number or a page."""
    references = [each for each in root.iter(*_KINDS) if each.get(_FORMAT, "text") == "text" and each.text]
    if references:
        words = dict(_words(root))
        for each in references:
            each.text = words.get((_KINDS[each.tag], each.get(_REFERS_TO)), each.text)


def _words(root: Element) -> Iterator[tuple[_Key, str]]:
    """Yield what is referred to within single paragraphs, by its kind and name."""
    said, length = list[str](), 0
    begun, places = dict[_Key, int](), list[tuple[_Key, int, int]]()
    walk = etree.iterwalk(root, ("start", "end"))
    for event, each in walk:
        if event == "end":
            key = _ENDS.get(each.tag, ""), each.get(_NAME)
            if key in begun:
                places.append((key, begun.pop(key), length))
            if each.tag in _PARAGRAPHS:
                begun.clear()
            said.append(each.tail or "")
        elif each.tag in _APART:
            walk.skip_subtree()
            continue
        else:
            if each.tag in _BEGINS:
                begun[_BEGINS[each.tag], each.get(_NAME)] = length
            said.append(" " if each.tag in _SPACES else each.text or "")
        length += len(said[-1])
    text = "".join(said)
    for key, start, end in places:
        if start < end <= start + _LONGEST:
            yield key, text[start:end]
