"""Whether a text says anything."""

import unicodedata


def has_words(text: str) -> bool:
    """Whether there is something to translate: a letter, not only numbers, punctuation and symbols such as emoji.

    A model that is given a date, an amount or a lone full stop makes up what they might have stood in. A letter that
    only modifies others says nothing alone: ーーーー is a rule.
    """
    return any(category[0] == "L" and category != "Lm" for category in map(unicodedata.category, text))
