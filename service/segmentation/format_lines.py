"""Lines that a text has for programs alone, although there are letters in them: they stay, and are no context.

Code between fences and in tags, comments and definitions of links in Markdown (CommonMark 0.31, sections 4.5 to 4.7),
the names of GitHub's alerts, what MyST says of boxes, what a page begins with (front matter), and all of subtitles but
what is shown (WebVTT, section 4).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from models.data.words import has_words

_MAY_BE: Final = re.compile(
    r"[ \t>\ufeff]*(?:`{3}|~{3}|\${2}|%{2}|<!--|<[PSps]|\{/\*|@?\[|WEBVTT|NOTE|STYLE|REGION|[0-9]+:|import\b)"
)
"""How most lines do not begin that are anything of this."""
_FENCE: Final = re.compile(r"[ \t>]*(?P<fence>`{3,}(?=[^`]*$)|~{3,4}(?=[ \t]*\w)|\${2}(?=\s*\Z)).*", re.DOTALL)
"""Of code, or of a formula in TeX.

Tildes without a language behind them are rules: newsletters have them around each of their parts.
"""
_BOX: Final = re.compile(
    r"[ \t>]*`{3,}\{(?:admonition|attention|caution|danger|dropdown|epigraph|error|hint|important|margin|note|seealso"
    r"|sidebar|tip|topic|warning)\}.*",
    re.DOTALL,
)
"""What begins a box of MyST, in which there is text, as if it were code; a title may follow."""
_BOX_OPTION: Final = re.compile(r"[ \t>]*:[a-z-]+:.*\s*")
_COMMENT: Final = re.compile(r"[ \t>]*(<!--|\{/\*|%%|<(?:pre|script|style)(?=[\s>]))", re.IGNORECASE)
_COMMENT_ENDS: Final = {
    "<!--": "-->",
    "{/*": "*/}",
    "%%": "%%",
    **{f"<{name}": f"</{name}>" for name in ("pre", "script", "style")},
}
"""Of HTML, of pages of Docusaurus (MDX), and of Obsidian; and elements that are for programs, or are code."""
_COMMENTS: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|\{/\*.*?(?:\*/\}|\Z)|%%.*?(?:%%|\Z)|<(?P<name>pre|script|style)\b.*?(?:</(?P=name)>|\Z)",
    re.IGNORECASE,
)
"""In a line; what is not ended goes on to its end, so that nothing is looked for again and again."""
_MOST_ENDLESS: Final = 3
"""Blocks that are begun and not ended, of one sign; behind so many none is looked for."""
_LINK: Final = re.compile(
    r"""[ ]{0,3}\[(?!\^)[^\[\]]{1,200}\]:[ \t]+                     # [name]: https://example.org "title"
        (?:<[^<>]*+>|(?:[a-z][a-z0-9+.-]{1,20}+://|mailto:|www\.|\.{0,2}/|\#[A-Za-z])[!-~]*+
          |(?:[A-Za-z0-9_-]++/)*+[A-Za-z0-9_-]++\.[a-z]{2,5}+)
        (?:[ \t]++(?:"[^"]*+"|'[^']*+'|\([^()]*+\)))?+ \s*+""",
    re.VERBOSE,
)
_LINK_BEGINS: Final = re.compile(r"[ ]{0,3}\[(?!\^)[^\[\]]{1,200}\]:\s*")
_IMPORT: Final = re.compile(r"""import [\w$*{},\s]+?\sfrom\s+(?:"[^"\s]++"|'[^'\s]++');?\s*""")
"""What a page of Docusaurus (MDX) takes from elsewhere."""
_ALERT: Final = re.compile(r"[ \t>]*> ?\[!(?:NOTE|TIP|IMPORTANT|WARNING|CAUTION)\]\s*")
"""What GitHub shows a quotation as."""
_CONTENTS: Final = re.compile(r"\s*+(?:@?\[toc\]|\[\[_?toc_?\]\])\s*+", re.IGNORECASE)
"""Where many programs put a table of contents."""
_TIMES: Final = re.compile(r"\s*(?:[0-9]{1,3}:)?[0-9]{1,2}:[0-9]{2}[.,][0-9]{3}[ \t]+-->.*\s*")
"""When a subtitle is shown, and where."""
_MAY_BE_TIMES: Final = "-->"
_SUBTITLES: Final = re.compile(r"[\s\ufeff]*WEBVTT(?:[ \t].*)?\s*")
_ABOUT_ALL: Final = re.compile(r"(?:Kind|Language|Region|X-TIMESTAMP-MAP)\s*[:=].*\s*")
"""What follows the first line of them, for programs."""
_LOOKS: Final = re.compile(r"Style:\s*")
"""YouTube has how they look behind that, up to an empty line."""
_ABOUT_SUBTITLES: Final = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s.*)?", re.DOTALL)
_OF_FORMULA: Final = "$$"
_SIGN_OF_TEX: Final = re.compile(r"[\\^_=<>]")
_RULE: Final = re.compile(r"\ufeff?---\s*")
_RULE_END: Final = re.compile(r"(?:---|\.\.\.)\s*")
_KEY: Final = re.compile(r"[a-z][A-Za-z0-9_.-]*+:(?:[ \t].*)?(?<![.?!。！？])\s*")
_MATTER: Final = re.compile(rf"[ \t]*#.*\s*|[ \t]+\S.*\s*|-[ \t].*\s*|{_KEY.pattern}")
"""A line that it may begin with, and any line of YAML; what somebody says in a scene ends as a sentence does."""
_KEY_OF_PAGES: Final = re.compile(
    "(?:aliases|authors?|categories|date|description|draft|excerpt|id|image|keywords|lang|layout|permalink|published"
    r"|sidebar_label|sidebar_position|slug|summary|tags|title|weight):(?:[ \t].*)?\s*"
)
_MATTER_OF_PAGES: Final = re.compile(
    r"""\s*|[ \t]*\#.*\s*|[ \t]+\S.*\s*|-[ \t].*\s*|[\])}].*\s*|["']?[A-Za-z][A-Za-z0-9_. -]*+["']?:(?:[ \t].*)?\s*"""
)
"""Any line beside such a key: then it is no scene."""
_RULE_OF_TOML: Final = re.compile(r"\ufeff?\+\+\+\s*")
_KEY_OF_TOML: Final = re.compile(r"[A-Za-z0-9_.\"'-]++[ \t]*=.*\s*")
"""Hugo has pages that begin with these."""
_MOST_MATTER: Final = 200
"""Lines of it."""


