"""What stands between two sentences, or two clauses, of a language."""

import re
from typing import Final

_WITHOUT_SPACES: Final = frozenset({"bo", "dz", "ja", "km", "lo", "my", "th", "yue", "zh"})


def primary(language: str) -> str:
    """The ISO 639 code of a language whose name may say a script or region, too."""
    return re.split("[-_]", language.lower())[0]


def gap_of(language: str) -> str:
    """A space, or nothing where the language is written without."""
    return "" if primary(language) in _WITHOUT_SPACES else " "
