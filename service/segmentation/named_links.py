"""Write out Markdown's links that are named by their own words, as `[Flask][]` is (CommonMark 0.31, section 6.3).

Their translated words would name no definition (`[Flask]: https://…`) any more, and would not be links.
"""

import re
from typing import Final

from models.text.markup import unmarked
from models.text.words import TICKED
from service.segmentation.format_lines import format_lines

_DEFINITION: Final = re.compile(
    r"""^[ \t>]*+\[(?P<name>(?!\^)[^\[\]\n]{1,200})\]:[ \t]*+\n?[ \t>]*+
        (?:<(?P<within>[^<>\s]++)>|(?P<address>[^<\s]\S*+))(?P<title>[ \t]++(?:"[^"\n]*+"|'[^'\n]*+'))?+[ \t]*+$""",
    re.VERBOSE | re.MULTILINE,
)
_LINK: Final = re.compile(
    rf"""(?P<code> {TICKED}) | (?<![\]\\]) \[ (?P<words>[^\[\]\n]{{1,200}}) \]
        (?: \[ (?P<name>[^\[\]\n]{{0,200}}) \] | (?![\[(]) )""",
    re.VERBOSE,
)


def with_addresses(text: str) -> str:
    """Return a text in Markdown in which each link that is named by its words has its address beside them.

    So has one whose name would not be told from words, as in `[PEP 8][pep]`. Those whose names have no letter, such as
    `[1.0]`, stay as they are, and so do lines for programs.
    """
    targets = _targets(text)
    if not targets:
        return text

    def written_out(found: re.Match[str]) -> str:
        target = None if found["code"] else targets.get(_key(found["name"] or found["words"]))
        stays = target is None or (found["name"] and unmarked(found[0]).pairs)
        return found[0] if stays else f"[{found['words']}]({target})"

    lines = text.splitlines(keepends=True)
    kept = format_lines(lines)
    return "".join(line if keep else _LINK.sub(written_out, line) for line, keep in zip(lines, kept, strict=True))


def _targets(text: str) -> dict[str, str]:
    """Return where the names lead to that have a letter; without addresses that are not recognised in a sentence."""
    if "]:" not in text:
        return {}
    targets = dict[str, str]()
    for found in _DEFINITION.finditer(text):
        target = f"{found['within'] or found['address']}{found['title'] or ''}"
        if any(map(str.isalpha, found["name"])) and unmarked(f"[{found['name']}]({target})").pairs:
            targets.setdefault(_key(found["name"]), target)
    return targets


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()
