"""Find the lines of a text that are meant for programs, not readers: they are neither translated nor used as context.

These are code between fences and in tags, comments and link definitions in Markdown (CommonMark 0.31, sections 4.5 to
4.7), the names of GitHub's alerts, the options of MyST's boxes, the front matter of a page, and everything in subtitle
files but the text that is shown (WebVTT, section 4).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from models.text.words import has_words

_MAY_BE: Final = re.compile(
    r"[ \t>\ufeff]*(?:`{3}|~{3}|\${2}|%{2}|<!--|<[PSps]|\{/\*|@?\[|WEBVTT|NOTE|STYLE|REGION|[0-9]+:|import\b)"
)
"""How any line that begins such a block begins; a cheap first test that most lines fail."""
_FENCE: Final = re.compile(r"[ \t>]*(?P<fence>`{3,}(?=[^`]*$)|~{3,4}(?=[ \t]*\w)|\${2}(?=\s*\Z)).*", re.DOTALL)
"""The opening fence of code, or of a formula in TeX.

Tildes without a language after them are horizontal rules: newsletters put them around each section.
"""
_BOX: Final = re.compile(
    r"[ \t>]*`{3,}\{(?:admonition|attention|caution|danger|dropdown|epigraph|error|hint|important|margin|note|seealso"
    r"|sidebar|tip|topic|warning)\}.*",
    re.DOTALL,
)
"""The opening line of a MyST box, which looks like a code fence but has text within; a title may follow."""
_BOX_OPTION: Final = re.compile(r"[ \t>]*:[a-z-]+:.*\s*")
_COMMENT: Final = re.compile(r"[ \t>]*(<!--|\{/\*|%%|<(?:pre|script|style)(?=[\s>]))", re.IGNORECASE)
_COMMENT_ENDS: Final = {
    "<!--": "-->",
    "{/*": "*/}",
    "%%": "%%",
    **{f"<{name}": f"</{name}>" for name in ("pre", "script", "style")},
}
"""How comments of HTML, Docusaurus (MDX) and Obsidian end, and elements with scripts, styles or code."""
_COMMENTS: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|\{/\*.*?(?:\*/\}|\Z)|%%.*?(?:%%|\Z)|<(?P<name>pre|script|style)\b.*?(?:</(?P=name)>|\Z)",
    re.IGNORECASE,
)
"""Comments within a line; an unclosed one runs to its end, so that its end is not searched for repeatedly."""
_MOST_ENDLESS: Final = 3
"""After so many unclosed blocks of one sign, the end of no further one is searched for."""
_LINK: Final = re.compile(
    r"""[ \t>]*+\[(?!\^)[^\[\]]{1,200}\]:[ \t]+                     # [name]: https://example.org "title"
        (?:<[^<>]*+>|(?:[a-z][a-z0-9+.-]{1,20}+://|mailto:|www\.|\.{0,2}/|\#[A-Za-z])[!-~]*+
          |(?:[A-Za-z0-9_-]++/)*+[A-Za-z0-9_-]++\.[a-z]{2,5}+)
        (?:[ \t]++(?:"[^"]*+"|'[^']*+'|\([^()]*+\)))?+ \s*+""",
    re.VERBOSE,
)
_LINK_BEGINS: Final = re.compile(r"[ \t>]*+\[(?!\^)[^\[\]]{1,200}\]:\s*")
_IMPORT: Final = re.compile(r"""import [\w$*{},\s]+?\sfrom\s+(?:"[^"\s]++"|'[^'\s]++');?\s*""")
"""An import in a page of Docusaurus (MDX)."""
_ALERT: Final = re.compile(r"[ \t>]*> ?\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*")
"""The kind of alert as which GitHub shows a quotation."""
_CONTENTS: Final = re.compile(r"\s*+(?:@?\[toc\]|\[\[_?toc_?\]\])\s*+", re.IGNORECASE)
"""A placeholder for which many programs insert a table of contents."""
_TIMES: Final = re.compile(r"\s*(?:[0-9]{1,3}:)?[0-9]{1,2}:[0-9]{2}[.,][0-9]{1,3}[ \t]*-->.*\s*")
"""When a subtitle is shown, and where."""
_MAY_BE_TIMES: Final = "-->"
_SUBTITLES: Final = re.compile(r"[\s\ufeff]*WEBVTT(?:[ \t].*)?\s*")
_ABOUT_ALL: Final = re.compile(r"(?:Kind|Language|Region|X-TIMESTAMP-MAP)\s*[:=].*\s*")
"""Header lines after the first line of a subtitle file."""
_LOOKS: Final = re.compile(r"Style:\s*")
"""Begins the styles in a YouTube subtitle file, which go on up to an empty line."""
_ABOUT_SUBTITLES: Final = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s.*)?", re.DOTALL)
_OF_FORMULA: Final = "$$"
_SIGN_OF_TEX: Final = re.compile(r"[\\^_=<>]")
_RULE: Final = re.compile(r"\ufeff?---\s*")
_RULE_END: Final = re.compile(r"(?:---|\.\.\.)\s*")
_KEY: Final = re.compile(r"[a-z][A-Za-z0-9_.-]*+:(?:[ \t].*)?(?<![.?!。！？])\s*")
_MATTER: Final = re.compile(rf"[ \t]*#.*\s*|[ \t]+\S.*\s*|-[ \t].*\s*|{_KEY.pattern}")
"""Any line of front matter in YAML. A key's line (`_KEY`) does not end like a sentence: that would be dialogue."""
_KEY_OF_PAGES: Final = re.compile(
    "(?:aliases|authors?|categories|date|description|draft|excerpt|id|image|keywords|lang|layout|permalink|published"
    r"|sidebar_label|sidebar_position|slug|summary|tags|title|weight):(?:[ \t].*)?\s*"
)
_MATTER_OF_PAGES: Final = re.compile(
    r"""\s*|[ \t]*\#.*\s*|[ \t]+\S.*\s*|-[ \t].*\s*|[\])}].*\s*|["']?[A-Za-z][A-Za-z0-9_. -]*+["']?:(?:[ \t].*)?\s*"""
)
"""Any line of front matter that has such a key, which rules out dialogue."""
_RULE_OF_TOML: Final = re.compile(r"\ufeff?\+\+\+\s*")
_KEY_OF_TOML: Final = re.compile(r"[A-Za-z0-9_.\"'-]++[ \t]*=.*\s*")
"""A key of the front matter in TOML with which pages of Hugo begin."""
_MOST_MATTER: Final = 200
"""The most lines that front matter may have."""


