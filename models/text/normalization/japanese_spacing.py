"""Japanese headings whose characters stand apart, as in 議　事　録, closed up: a model reads each as a word."""

import re
from typing import Final

_CHARACTER: Final = "[々〆ぁ-ゖァ-ヺー\u3400-\u9fff]"
_APART: Final = re.compile(rf"\s*+{_CHARACTER}(?:[ \u3000]++{_CHARACTER})++\s*+")


def closed_up(text: str) -> str:
    """Remove the spaces of a text that has one between any two of its characters."""
    return re.sub(r"\s", "", text) if _APART.fullmatch(text) else text
