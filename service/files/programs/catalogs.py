"""Read the program messages in gettext's files (.po) as HTML, and write their translations in place.

Messages that are already translated stay, but are read as context for the others. Everything else stays the same, byte
for byte.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from service.files.messages import edges_of, page_of, texts_of
from service.files.plain import text_like, text_of
from service.files.programs.access_keys import keyed
from service.files.programs.catalog_lines import CatalogLines, Entry

_FORMS: Final = re.compile(r"\bnplurals\s*+=\s*+([1-6])\b")
"""How many plural forms a language has; Arabic has six."""
_USUAL_FORMS: Final = 2
_FILLED_IN: Final = "%{"
"""Placeholders, which programs replace by a number for example, begin with one of these."""
_OTHER_CHARSET: Final = re.compile(r"(?<=charset=)(?!utf-8\b)[\w.:-]++", re.IGNORECASE)


def html_of(content: bytes) -> str:
    """Return the messages of a file, one after the other.

    Raises:
        InvalidInputError: it is no .po file, or not in UTF-8.
    """
    return page_of(_texts(_messages(_lines_of(content))), content)


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the file with `translation`, the translated result of `html_of`, as translations of its messages."""
    lines = _lines_of(content)
    messages = list(_messages(lines))
    translated = iter(texts_of(translation, _texts(messages), content))
    for message in messages:
        message.write([next(translated) for _ in message.texts])
    if (header := _header(lines)) is not None:
        lines.replace(header, "msgstr", _OTHER_CHARSET, "UTF-8")
    return text_like(content, lines.text())


def _texts(messages: Iterable["_Message"]) -> list[str]:
    return [text for message in messages for text in message.texts]


def _lines_of(content: bytes) -> CatalogLines:
    return CatalogLines(text_of(content))


def _header(lines: CatalogLines) -> Entry | None:
    return next((each for each in lines.entries if not each.message), None)


def _messages(lines: CatalogLines) -> Iterator["_Message"]:
    """Yield the messages that have text, in the order of the file."""
    header = _header(lines)
    forms = None if header is None else _FORMS.search(header.text("msgstr"))
    for entry in lines.entries:
        if entry.message.strip():
            yield _Message(lines, entry, int(forms[1]) if forms else _USUAL_FORMS)


def _is_for_one(message: str, plural: str, forms: int) -> bool:
    """Return whether the singular lacks the placeholder for the number.

    It would be wrong in languages with more than two forms, which use the form for 1 for other numbers as well, as 21.
    """
    return forms > _USUAL_FORMS and any(message.count(sign) < plural.count(sign) for sign in _FILLED_IN)


class _Message:
    """A message and its translation."""

    def __init__(self, lines: CatalogLines, entry: Entry, forms: int) -> None:
        self._lines = lines
        self._entry = entry
        said = [entry.message]
        self._names = ["msgstr"]
        if "msgid_plural" in entry.said:
            plural = entry.text("msgid_plural")
            said = [plural] if forms == 1 or _is_for_one(entry.message, plural, forms) else [entry.message, plural]
            self._names = [f"msgstr[{number}]" for number in range(forms)]
        self._edges = [edges_of(each) for each in said]
        self._keyed = [keyed(words) for _, words, _ in self._edges]
        self.texts = [each.words for each in self._keyed]
        """The texts to translate: the message, and its plural if that is translated separately."""

    def write(self, translations: Sequence[str]) -> None:
        """Write the translations, except where somebody has already translated the message."""
        entry, is_guess = self._entry, self._lines.is_guess(self._entry)
        missing = [name for name in self._names if is_guess or not entry.text(name)]
        # The white space around a message belongs to the program, and gettext requires it to match.
        said = [each.marked(text) for each, text in zip(self._keyed, translations, strict=True)]
        texts = [f"{before}{text}{after}" for (before, _, after), text in zip(self._edges, said, strict=True)]
        for name in missing:
            number = self._names.index(name)
            self._lines.say(entry, name, texts[min(number, len(texts) - 1)])
        if missing:
            self._lines.mark_fuzzy(entry)
