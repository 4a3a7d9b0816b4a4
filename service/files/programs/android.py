"""Read the texts of Android programs (string resources, .xml) as HTML, and write translations in place.

Tags within a text stay with the same words; everything else stays the same, byte for byte.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from models.text.words import has_words
from service.errors import InvalidInputError
from service.files.messages import Page, edges_of
from service.files.numbered import html_of_words, pieces_of
from service.files.programs.android_escapes import Escapes
from service.files.programs.values import check_number, is_text
from service.files.programs.xml_places import Place, XmlPlaces, read, within_cdata, written

_ROOT: Final = "resources"
_LIST: Final = "string-array"
_PATHS: Final = frozenset(((_ROOT, "string"), (_ROOT, _LIST, "item"), (_ROOT, "plurals", "item")))
_FOR_PROGRAMS: Final = re.compile(r"values\Z", re.IGNORECASE)
"""The end of a list's name whose items are what a program stores, and not what it shows (`entryValues`)."""
_REFERENCE: Final = re.compile(r"[@?][+*]?[\w.]++(?::[\w.]++)?(?:/[\w.]++)?")
"""The whole content where that of another resource is meant: @string/name."""
_PIECE: Final = re.compile(
    r"""<!\[CDATA\[(?P<cdata>.*?)\]\]> | (?P<apart><!--.*?--> | <\?.*?\?>) | (?P<text>[^<]++)
    | <(?P<closes>/?)(?P<name>[^\s/>]++)(?:[^<>"']++ | "[^"]*+" | '[^']*+')*+>""",
    re.VERBOSE | re.DOTALL,
)
_BREAK: Final = "<br>"


def html_of(content: bytes) -> str:
    """Return the texts of a file, one after the other.

    Raises:
        InvalidInputError: it is no XML of Android's resources, is damaged, or has an escape of half a character.
    """
    page = Page(content)
    return page.between.join(each.html for each in _texts(_read(content), page))


def with_translation(content: bytes, translation: str) -> bytes:
    """Return the file with its texts replaced by `translation`: the translated result of `html_of`."""
    file, page = _read(content), Page(content)
    texts = list(_texts(file, page))
    translated = translation.split(page.between) if texts else []
    pairs = zip(texts, translated, strict=True)
    return file.with_contents((each.place, each.written(said)) for each, said in pairs if said != each.html)


def _read(content: bytes) -> XmlPlaces:
    file = XmlPlaces(content, _PATHS)
    if file.root != _ROOT:
        raise InvalidInputError(f"file: of .xml, only Android's <{_ROOT}> are translated, not <{file.root[:40]}>")
    return file


def _texts(file: XmlPlaces, page: Page) -> Iterator["_Text"]:
    check_number(len(file.places))
    for place in filter(_is_shown, file.places):
        content = file.content(place)
        pieces = list(_PIECE.finditer(content.strip()))
        has_tags = any(piece["text"] is None and piece["cdata"] is None for piece in pieces)
        try:
            text = (_Tagged if has_tags else _Plain)(place, content, pieces, page)
        except ValueError:
            where = f"the text that begins in line {file.line(place)}"
            raise InvalidInputError(rf"file: {where} has \u without the number of a character after it") from None
        if text.is_text:
            yield text


def _is_shown(place: Place) -> bool:
    name = place.attributes[1].get("name", "")
    is_stored = place.path[1] == _LIST and _FOR_PROGRAMS.search(name) is not None
    return not is_stored and all(each.get("translatable") != "false" for each in place.attributes)


class _Text(ABC):
    """The text of a resource; white space at its ends, which Android removes, stays."""

    html: str
    is_text: bool
    """Whether it is meant for people."""

    def __init__(self, place: Place, content: str, pieces: Sequence[re.Match[str]], page: Page) -> None:
        self.place = place
        self._before, self._content, self._after = edges_of(content)
        self._page = page
        without_tags = "".join(piece[0] for piece in pieces if piece["name"] is None and piece["apart"] is None)
        self._escapes = Escapes(without_tags, is_styled=any(map(_is_style, pieces)))

    def written(self, translation: str) -> str:
        """Return the content with a translation of `html`."""
        return f"{self._before}{self._written(translation)}{self._after}"

    @abstractmethod
    def _written(self, translation: str) -> str:
        """Return the content without the white space at its ends."""


