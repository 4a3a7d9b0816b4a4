"""Reading of translation memories: TMX, the exchange format of tools, and tab-separated lines."""

import gzip
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, cast

from lxml import etree

from models.config import Languages
from models.errors import DataError
from models.text.glossary import UNFIT, read_pairs
from models.text.memory import Segment

_LANGUAGE: Final = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")
"""Attributes for the language of a variant; the second one up to TMX 1.1."""
_AROUND_WORDS: Final = "hi"
"""The only inline element whose content is words of the sentence; that of all others is some program's."""
_LINES: Final = re.compile(r"(?<! ) *+[\t\r\n][ \t\r\n]*+")
"""Line breaks and tabs, with which tools lay a file out for people.

A run of spaces is tried only once, at its beginning, and not again from each of them.
"""
LONGEST_NAMESPACE: Final = 256
"""Maximum characters of an XML namespace: each query of an element's name copies all of it."""
_MOST_NAMED: Final = 8
"""Maximum languages that an error names if a memory has none of the requested ones."""
_TMX_ENDS: Final = (".tmx", ".tmx.gz")


def read_memory(path: Path, languages: Languages) -> tuple[Segment, ...]:
    """Read the segments of a file: of TMX, judged by its name, those in both languages; else tab-separated lines.

    Raises:
        DataError: there is no such file, it is damaged or in other languages, or a line is malformed.
    """
    if path.name.lower().endswith(_TMX_ENDS):
        try:
            with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
                return tuple(segments_of_tmx(cast(IO[bytes], file), languages.source, languages.target))
        except FileNotFoundError:
            raise DataError("no such file", path) from None
        except (OSError, EOFError, zlib.error) as error:
            raise DataError(f"cannot be read: {error}", path) from None
        except DataError as error:
            raise DataError(str(error), path) from None
    return tuple(Segment(source, target) for _, source, target in read_pairs(path))


def segments_of_tmx(file: IO[bytes], source: str, target: str) -> Iterator[Segment]:
    """Yield the units of a memory that have both languages, among any others, as plain text (TMX 1.4b).

    Inline codes, such as for bold text, are dropped. `source` and `target` are language codes.

    Raises:
        DataError: it is not TMX, or has units, but none in both languages.
    """
    seen, found = dict[str, None](), 0
    parsed = etree.iterparse(file, ("start-ns", "start", "end"), resolve_entities=False, no_network=True)
    try:
        for unit in _units(parsed):
            said = _variants(unit)
            seen |= dict.fromkeys(said)
            pair = Segment(_in(source, said), _in(target, said))
            if all(pair):
                found += 1
                yield pair
    except etree.XMLSyntaxError:
        raise DataError(f"is not TMX: {syntax_error(parsed)}") from None
    if seen and not found:
        raise DataError(
            f"has no unit in both {source} and {target}; the languages in it are {', '.join(islice(seen, _MOST_NAMED))}"
        )


def syntax_error(parser: Any) -> str:  # noqa: ANN401 - lxml has no types
    """Say what XML a parser of lxml has refused, and where, in words of its own: lxml's may quote the file."""
    found = next(iter(parser.error_log.filter_from_errors()), None)
    if found is None:
        return "it is empty"
    reason = found.type_name.removeprefix("ERR_").replace("_", " ").lower()
    return f"{reason}, line {found.line}, column {found.column}"


def _units(parsed: Iterator[tuple[str, Any]]) -> Iterator[Any]:
    """Yield each unit, which is freed when the next one is requested."""
    elements = _elements(parsed)
    _, root = next(elements)
    if etree.QName(root).localname != "tmx":
        raise DataError("is not TMX: its root element is another one")
    for event, element in elements:
        if event == "end" and etree.QName(element).localname == "tu":
            yield element
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]


def _elements(parsed: Iterator[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """Yield the start and end events of elements."""
    for event, found in parsed:
        if event != "start-ns":
            yield event, found
        elif len(found[1]) > LONGEST_NAMESPACE:
            raise DataError(f"has a namespace whose name is longer than {LONGEST_NAMESPACE} characters")


def _variants(unit: Any) -> dict[str, str]:  # noqa: ANN401 - lxml has no types
    """Return a unit's text by lower-case language code; of two in one language the first counts."""
    said = dict[str, str]()
    for variant in unit.iterchildren("{*}tuv"):
        language = next(filter(None, map(variant.get, _LANGUAGE)), "").lower().replace("_", "-")  # en_US, of some tools
        segment = variant.find("{*}seg")
        if language and segment is not None:
            text = _LINES.sub(" ", "".join(_words(segment))).strip()
            said.setdefault(language, text if UNFIT.search(text) is None else "")
    return said


def _words(element: Any) -> Iterator[str]:  # noqa: ANN401 - lxml has no types
    yield element.text or ""
    for child in element:
        if isinstance(child.tag, str) and etree.QName(child).localname == _AROUND_WORDS:
            yield from _words(child)
        yield child.tail or ""


def _in(language: str, said: dict[str, str]) -> str:
    """Return the text in a language; if only one side names a region (`en`, `en-GB`), that matches, too."""
    wanted = language.lower()
    exact = said.get(wanted)
    if exact is not None:
        return exact
    alike = (text for code, text in said.items() if code.startswith(f"{wanted}-") or wanted.startswith(f"{code}-"))
    return next(alike, "")
