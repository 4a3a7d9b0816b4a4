"""Whether a text says anything."""

import unicodedata


def has_words(text: str) -> bool:
    """Whether there is something to translate: a letter, not only numbers, punctuation and symbols such as emoji.

    A model that is given a date, an amount or a lone full stop makes up what they might have stood in.
    """
    return any(unicodedata.category(character)[0] == "L" for character in text)
