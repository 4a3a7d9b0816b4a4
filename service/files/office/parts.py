"""Parse and write the XML parts of office files, safely, and find the parts that they refer to."""

import posixpath
from collections.abc import Iterator
from typing import Final, NamedTuple
from zipfile import ZipFile

from lxml import etree

from service.errors import InvalidInputError
from service.files.packed import read_parts
from service.files.xml_text import Element, root_of

_STRICT: Final = "{http://purl.oclc.org/"
"""The beginning of the namespaces of Strict Open XML, which has other names for the same elements."""
KEY: Final = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"
"""The attribute by which an element refers to another part."""
_RELATION: Final = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


class Relation(NamedTuple):
    """A reference from one part to another: its key in the first, its kind, and the name of the second."""

    key: str
    kind: str
    name: str


def parsed(name: str, content: bytes, suffix: str) -> Element:
    """Parse a part, and return its root.

    Raises:
        InvalidInputError: it is damaged or encrypted, or Strict Open XML.
    """
    try:
        root = root_of(content, remove_comments=True, remove_pis=True)
    except ValueError as error:
        raise InvalidInputError(f"file: {name} is damaged, or encrypted: {error}") from None
    if root.getroottree().docinfo.doctype:
        raise InvalidInputError(f"file: {name} is damaged: it has a DTD")
    if root.tag.startswith(_STRICT):
        raise InvalidInputError(f"file: is Strict Open XML: save it as an ordinary {suffix}")
    return root


def written(root: Element) -> bytes:
    """Serialise a part."""
    return bytes(etree.tostring(root, xml_declaration=True, encoding="UTF-8", standalone=True))


class Relations:
    """The references between the parts of a file (ECMA-376, part 2, section 6.5)."""

    def __init__(self, archive: ZipFile, suffix: str) -> None:
        self._archive = archive
        self._suffix = suffix
        self._there = {info.filename.casefold(): info for info in archive.infolist()}
        """The parts by their names, regardless of case."""

    def of(self, name: str) -> Iterator[Relation]:
        """Yield the references of a part to others of the same file, in the order in which they are listed.

        Raises:
            InvalidInputError: the list is damaged, or too long.
        """
        folder, own = posixpath.split(name)
        info = self._there.get(f"{folder}/_rels/{own}.rels".casefold())
        for listed, content in read_parts(self._archive, [] if info is None else [info]):
            for each in parsed(listed, content, self._suffix).iter(_RELATION):
                target = posixpath.normpath(posixpath.join("/", folder, each.get("Target", "")))[1:]
                there = self._there.get(target.casefold())
                if each.get("TargetMode") != "External" and there is not None:
                    yield Relation(each.get("Id", ""), posixpath.basename(each.get("Type", "")), there.filename)