class _Plain(_Text):
    """A text without tags."""

    def __init__(self, place: Place, content: str, pieces: Sequence[re.Match[str]], page: Page) -> None:
        super().__init__(place, content, pieces, page)
        said = self._escapes.read("".join(map(_characters, pieces)))
        self._start, self._words, self._end = edges_of(said)
        self.html = page.html_of(self._words)
        self.is_text = is_text(self._words) and _REFERENCE.fullmatch(self._content) is None

    def _written(self, translation: str) -> str:
        said = f"{self._start}{self._page.text_of(translation, self._words)}{self._end}"
        escaped = self._escapes.whole(self._escapes.written(said))
        return written(escaped, as_cdata=within_cdata(self._content) is not None)


class _Tagged(_Text):
    """A text with tags; those that are Android's own, with a prefix, are around what is for programs."""

    def __init__(self, place: Place, content: str, pieces: Sequence[re.Match[str]], page: Page) -> None:
        super().__init__(place, content, pieces, page)
        self._kept = list[_Kept]()
        self.html = "".join(self._read(pieces))
        self.is_text = has_words(self.html)

    def _read(self, pieces: Sequence[re.Match[str]]) -> Iterator[str]:
        opened, kept_whole, depth = list[int](), "", 0
        for piece in pieces:
            if _is_style(piece):
                self._escapes.end_quotes()
            if kept_whole or _is_kept_whole(piece):
                kept_whole += piece[0]
                depth += 0 if piece["name"] is None or piece[0].endswith("/>") else -1 if piece["closes"] else 1
                if not depth:
                    yield f'<code id="{self._keep(kept_whole)}"></code>'
                    kept_whole = ""
            elif piece["name"] is None and piece["apart"] is None:
                yield html_of_words(self._escapes.read(_characters(piece)))
            elif piece["closes"]:
                number = opened.pop()
                self._kept[number] = self._kept[number]._replace(after=piece[0])
                yield "</a>"
            elif piece["name"] is None or piece[0].endswith("/>"):
                yield f'<img id="{self._keep(piece[0])}">'
            else:
                opened.append(self._keep(piece[0]))
                yield f'<a id="{opened[-1]}">'

    def _keep(self, raw: str) -> int:
        self._kept.append(_Kept(raw))
        return len(self._kept) - 1

    def _written(self, translation: str) -> str:
        opened, left, made = list[str](), dict(enumerate(self._kept)), list[str]()
        for piece in pieces_of(translation.replace(_BREAK, "\n")):
            if isinstance(piece, str):
                made.append(written(self._escapes.written(piece)))
            elif piece.number is None:
                made.append(opened.pop() if opened and piece.name == "a" else "")
            else:
                kept = left.pop(piece.number, _NOTHING)  # used once: a tag must not occur twice
                made.append(kept.before)
                opened += [kept.after] * (piece.name == "a")
        made += [*reversed(opened), *(f"{kept.before}{kept.after}" for kept in left.values())]
        return self._escapes.whole("".join(made))


class _Kept(NamedTuple):
    """What stays as it is: the tags around words, or something alone."""

    before: str
    after: str = ""


_NOTHING: Final = _Kept("")


def _is_kept_whole(piece: re.Match[str]) -> bool:
    return piece["name"] is not None and ":" in piece["name"]


def _is_style(piece: re.Match[str]) -> bool:
    return piece["name"] is not None and ":" not in piece["name"]


def _characters(piece: re.Match[str]) -> str:
    return read(piece["text"]) if piece["cdata"] is None else piece["cdata"]