def format_lines(lines: Sequence[str]) -> list[bool]:
    """Return, for each line of a text, whether it is for programs; the time is about linear in the text's length.

    Args:
        lines: the lines with their line ends.
    """
    found = _Lines(lines)
    found.read()
    return found.kept


def has_subtitles(lines: Sequence[str]) -> bool:
    """Return whether any line says when a subtitle is shown."""
    return any(_MAY_BE_TIMES in line and _TIMES.fullmatch(line) for line in lines)


class _Lines:
    def __init__(self, lines: Sequence[str]) -> None:
        self.kept = [False] * len(lines)
        self._lines = lines
        self._subtitles = bool(lines) and _SUBTITLES.fullmatch(lines[0]) is not None
        self._endless = Counter[str]()
        """The number of unclosed blocks for each sign."""
        self._boxes = list[str]()
        """The fences of the boxes that are still open."""

    def read(self) -> None:
        place = self._end_of_header() if self._subtitles else self._end_of_matter()
        while place < len(self._lines):
            end = self._end(place) if _MAY_BE.match(self._lines[place]) else place
            self.kept[place:end] = [True] * (end - place)
            place = max(place + 1, end)

    def _end(self, place: int) -> int:
        """Return the place after the last line of a block that begins at `place`; `place` itself if none does."""
        line = self._lines[place]
        if alone := self._alone(place):
            return place + alone
        if _TIMES.fullmatch(line):
            if self._is_cue(place - 1):
                self.kept[place - 1] = True
            return place + 1
        if self._subtitles and self._follows_nothing(place) and _ABOUT_SUBTITLES.fullmatch(line):
            return next(self._where(place, lambda each: not each.strip()), len(self._lines))
        if fence := _FENCE.fullmatch(line):
            return self._end_of_fence(place, fence["fence"])
        if comment := _COMMENT.match(line):
            return self._end_of_comment(place, comment.end(), _COMMENT_ENDS[comment[1].lower()])
        return place

    def _alone(self, place: int) -> int:
        """Count the lines from `place` on that are for programs alone: two if a link's address is on the next line."""
        line = self._lines[place]
        if any(each.fullmatch(line) for each in (_LINK, _ALERT, _IMPORT, _CONTENTS, _SUBTITLES)):
            return 1
        if not _LINK_BEGINS.fullmatch(line):
            return 0
        behind = "".join(self._lines[place + 1 : place + 2]).lstrip(" \t>")
        return 2 * bool(_LINK.fullmatch(f"{line.rstrip()} {behind}"))

    def _is_cue(self, place: int) -> bool:
        """Return whether the line at `place`, before one with times, is the name of a subtitle."""
        return place >= 0 and bool(self._lines[place].strip()) and self._follows_nothing(place)

    def _follows_nothing(self, place: int) -> bool:
        return place == 0 or not self._lines[place - 1].strip()

    def _where(self, place: int, is_found: Callable[[str], object]) -> Iterator[int]:
        """Find lines after `place`."""
        return (number for number in range(place + 1, len(self._lines)) if is_found(self._lines[number]))

    def _begin_box(self, place: int, fence: str) -> int:
        """Open a box and keep its options; return `place`, since its own line may have a title to translate."""
        self._boxes.append(fence)
        end = next(self._where(place, lambda each: not _BOX_OPTION.fullmatch(each)), len(self._lines))
        self.kept[place + 1 : end] = [True] * (end - place - 1)
        return place

    def _end_of_fence(self, place: int, fence: str) -> int:
        line = self._lines[place]
        if _BOX.fullmatch(line):
            return self._begin_box(place, fence)
        if self._boxes and line.strip(" \t\r\n>") == fence and fence.startswith(self._boxes[-1]):
            self._boxes.pop()
            return place + 1
        closing = re.compile(rf"[ \t>]*{re.escape(fence[0])}{{{len(fence)},}}\s*")
        end = self._end_behind(place, fence[0], closing.fullmatch)
        return end if fence != _OF_FORMULA or _is_formula(self._lines[place + 1 : end - 1]) else place

    def _end_of_comment(self, place: int, behind: int, end: str) -> int:
        line = self._lines[place].rstrip()
        if end in line[behind:].lower():
            return place + (not has_words(_COMMENTS.sub("", line)))
        return self._end_behind(place, end, lambda each: end in each.lower())

    def _end_behind(self, place: int, sign: str, is_end: Callable[[str], object]) -> int:
        """Return the place after the line that ends a block; `place` if none does: anybody may type three signs."""
        if self._endless[sign] < _MOST_ENDLESS:
            number = next(self._where(place, is_end), None)
            if number is not None and not has_words(self._lines[number].lower().partition(sign)[2]):
                return number + 1
            self._endless[sign] += 1  # unclosed, or there are words after its end
        return place

    def _end_of_header(self) -> int:
        end = next(self._where(0, lambda each: not _ABOUT_ALL.fullmatch(each)), len(self._lines))
        if _LOOKS.fullmatch("".join(self._lines[end : end + 1])):
            end = next(self._where(end, lambda each: not each.strip()), len(self._lines))
        self.kept[:end] = [True] * end
        return end

    def _end_of_matter(self) -> int:
        if len(self._lines) < 2:
            return 0
        if _RULE_OF_TOML.fullmatch(self._lines[0]):
            matter = self._until(_RULE_OF_TOML)
            is_matter = any(map(_KEY_OF_TOML.fullmatch, matter))
        else:
            matter = self._until(_RULE_END) if _RULE.fullmatch(self._lines[0]) else []
            is_matter = _is_of_page(matter) or _is_yaml(matter)
        end = len(matter) + 2 if is_matter else 0
        self.kept[:end] = [True] * end
        return end

    def _until(self, end: re.Pattern[str]) -> Sequence[str]:
        """Return the lines between the first one and the one that closes its block; none if it is not closed."""
        last = min(len(self._lines), _MOST_MATTER)
        place = next((place for place in range(1, last) if end.fullmatch(self._lines[place])), 1)
        return self._lines[1:place]


def _is_formula(lines: Sequence[str]) -> bool:
    """Return whether the lines between two `$$`, none of them empty, are TeX; lists of restaurants have `$$`, too."""
    return all(line.strip() for line in lines) and any(map(_SIGN_OF_TEX.search, lines))


def _is_yaml(lines: Sequence[str]) -> bool:
    return bool(lines) and _KEY.fullmatch(lines[0]) is not None and all(map(_MATTER.fullmatch, lines))


def _is_of_page(lines: Sequence[str]) -> bool:
    return any(map(_KEY_OF_PAGES.fullmatch, lines)) and all(map(_MATTER_OF_PAGES.fullmatch, lines))
