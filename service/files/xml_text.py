"""Text of an element of lxml, which stands in the element itself or behind the last one in it."""

from typing import Any


def add_text(parent: Any, text: str) -> None:  # noqa: ANN401 - lxml has no types
    """Put text behind all that an element has in it."""
    last = next(parent.iterchildren(reversed=True), None)  # lxml would count all of them to say how many
    if last is None:
        parent.text = (parent.text or "") + text
    else:
        last.tail = (last.tail or "") + text
