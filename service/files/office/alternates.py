"""Find content that a file has twice: for newer programs, and for older ones (ECMA-376, part 3, AlternateContent)."""

from collections.abc import Iterable, Iterator
from typing import Final

from service.files.xml_text import Element

_MC: Final = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_BOTH: Final = _MC + "AlternateContent"

Elements = list[Element]


def alternates(root: Element, names: Iterable[str]) -> Iterator[tuple[Elements, Elements]]:
    """Yield the elements of these names in each outermost choice, and those in its fallback."""
    for both in root.iter(_BOTH):
        choices, fallback = both.findall(_MC + "Choice"), both.find(_MC + "Fallback")
        alone = next(both.iterancestors(_BOTH), None) is None
        if alone and len(choices) == 1 and fallback is not None:
            yield list(choices[0].iter(*names)), list(fallback.iter(*names))
