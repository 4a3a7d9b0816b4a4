"""XML as files have it: read without what makes it dangerous, and text put into its elements."""

from io import BytesIO
from typing import Any, Final

from lxml import etree

from models.data.memory_files import LONGEST_NAMESPACE

_MOST_ATTRIBUTES: Final = 200
"""Of an element: to list or to copy them, lxml takes a time that grows with the square of their number."""


def root_of(content: bytes, **options: bool) -> Any:  # noqa: ANN401 - lxml has no types
    """The first element of a file, or of a part of one.

    Args:
        content: which is XML.
        options: of lxml's parser, besides those that keep it from what is elsewhere.

    Raises:
        etree.XMLSyntaxError, ValueError: it is damaged, or has a namespace with a long name, of which each copy of an
            element would have one, or an element with very many attributes.
    """
    parsed = etree.iterparse(BytesIO(content), ("start-ns",), resolve_entities=False, no_network=True, **options)
    for _, (_, name) in parsed:
        if len(name) > LONGEST_NAMESPACE:
            raise ValueError(f"it has a namespace whose name is longer than {LONGEST_NAMESPACE} characters")
    if any(len(element.attrib) > _MOST_ATTRIBUTES for element in parsed.root.iter("*")):
        raise ValueError(f"it has an element with more than {_MOST_ATTRIBUTES} attributes")
    return parsed.root


def add_text(parent: Any, text: str) -> None:  # noqa: ANN401 - likewise
    """Put text behind all that an element has in it: into the element itself, or behind the last one in it."""
    last = next(parent.iterchildren(reversed=True), None)  # lxml would count all of them to say how many
    if last is None:
        parent.text = (parent.text or "") + text
    else:
        last.tail = (last.tail or "") + text
