"""Parse the XML of files safely, and put text into its elements."""

from io import BytesIO
from typing import Any, Final

from lxml import etree

from models.text.memory_files import LONGEST_NAMESPACE, syntax_error

_MOST_ATTRIBUTES: Final = 200
"""The most attributes of an element: listing or copying them takes lxml quadratic time."""


Element = Any
"""An element of lxml, which has no types."""


def root_of(content: bytes, **options: bool) -> Element:
    """Parse a file, or a part of one, and return its root element.

    Args:
        content: the XML.
        options: further options of lxml's parser, besides those that keep it from resolving anything external.

    Raises:
        ValueError: it is not well-formed, or has an element with very many attributes, or a namespace
            with a long name, which would be repeated in each copy of an element.
    """
    parsed = etree.iterparse(BytesIO(content), ("start-ns",), resolve_entities=False, no_network=True, **options)
    try:
        for _, (_, name) in parsed:
            if len(name) > LONGEST_NAMESPACE:
                raise ValueError(f"it has a namespace whose name is longer than {LONGEST_NAMESPACE} characters")
    except etree.XMLSyntaxError:
        raise ValueError(syntax_error(parsed)) from None
    if any(len(element.attrib) > _MOST_ATTRIBUTES for element in parsed.root.iter("*")):
        raise ValueError(f"it has an element with more than {_MOST_ATTRIBUTES} attributes")
    return parsed.root


def add_text(parent: Element, text: str) -> None:
    """Append text to the content of an element: to its own text, or after its last child.

    What is there is copied, so text in many pieces has to be joined first.
    """
    if not text:
        return
    last = next(parent.iterchildren(reversed=True), None)  # not by index: lxml would count all children
    if last is None:
        parent.text = (parent.text or "") + text
    else:
        last.tail = (last.tail or "") + text
