"""Find the paragraphs and titles of a document in reStructuredText.

Directives are known by their names: of those that hold text, the title and the content are translated, and of all
others nothing.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from models.text.words import has_words
from service.files.restructured.tables import Table, table_of
from service.files.restructured.words import RULE, Words
from service.segmentation.line_marks import after_marks
from service.segmentation.paragraphs import columns_of

_TITLED: Final = re.compile(
    "admonition|attention|caution|centered|danger|error|hint|important|list-table|note|rubric|seealso|sidebar|table|tip"
    "|todo|topic|warning"
)
"""Directives that have text on their first line, and hold more."""
_DATED: Final = re.compile("deprecated|version(?:added|changed|removed)")
"""The same, behind a version."""
_HOLDING: Final = re.compile(
    "compound|container|epigraph|figure|glossary|header|footer|highlights|hlist|only|pull-quote|tabs?|tab-(?:item|set)"
    "|grid(?:-item(?:-card)?)?|card|dropdown"
    "|(?:[a-z]+:)?(?:attribute|class|classmethod|cmdoption|confval|constant|data|decorator|describe|enum|envvar|exception"
    "|function|macro|member|method|module|object|option|program|property|staticmethod|struct|type|var)"
)
"""Directives that hold text, and have a name or a file on their first line."""
_EXPLICIT: Final = re.compile(
    r"""(?P<indent>[ \t]*)(?:\.\.|__)(?=\s|\Z)[ \t]*
    (?: (?P<note>\[[^\[\]\n]+\][ \t]+) | (?P<name>[A-Za-z][A-Za-z0-9:+._-]*?)::(?=\s|\Z)[ \t]* )?+""",
    re.VERBOSE,
)
"""A directive, the text of a note, the target of a link, or a comment."""
_FIELD: Final = re.compile(r"[ \t]*:(?![:\s])[^:\n`]{1,80}+:(?=\s|\Z)[ \t]*")
_LINE_BLOCK: Final = re.compile(r"[ \t]*\|[ \t]+")
_ONE_OPTION: Final = r"(?:--?|[+/])[A-Za-z0-9][^\s,]*+(?: [A-Za-z<][^\s,]*+)?"
_OPTION: Final = re.compile(rf"[ \t]*{_ONE_OPTION}(?:, {_ONE_OPTION})*[ ]{{2,}}")
"""Options of a command, before what they do."""
_AUTOMATIC: Final = re.compile(r"[ \t]*\(?#[.)][ \t]+")
"""The mark of an item that is numbered by the program."""
_RULE: Final = re.compile(rf"{RULE}\s*")
_LEAST_RULE: Final = 4
"""Characters that the line of a title has, if it is shorter than the title."""
_TABLE: Final = re.compile(r"[ \t]*(?:\+(?:[-=]+\+)+|=+(?:[ \t]+=+)+)\s*")
_SIMPLE: Final = re.compile(r"[ \t]*=")
_EXAMPLE: Final = re.compile(r"[ \t]*>>>(?=\s|\Z)")
_LITERAL: Final = "::"
"""What says that an example follows."""
_USUAL_INDENT: Final = 3
"""Of what a directive holds."""
_REFERENCE: Final = re.compile(
    r"""
      ``.*?`` | `[^`]*+`_*+
    | (?<![\w`:|*/.+-]) (?P<name>[A-Za-z0-9]++(?:[._+-][A-Za-z0-9]++)*+) (?P<to>_{1,2})
      (?= [\s'")\]}>\\:.,;!?/-] | [^!-~] | \Z )
    """,
    re.VERBOSE | re.ASCII,
)
"""One of a single word, with nothing else around it; or what is no such reference."""
_LINK: Final = re.compile(
    r"`([^`<>]{1,200}+)`_(?!_)|(?<![\w`.+-])([A-Za-z0-9]++(?:[._+-][A-Za-z0-9]++)*+)_(?![\w`])", re.ASCII
)
"""A link to a target or a title of the same document, by what it says."""
_WITH_TARGET: Final = re.compile(r"`([^`<>\s][^`<>]{0,200}?)\s{1,80}<([^`<>]{1,300}+)>`_(?!_)")
"""The same with the target, which it gives a name to."""
_TARGET: Final = re.compile(r"^[ \t]*\.\. _`?([^`:\n]++)`?:", re.MULTILINE)
_SPACELESS: Final = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")
"""Letters and punctuation of languages without spaces between words: Thai, Lao, Burmese, Khmer, Chinese, Japanese."""


class Reader:
    """Reads a text from its first line to its last."""

    def __init__(self, text: str) -> None:
        self._lines = text.splitlines(keepends=True)
        self._place = 0
        self._has_endless_table = False
        """Whether a table had no last line: that of no further one is searched for."""
        named = {_normalized(found[1]) for found in _TARGET.finditer(text)}
        self._linked = {_normalized(found[1] or found[2]) for found in _LINK.finditer(text)} - named
        """Links to titles, or to other links."""
        self._named_by_links = {_normalized(found[1]): found for found in _WITH_TARGET.finditer(text)}

    def pieces(self) -> Iterator[str | Words | Table]:
        """Yield what stays, and what is translated, in its order; nothing is left out."""
        while self._place < len(self._lines):
            line = self._lines[self._place]
            if explicit := _EXPLICIT.match(line):
                yield from self._explicit(explicit)
            elif title := self._title():
                yield from title
            elif _TABLE.fullmatch(line):
                table = self._taken(self._end_of_table())
                yield table_of(table, _cell) or table
            elif _EXAMPLE.match(line):
                yield self._taken(self._end_of_block(self._place))
            elif has_words(line):
                yield from self._paragraph(_begin(line))
            else:
                yield self._taken(self._place + 1)
                if line.rstrip().endswith(_LITERAL):
                    yield self._held(_begin(line))

    def targets(self) -> str:
        """Return the targets of links that are found by the words of another link, for when these are others."""
        missed = [found for name, found in self._named_by_links.items() if name in self._linked]
        if not missed:
            return ""
        end = "\r\n" if self._lines[0].endswith("\r\n") else "\n"
        last = "" if self._lines[-1].endswith("\n") else end
        said = ([" ".join(part.split()) for part in found.groups()] for found in missed)
        return last + "".join(f"{end}.. _`{name}`: {target}{end}" for name, target in said)

    def _taken(self, end: int) -> str:
        """Return the lines up to a place, and go on there."""
        taken = "".join(self._lines[self._place : end])
        self._place = end
        return taken

    def _line(self, place: int) -> str:
        return self._lines[place] if place < len(self._lines) else ""

    def _explicit(self, found: re.Match[str]) -> Iterator[str | Words]:
        line, name, indent = self._lines[self._place], found["name"] or "", len(found["indent"])
        begin = found.end()
        if is_dated := _DATED.fullmatch(name):
            begin += len(line[begin:]) - len(line[begin:].partition(" ")[2].lstrip())
        has_text = found["note"] or is_dated or _TITLED.fullmatch(name)
        if has_text and line[begin:].strip():
            yield from self._paragraph(begin, within=indent)
        else:
            yield self._taken(self._place + 1)
        if has_text or _HOLDING.fullmatch(name):
            yield self._taken(self._end_of_options(indent))
        else:
            yield self._held(indent)

    def _end_of_options(self, indent: int) -> int:
        place = self._place
        while _FIELD.match(self._line(place)) and _indent(self._line(place)) > indent:
            place += 1
        return place

    def _held(self, indent: int) -> str:
        """Take the lines that are indented more, and empty ones between them."""
        end = place = self._place
        while place < len(self._lines):
            if self._lines[place].strip():
                if _indent(self._lines[place]) <= indent:
                    break
                end = place + 1
            place += 1
        return self._taken(end)

    def _title(self) -> tuple[Words, str] | None:
        """Read a title, if there is one."""
        above = self._lines[self._place] if _RULE.fullmatch(self._lines[self._place]) else ""
        place = self._place + bool(above)
        line, below = self._line(place), self._line(place + 1)
        is_ruled = _RULE.fullmatch(below) and len(below.strip()) >= min(columns_of(line.strip()), _LEAST_RULE)
        has_place = above.strip() == below.strip() if above else not line[:1].isspace()
        if not (is_ruled and has_place and has_words(line)):
            return None
        self._place = place + 2
        over, under = above + line[: _indent(line)], line[len(line.rstrip()) :] + below.rstrip()
        words, end = line.strip(), below[len(below.rstrip()) :]
        target = f".. _`{words}`:{end}{end}" if self._is_linked(words) else ""
        return Words(words, f"{over}{words}{under}", over, under, is_title=True, target=target), end

    def _is_linked(self, title: str) -> bool:
        """Whether a link leads to a title: what another link names comes first."""
        return _normalized(title) in self._linked - self._named_by_links.keys()

    def _paragraph(self, begin: int, within: int | None = None) -> Iterator[str | Words]:
        """Read a paragraph whose words begin at a place of the line; its other lines begin there, or `within` more."""
        end = self._place + 1
        while self._goes_on(self._line(end), begin, within):
            end += 1
        lines = self._taken(end)
        yield lines[:begin]
        was = lines[begin:].rstrip()
        behind = lines[begin + len(was) :]
        words = _joined(was.splitlines())
        if words.endswith(_LITERAL) and not self._line(self._place).strip():
            column = begin if within is None else within + _USUAL_INDENT
            yield _introduction(words.removesuffix(_LITERAL), was, behind or "\n", column)
            yield behind + self._held(column)
        else:
            yield Words(words, was) if has_words(words) else was
            yield behind

    def _goes_on(self, line: str, begin: int, within: int | None) -> bool:
        indent = _indent(line)
        is_near = indent == begin if within is None else indent > within
        is_other = _EXPLICIT.match(line) or _FIELD.match(line) or _RULE.fullmatch(line) or _TABLE.fullmatch(line)
        return is_near and bool(line.strip()) and not is_other

    def _end_of_block(self, place: int) -> int:
        """Return the place of the next empty line, or behind the last one."""
        while self._line(place).strip():
            place += 1
        return place

    def _end_of_table(self) -> int:
        """Return the place behind a table: one without borders between columns may have empty lines."""
        first, end = self._lines[self._place], self._end_of_block(self._place)
        place: int | None = end
        if not _SIMPLE.match(first) or self._has_endless_table:
            return end
        while place is not None and not _TABLE.fullmatch(self._lines[end - 1]):
            place = next((at for at in range(end, len(self._lines)) if self._lines[at].strip()), None)
            end = end if place is None else self._end_of_block(place)
        self._has_endless_table = place is None
        return end if place is not None else self._end_of_block(self._place)


def _introduction(words: str, was: str, end: str, column: int) -> Words:
    """Return a paragraph before an example; what says so becomes one of its own, as no translation need end with it."""
    said = words.rstrip()
    colon = ":" * (said == words)  # which readers see, too
    return Words(f"{said}{colon}", was, under=f"{end}{end}{' ' * column}{_LITERAL}")


def _cell(lines: Sequence[str]) -> Words | None:
    """Read the lines of a table's cell, if they are a paragraph."""
    is_other = any(
        not line
        or line[0] == " "
        or _begin(line)
        or _EXPLICIT.match(line)
        or _RULE.fullmatch(line)
        or _EXAMPLE.match(line)
        for line in lines
    )
    words = "" if is_other else _joined(list(lines))
    return Words(words, words) if has_words(words) and not words.endswith(_LITERAL) else None


def _normalized(name: str) -> str:
    """Return a name as links find it."""
    return " ".join(name.lower().split())


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _begin(line: str) -> int:
    """Return where the words of a line begin, behind the mark of a field, a line block, an option, or lists."""
    for mark in (_FIELD, _LINE_BLOCK, _OPTION, _AUTOMATIC):
        if found := mark.match(line):
            return found.end()
    begin = after_marks(line)
    return begin + after_marks(line[begin:])


def _joined(lines: list[str]) -> str:
    """Join the lines of a paragraph, without spaces in languages that have none, and with ticks around references."""
    joined = ""
    for line in filter(None, map(str.strip, lines)):
        is_spaceless = not joined or _SPACELESS.match(joined[-1]) or _SPACELESS.match(line)
        gap = "" if is_spaceless and not line.startswith("<") else " "  # `name <target>`_ has to have one
        joined += gap + line
    return _REFERENCE.sub(lambda found: f"`{found['name']}`{found['to']}" if found["name"] else found[0], joined)
