"""Lines that a text has for programs alone, although there are letters in them: they stay, and are no context.

Code between fences, comments and definitions of links in Markdown (CommonMark 0.31, sections 4.5 to 4.7), what a page
begins with (front matter), and all of subtitles but what is shown (WebVTT, section 4).
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

_MAY_BE: Final = re.compile(r"[ \t>\ufeff]*(?:`{3}|~{3}|<!--|\[|WEBVTT|NOTE|STYLE|REGION|[0-9]+:)")
"""How most lines do not begin that are anything of this."""
_FENCE: Final = re.compile(r"[ \t>]*(?P<fence>`{3,}(?=[^`]*$)|~{3,}).*", re.DOTALL)
_COMMENT: Final = re.compile(r"[ \t>]*<!--")
_COMMENT_END: Final = "-->"
_LINK: Final = re.compile(
    r"""[ ]{0,3}\[(?!\^)[^\[\]]{1,200}\]:[ \t]+                     # [name]: https://example.org "title"
        (?:<[^<>]*>|[!-~]*[/\#][!-~]*) (?:[ \t]+(?:"[^"]*"|'[^']*'|\([^()]*\)))? \s*""",
    re.VERBOSE,
)
_TIMES: Final = re.compile(r"\s*(?:[0-9]{1,3}:)?[0-9]{1,2}:[0-9]{2}[.,][0-9]{3}[ \t]+-->.*\s*")
"""When a subtitle is shown, and where."""
_SUBTITLES: Final = re.compile(r"[\s\ufeff]*WEBVTT(?:[ \t].*)?\s*")
_ABOUT_SUBTITLES: Final = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s.*)?", re.DOTALL)
_RULE: Final = re.compile(r"\ufeff?---\s*")
_RULE_END: Final = re.compile(r"(?:---|\.\.\.)\s*")
_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*:(?:\s.*)?", re.DOTALL)
_MATTER: Final = re.compile(rf"\s*|[ \t]*#.*|[ \t]+.*|-[ \t].*|{_KEY.pattern}", re.DOTALL)
"""A line of YAML, and one that it may begin with."""
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


class _Lines:
    def __init__(self, lines: Sequence[str]) -> None:
        self.kept = [False] * len(lines)
        self._lines = lines
        self._subtitles = bool(lines) and _SUBTITLES.fullmatch(lines[0]) is not None
        self._endless: dict[str, int] = {}
        """Signs that end no block behind those that were read, and the fewest of them that do not."""

    def read(self) -> None:
        place = self._end_of_matter()
        while place < len(self._lines):
            end = self._end(place) if _MAY_BE.match(self._lines[place]) else place
            self.kept[place:end] = [True] * (end - place)
            place = max(place + 1, end)

    def _end(self, place: int) -> int:
        """Behind the last line of a block that begins here; here, if none does."""
        line = self._lines[place]
        if _LINK.fullmatch(line) or _SUBTITLES.fullmatch(line):
            return place + 1
        if _TIMES.fullmatch(line):
            if self._is_cue(place - 1):
                self.kept[place - 1] = True
            return place + 1
        if self._subtitles and self._follows_nothing(place) and _ABOUT_SUBTITLES.fullmatch(line):
            return next(self._where(place, lambda each: not each.strip()), len(self._lines))
        if fence := _FENCE.fullmatch(line):
            return self._end_of_fence(place, fence["fence"])
        if _COMMENT.match(line):
            return self._end_of_comment(place)
        return place

    def _is_cue(self, place: int) -> bool:
        """Whether a line before times is the name of a subtitle."""
        return place >= 0 and bool(self._lines[place].strip()) and self._follows_nothing(place)

    def _follows_nothing(self, place: int) -> bool:
        return place == 0 or not self._lines[place - 1].strip()

    def _where(self, place: int, is_found: Callable[[str], object]) -> Iterator[int]:
        """Where lines are behind this one."""
        return (number for number in range(place + 1, len(self._lines)) if is_found(self._lines[number]))

    def _end_of_fence(self, place: int, fence: str) -> int:
        closing = re.compile(rf"[ \t>]*{fence[0]}{{{len(fence)},}}\s*")
        return self._end_behind(place, fence[0], len(fence), closing.fullmatch)

    def _end_of_comment(self, place: int) -> int:
        line = self._lines[place].rstrip()
        if _COMMENT_END in line:
            return place + line.endswith(_COMMENT_END)
        return self._end_behind(place, _COMMENT_END, 1, lambda each: _COMMENT_END in each)

    def _end_behind(self, place: int, sign: str, count: int, is_end: Callable[[str], object]) -> int:
        """Behind the line that ends a block; what is not ended is none, as anybody may write three signs."""
        if count < self._endless.get(sign, count + 1):
            for number in self._where(place, is_end):
                return number + 1
            self._endless[sign] = count
        return place

    def _end_of_matter(self) -> int:
        if len(self._lines) < 2 or not (_RULE.fullmatch(self._lines[0]) and _KEY.fullmatch(self._lines[1])):
            return 0
        for place in range(1, min(len(self._lines), _MOST_MATTER)):
            if _RULE_END.fullmatch(self._lines[place]):
                self.kept[: place + 1] = [True] * (place + 1)
                return place + 1
            if not _MATTER.fullmatch(self._lines[place]):
                break
        return 0
