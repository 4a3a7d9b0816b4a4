"""Translation memories as files: TMX, in which tools exchange them, and lines with a tab between source and target."""

import gzip
import re
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, cast

from lxml import etree

from models.config import Languages
from models.data.glossary import UNFIT, read_pairs
from models.data.memory import Segment
from models.errors import DataError

_LANGUAGE: Final = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")
"""What says the language of a variant; the second one did so up to TMX 1.1."""
_AROUND_WORDS: Final = "hi"
"""The one element whose content is words of the sentence; that of all others in it is some program's."""
_LINES: Final = re.compile(r"[ \t\r\n]*[\t\r\n][ \t\r\n]*")
"""Line breaks and tabs, with which tools set a file out for people."""
LONGEST_NAMESPACE: Final = 256
"""Characters of the name of one in XML: each look at what an element is called copies all of it."""
_MOST_NAMED: Final = 8
"""Of the languages of a memory that has none of those that are wanted."""
_TMX_ENDS: Final = (".tmx", ".tmx.gz")


def read_memory(path: Path, languages: Languages) -> tuple[Segment, ...]:
    """The segments of a file: of TMX, by its name, those in both languages; else a line for each, with a tab between.

    Raises:
        DataError: there is no such file, it is damaged or in other languages, or a line is no such segment.
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
    """The units of a memory that have both languages, whichever it has besides, as plain text (TMX 1.4b).

    Of codes in it, as for bold text, nothing is left. `source` and `target` are codes of languages.

    Raises:
        DataError: it is no TMX, or has units, but none in both languages.
    """
    seen, found = dict[str, None](), 0
    try:
        for unit in _units(file):
            said = _variants(unit)
            seen |= dict.fromkeys(said)
            pair = Segment(_in(source, said), _in(target, said))
            if all(pair):
                found += 1
                yield pair
    except etree.XMLSyntaxError as error:
        raise DataError(f"is no TMX: {error}") from None
    if seen and not found:
        raise DataError(
            f"has no unit in both {source} and {target}; the languages in it are {', '.join(islice(seen, _MOST_NAMED))}"
        )


def _units(file: IO[bytes]) -> Iterator[Any]:
    """Each unit, of which nothing is kept when the next one is asked for."""
    parsed = _elements(file)
    _, root = next(parsed)
    if etree.QName(root).localname != "tmx":
        raise DataError("is no TMX: its first element is another one")
    for event, element in parsed:
        if event == "end" and etree.QName(element).localname == "tu":
            yield element
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]


def _elements(file: IO[bytes]) -> Iterator[tuple[str, Any]]:
    """Where each element begins, and where it ends."""
    events = ("start-ns", "start", "end")
    for event, found in etree.iterparse(file, events, resolve_entities=False, no_network=True):
        if event != "start-ns":
            yield event, found
        elif len(found[1]) > LONGEST_NAMESPACE:
            raise DataError(f"has a namespace whose name is longer than {LONGEST_NAMESPACE} characters")


def _variants(unit: Any) -> dict[str, str]:  # noqa: ANN401 - lxml has no types
    """What a unit says in each language, by its code in small letters; of two in one language the first counts."""
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
    """What is said in a language: in that of a region as well, if only one of them says which (`en`, `en-GB`)."""
    wanted = language.lower()
    exact = said.get(wanted)
    if exact is not None:
        return exact
    alike = (text for code, text in said.items() if code.startswith(f"{wanted}-") or wanted.startswith(f"{code}-"))
    return next(alike, "")
