"""Stands in for a model by "translating" text."""

import re


def capital(text: str) -> str:
    """Capitalize the letters x, y and z, which stand for words."""
    return re.sub(r"\b[xyz]\b", lambda found: found[0].upper(), text)
