"""Stands in for a model by "translating" text."""

import re


def capital(text: str) -> str:
    """Capitalize the letters x, y and z, which stand for words."""
    return re.sub(r"\b[xyz]\b", lambda found: found[0].upper(), text)


def is_no_name(text: str) -> bool:
    """Return whether a text stays one when its letters are capitals: X&Y is a name, and has nothing to translate."""
    return re.search("[xy]&[xy]", text) is None
