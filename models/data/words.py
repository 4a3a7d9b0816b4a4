"""Whether a text says anything."""

import unicodedata


def has_words(text: str) -> bool:
    """Whether there is something to translate: a letter, a number or punctuation, not only symbols such as emoji."""
    return any(unicodedata.category(character)[0] in "LNP" for character in text)