def format_lines(lines: Sequence[str]) -> list[bool]:
    """Whether each line of a text is for programs. Takes a time that is about linear in the length of the text.

    Args:
        lines: with their ends.
    """
    found = _Lines(lines)
    found.read()
    return found.kept


def has_subtitles(lines: Sequence[str]) -> bool:
    """Whether there are times at which something is shown."""
    return any(_MAY_BE_TIMES in line and _TIMES.fullmatch(line) for line in lines)


class _Lines:
    def __init__(self, lines: Sequence[str]) -> None:
        self.kept = [False] * len(lines)
        self._lines = lines
        self._subtitles = bool(lines) and _SUBTITLES.fullmatch(lines[0]) is not None
        self._endless = Counter[str]()
        """By their signs, blocks that were begun and not ended."""
        self._boxes = list[str]()
        """What they begin with, of those that are not ended yet."""

    def read(self) -> None:
        place = self._end_of_header() if self._subtitles else self._end_of_matter()
        while place < len(self._lines):
            end = self._end(place) if _MAY_BE.match(self._lines[place]) else place
            self.kept[place:end] = [True] * (end - place)
            place = max(place + 1, end)

    def _end(self, place: int) -> int:
        """Behind the last line of a block that begins here; here, if none does."""
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
        """How many lines from here on are for programs by themselves: two, if a link has its address in the second."""
        line = self._lines[place]
        if any(each.fullmatch(line) for each in (_LINK, _ALERT, _IMPORT, _CONTENTS, _SUBTITLES)):
            return 1
        if not _LINK_BEGINS.fullmatch(line):
            return 0
        behind = "".join(self._lines[place + 1 : place + 2])
        return 2 * bool(_LINK.fullmatch(f"{line.rstrip()} {behind.lstrip()}"))

    def _is_cue(self, place: int) -> bool:
        """Whether a line before times is the name of a subtitle."""
        return place >= 0 and bool(self._lines[place].strip()) and self._follows_nothing(place)

    def _follows_nothing(self, place: int) -> bool:
        return place == 0 or not self._lines[place - 1].strip()

    def _where(self, place: int, is_found: Callable[[str], object]) -> Iterator[int]:
        """Where lines are behind this one."""
        return (number for number in range(place + 1, len(self._lines)) if is_found(self._lines[number]))

    def _begin_box(self, place: int, fence: str) -> int:
        """Here, as its line may have a title; what says how it looks stays."""
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
        """Behind the line that ends a block; what is not ended is none, as anybody may write three signs."""
        if self._endless[sign] < _MOST_ENDLESS:
            number = next(self._where(place, is_end), None)
            if number is not None and not has_words(self._lines[number].lower().partition(sign)[2]):
                return number + 1
            self._endless[sign] += 1  # or its last line has words behind it
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
        """The lines between the first one and one that ends what it begins; none, if none does."""
        last = min(len(self._lines), _MOST_MATTER)
        place = next((place for place in range(1, last) if end.fullmatch(self._lines[place])), 1)
        return self._lines[1:place]


def _is_formula(lines: Sequence[str]) -> bool:
    """Whether lines between two `$$`, none of them empty, are in TeX: lists of restaurants have such lines, too."""
    return all(line.strip() for line in lines) and any(map(_SIGN_OF_TEX.search, lines))


def _is_yaml(lines: Sequence[str]) -> bool:
    return bool(lines) and _KEY.fullmatch(lines[0]) is not None and all(map(_MATTER.fullmatch, lines))


def _is_of_page(lines: Sequence[str]) -> bool:
    return any(map(_KEY_OF_PAGES.fullmatch, lines)) and all(map(_MATTER_OF_PAGES.fullmatch, lines))
