"""Which styles of an office file are for code, which is not translated."""

from collections import defaultdict
from typing import Final

from service.files.office.fields import W
from service.files.office.open_document import OFFICE, STYLE
from service.files.xml_text import Element

_NAMES: Final = frozenset(
    (
        *("code", "code block", "inline code", "source code", "verbatim"),
        *("html code", "html keyboard", "html preformatted", "html sample", "html typewriter", "html variable"),
        *("preformatted text", "source text", "teletype", "user entry"),
    )
)
"""Of Pandoc and many templates, of Word, and of LibreOffice."""
_ENCODED: Final = frozenset(name.title().replace(" ", space) for name in _NAMES for space in ("_20_", "_"))
"""As LibreOffice writes them, and Pandoc: Source_20_Text, Source_Text."""


def of_word(styles: Element) -> frozenset[str]:
    """Return the ids of such styles, and of those based on them, in the part with a file's styles."""
    waiting, based, found = list[str](), defaultdict[str, list[str]](list), set[str]()
    for style in styles.iterfind(f"{W}style[@{W}styleId]"):
        key = style.get(W + "styleId")
        based[_value(style, "basedOn")].append(key)
        if _value(style, "name").casefold().removesuffix(" char") in _NAMES:  # Word adds it to styles within a line
            waiting.append(key)
    while waiting:
        key = waiting.pop()
        if key not in found:
            found.add(key)
            waiting += based[key]
    return frozenset(found)


def _value(style: Element, child: str) -> str:
    found = style.find(W + child)
    return "" if found is None else found.get(W + "val", "")


def of_open_document(part: Element) -> frozenset[str]:
    """Return the names of such styles in a part; its automatic styles are derived from named ones."""
    automatic = part.iterfind(f"{OFFICE}automatic-styles/{STYLE}style")
    derived = (each.get(STYLE + "name", "") for each in automatic if each.get(STYLE + "parent-style-name") in _ENCODED)
    return _ENCODED.union(derived)
