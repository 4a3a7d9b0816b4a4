"""Read the segments of translation tools (XLIFF 1.x and 2.x) as HTML, and write the translations as their targets.

Segments that are already translated stay, but are read as context for the others. Inline elements, such as placeholders
and the limits of bold text, stay with the same words, as do the tags of a segment that is a piece of a page.
"""

from lxml import etree

from service.errors import InvalidInputError
from service.files.messages import Page
from service.files.packed import MOST_TAGS
from service.files.xliff.namespaces import NEW, OLD
from service.files.xliff.units import segments_of
from service.files.xml_text import Element, root_of


def html_of(content: bytes) -> str:
    """Return the segments of a file, one after the other.

    Raises:
        InvalidInputError: it is not XLIFF, or is damaged or too large.
    """
    page = Page(content)
    return page.between.join(each.html for each in segments_of(_root(content), page))


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the file with `translation`, the translated result of `html_of`, as the targets of its segments."""
    root, page = _root(content), Page(content)
    segments = list(segments_of(root, page))
    translated = translation.split(page.between) if segments else []
    for segment, text in zip(segments, translated, strict=True):
        if not segment.is_done:
            segment.write(text)
    return _written(root)


def with_language(content: bytes, language: str) -> bytes:
    """State the language of the targets, unless the file does: with targets, it should, and must in 2.x."""
    root = _root(content)
    name = root.tag.removesuffix("xliff")
    places, attribute = ([root], "trgLang") if name in NEW else (root.iter(f"{name}file"), "target-language")
    for each in places:
        each.set(attribute, each.get(attribute) or language)
    return _written(root)


def _written(root: Element) -> bytes:
    return bytes(etree.tostring(root.getroottree(), xml_declaration=True, encoding="UTF-8"))


def _root(content: bytes) -> Element:
    if content.count(b"<") > MOST_TAGS:
        raise InvalidInputError(f"file: has more than {MOST_TAGS} tags")
    try:
        root = root_of(content, strip_cdata=False)
    except ValueError as error:
        raise InvalidInputError(f"file: is not XLIFF: {error}") from None
    own = root.getroottree().docinfo.internalDTD
    if own is not None and (own.entities() or own.elements()):
        raise InvalidInputError("file: declares its own elements or entities")
    if root.tag not in {f"{name}xliff" for name in (*OLD, *NEW)}:
        raise InvalidInputError("file: is not XLIFF of version 1.x or 2.0 to 2.2")
    return root
