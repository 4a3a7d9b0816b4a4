"""Read the texts of .NET programs (.resx, and .resw, as WinUI has it) as HTML, and write translations in place.

Everything else, such as the places and sizes of buttons, stays the same, byte for byte.
"""

import re
from collections.abc import Iterator
from typing import Final

from service.errors import InvalidInputError
from service.files.messages import edges_of, page_of, texts_of
from service.files.programs.access_keys import keyed
from service.files.programs.values import check_number, is_text
from service.files.programs.xml_places import Place, XmlPlaces, read, within_cdata, written

_ROOT: Final = "root"
_PATHS: Final = frozenset(((_ROOT, "data", "value"),))
_NO_TEXT: Final = ("mimetype", "type")
"""Attributes of values that are pictures, sizes or whatever else is not a string."""
_FOR_PROGRAMS: Final = re.compile(
    r">>.*|.*\.(?:AccessKey|Anchor|AutoSize|ClientSize|Dock|Enabled|FlowDirection|Font|FontFamily|Height|Icon|Image"
    r"|ImageAlign|ImageIndex|ImageKey|ImeMode|Language|Localizable|Location|Margin|MaximumSize|MinimumSize"
    r"|(?<!AutomationProperties\.)Name|Padding|Parent|RightToLeft|ShortcutKeys|Size|TabIndex|TextAlign|Type|Visible|Width"
    r"|ZOrder)",
    re.DOTALL,
)
"""Names by which Windows Forms and WinUI keep properties that nobody reads; what is read aloud is a text."""


def html_of(content: bytes) -> str:
    """Return the texts of a file, one after the other.

    Raises:
        InvalidInputError: it is no .resx, or is damaged.
    """
    return page_of([each.words for each in _texts(_read(content))], content)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the file with its texts replaced by `translation`: the translated result of `html_of`."""
    file = _read(content)
    texts = list(_texts(file))
    translated = texts_of(translation, [each.words for each in texts], content)
    pairs = zip(texts, translated, strict=True)
    return file.with_contents((each.place, each.written(words)) for each, words in pairs if words != each.words)


def _read(content: bytes) -> XmlPlaces:
    file = XmlPlaces(content, _PATHS)
    if file.root != _ROOT:
        raise InvalidInputError(
            f"file: is not a valid .resx or .resw: it begins with <{file.root[:40]}>, not <{_ROOT}>"
        )
    return file


def _texts(file: XmlPlaces) -> Iterator["_Text"]:
    check_number(len(file.places))
    for place in file.places:
        of_data = place.attributes[1]
        if of_data.keys().isdisjoint(_NO_TEXT) and not _FOR_PROGRAMS.fullmatch(of_data.get("name", "")):
            text = _Text(place, file.content(place))
            if is_text(text.words):
                yield text


class _Text:
    """The text of a value."""

    def __init__(self, place: Place, content: str) -> None:
        self.place = place
        self._before, written_so, self._after = edges_of(content)
        inner = within_cdata(written_so)
        self._is_cdata = inner is not None
        said = read(written_so) if inner is None else inner
        self._start, words, self._end = edges_of("" if inner is None and "<" in written_so else said)
        self._keyed = keyed(words)
        self.words = self._keyed.words
        """The words to translate; none if the value has elements, which .NET does not read either."""

    def written(self, words: str) -> str:
        """Return the value with other words."""
        said = f"{self._start}{self._keyed.marked(words)}{self._end}"
        return f"{self._before}{written(said, as_cdata=self._is_cdata)}{self._after}"
