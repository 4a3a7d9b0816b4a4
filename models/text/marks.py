"""The marks in a text, and which of them belong together."""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from string import punctuation
from typing import Final

from models.text.words import CODE, ENCLOSED, LEADS, LINK, POWER, RAISED, SCHEME, TAG, beside

SIGNS: Final = ("<", "*", "_", "~~", "==", "](", "][", "]{", "[^", ">`", "&gt;`", *RAISED)
"""One of them is in each pair of marks, and in each mark without a partner."""
LINKS: Final = frozenset("[`")
"""Names of marks around the words of a link."""
_ADDRESS: Final = r"[!\#-'*-;=?-~\xa1-\u2fff\u3003-\U000effff]"
"""A character of one; the first has to be of ASCII: [name](かな) is no link."""
_OF_PANDOC: Final = r"""\{ (?: [.\#][A-Za-z] | [A-Za-z-]++= ) [^{}\n\U000f0000-\U0010ffff]{0,120}+ \}"""
"""What its Markdown says of text in brackets, or of a link or picture: {.smallcaps} {#name} {width=50%}"""
_TO: Final = rf"""(?:
      \( (?![^\x00-\x7f]) {_ADDRESS}++ (?: \( {_ADDRESS}*+ \) {_ADDRESS}*+ )?+   # (https://example.org/a_(b) "Title")
        (?: [ ]++ (?: "[^"\n\U000f0000-\U0010ffff]*+" | '[^'\n\U000f0000-\U0010ffff]*+' ) )?+ \) (?: {_OF_PANDOC} )?+
    | {_OF_PANDOC}
    | (?: (?<= [^\[\]] [^\[\]0-9] \]) | (?<= [A-Za-z_-] \]\]) )
      \[ [A-Za-z0-9] [^\[\]\n\U000f0000-\U0010ffff]{{0,60}}+ \]   # [name], but not [1][2]; [![picture][a]][b]
)"""
"""Where a link leads to."""
_MARK: Final = re.compile(
    rf"""
      (?P<ticked> (?: (?<![A-Za-z0-9:]) : [a-z]{{1,10}}+ : )?+ (?<![`\\]) {LINK} ` )      # `text <https://example.org>`_
    | (?P<word> {CODE} | {ENCLOSED} | {POWER} | \\[\\*_~=<\[\]] | \^\{{?+\*          # no marks, but a word
        | {SCHEME} [A-Za-z0-9/_.%:?=&\#@+,;-]*+ )
    | (?P<note> (?: (?<![A-Za-z0-9)\]\s]) | (?<=[a-z]{{4}}) )       # <sup>1</sup>, of a note; not of a power, as in km
        <sup (?:\s[^<>]*+)? > (?: <a\s[^<>]*+> )? [^<>\w]{{0,3}} [0-9]{{1,3}} [^<>\w]{{0,3}} (?: </a[^<>]*+> )?
        </sup (?:\s[^<>]*+)? >
      | <sup \s [^<>/]*+ /> )                                         # in whose place there was one
    | < (?P<closes>/?) (?P<tag>{TAG}) >
    | (?P<foot> \[\^ [^\[\]\s\U000f0000-\U0010ffff]{{1,40}}+ \]            # [^1], of a note in Markdown
      | \[ (?: \[ [0-9]{{1,3}} \] | \\\[ [0-9]{{1,3}} \\\] ) \] \( {_ADDRESS}++ \)       # [[1]](#note), of a web page
      | (?: (?<![A-Za-z0-9)\]\s{RAISED}⁺⁻₀-₉Ͱ-Ͽ㎀-㏟]) | (?<=[a-z]{{4}}) ) [{RAISED}]{{1,3}}+    # temple¹
        (?![{RAISED}⁺⁻\w]) )
    | (?P<stress> (?<!\*) \*{{1,3}} (?!\*) | (?<!_) _ (?!_) | (?<!~) ~~ (?!~)    # *a* **b** _c_ ~~d~~
      | (?<!=) == (?!=) )                                                       # ==e==
    | (?P<text> !?+ \[ )                                             # [text](https://example.org), ![picture](a.png)
        (?= (?: [^\[\]\n]++ | \[ [^\[\]\n]*+ \] )*+ \] {_TO} )   # [text [1]](a.html), [![picture](a.png)](b.html)
    | \] {_TO}
    | (?P<leads> (?<!\s) {LEADS} _{{0,2}}+ )
    """,
    re.VERBOSE | re.ASCII,
)
_FOR_THE_EYE: Final = re.compile(
    "a|abbr|address|article|aside|b|bd[io]|big|blockquote|bpt|br|bx|caption|center|cite|code|dd|del|details|dfn|div"
    "|d[lt]|em|ept|ex|fig(?:caption|ure)|font|footer|g|h[1-6r]|header|i|img|ins|it|kbd|li|main|mark|mrk|nav|ol|p"
    "|picture|q|r[bpt]|ruby|s|samp|section|small|span|strike|strong|su[bp]|summary|table|tbody|t[dhr]|tfoot|thead|tt|u"
    "|ul|v|var|wbr|lang|[0-9]+:[0-9:]+"
)
"""Elements of HTML, subtitles and translation memories that are no words, as <name> and <x id="1"/> may be."""
_LONGEST_FACE: Final = 10
"""Characters between signs that may be part of one."""
_DEEPEST: Final = 16
"""How many marks that are still open are looked at for the one that another closes."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A mark in a text: marks of one name belong together."""

    begin: int
    end: int
    text: str
    name: str
    opens: bool
    closes: bool
    says: bool = False
    """Whether it is a word of the sentence, unless another one closes it."""

    @property
    def is_tag(self) -> bool:
        """Whether it may do without a partner."""
        return self.text.startswith(("<", "[^", "[[", "[\\", *RAISED))


@dataclass(frozen=True, slots=True)
class Marks:
    """Those of a text, in its order, and by their numbers what they are to a model that reads it without them."""

    marks: Sequence[Mark]
    partners: Mapping[int, int]
    """What opens, with what closes it."""
    before: Sequence[int] = ()
    """Without a partner, and with nothing but white space between them and the beginning of the text."""
    after: Sequence[int] = ()
    """The same at the end."""
    between: Sequence[int] = ()
    """Tags without a partner between words, unless they are words themselves."""

    @classmethod
    def of(cls, text: str) -> "Marks":
        """Find them. Takes a time that is linear in the length of the text, as all does here."""
        marks = [_mark(found) for found in _MARK.finditer(text) if found["word"] is None]
        partners = _around_words(text, marks, _partners(marks))
        paired = {number for both in partners.items() for number in both}
        before = list(_at_beginning(text, marks, paired))
        after = list(_at_end(text, marks, paired.union(before)))
        placed = paired.union(before, after)
        between = [
            number for number, mark in enumerate(marks) if number not in placed and mark.is_tag and not mark.says
        ]
        return cls(marks, partners, before, after, between)

    @property
    def paired(self) -> list[int]:
        """Those with a partner."""
        return [number for both in self.partners.items() for number in both]

    @property
    def unread(self) -> list[int]:
        """All of those that are not read, in the order of the text."""
        return sorted([*self.paired, *self.before, *self.after, *self.between])

    def closes(self, number: int) -> bool:
        """Whether it belongs to what is before it."""
        return self.marks[number].closes and number not in self.partners

    def text(self, numbers: Iterable[int]) -> str:
        """Marks, in the order of the text."""
        return "".join(self.marks[number].text for number in sorted(numbers))

    def places(self) -> dict[int, int]:
        """Where each that is not read stands in the text without all of those."""
        places, taken = {}, 0
        for number in self.unread:
            mark = self.marks[number]
            places[number] = mark.begin - taken
            taken += mark.end - mark.begin
        return places

    def without(self, text: str) -> str:
        """The text without those that are not read."""
        unread = [self.marks[number] for number in self.unread]
        ends, begins = [0, *(mark.end for mark in unread)], [*(mark.begin for mark in unread), len(text)]
        return "".join(text[start:end] for start, end in zip(ends, begins, strict=True))


def _partners(marks: Sequence[Mark]) -> dict[int, int]:
    """What opens, by its number, with what closes it; what is open within a pair that is closed stays without."""
    partners: dict[int, int] = {}
    still_open: list[int] = []
    for number, mark in enumerate(marks):
        near = range(len(still_open) - 1, max(-1, len(still_open) - 1 - _DEEPEST), -1)
        place = next((k for k in near if marks[still_open[k]].name == mark.name), None) if mark.closes else None
        if place is not None:
            partners[still_open[place]] = number
            del still_open[place:]
        elif mark.opens:
            still_open.append(number)
    return partners


def _around_words(text: str, marks: Sequence[Mark], partners: Mapping[int, int]) -> dict[int, int]:
    """Without pairs of signs that have no letter between them: they make a face, *_* or (^_^)."""
    return {
        number: other
        for number, other in partners.items()
        if marks[number].is_tag
        or marks[number].name in LINKS
        or marks[other].begin - marks[number].end > _LONGEST_FACE
        or any(map(str.isalnum, text[marks[number].end : marks[other].begin]))
    }


def _at_beginning(text: str, marks: Sequence[Mark], paired: Container[int]) -> Iterable[int]:
    edge = 0
    for number, mark in enumerate(marks):
        stays = mark.says or not (mark.is_tag or mark.opens)
        if number in paired or stays or text[edge : mark.begin].strip():
            break
        edge = mark.end
        yield number


def _at_end(text: str, marks: Sequence[Mark], paired: Container[int]) -> Iterable[int]:
    """From the last one on; what follows a full stop is no word of the sentence."""
    edge = len(text)
    for number in range(len(marks) - 1, -1, -1):
        mark = marks[number]
        says = mark.says and text[max(0, mark.begin - 2) : mark.begin].rstrip()[-1:].isalnum()
        stays = says or not (mark.is_tag or mark.closes)
        if number in paired or stays or text[mark.end : edge].strip():
            break
        edge = mark.begin
        yield number


def _mark(found: re.Match[str]) -> Mark:
    if found["tag"] is not None:
        return _tag(found)
    if found["note"] is not None or found["foot"] is not None:
        return Mark(*found.span(), found[0], "<sup", opens=False, closes=True)  # a name that no tag has
    if found["stress"] is not None:
        return Mark(*found.span(), found[0], found[0], *_flanks(found), says=found[0] == "_")  # of _name, too
    if found["ticked"] is not None or found["leads"] is not None:
        opens = found["ticked"] is not None
        return Mark(*found.span(), found[0], "`", opens, not opens)
    opens = found["text"] is not None
    return Mark(*found.span(), found[0], "[", opens, not opens)


def _tag(found: re.Match[str]) -> Mark:
    tag, closes = found["tag"], bool(found["closes"])
    bare, alone = tag.rstrip("/").rstrip(), tag.endswith("/")
    words = bare.split(maxsplit=1)
    written = words[0].split(".", 1)[0]  # </c> closes <c.yellow>
    name = written.lower()
    for_the_eye = _FOR_THE_EYE.fullmatch(name if len(name) > 1 else written)  # <A> and <B> may be names of anything
    apart = not any(character.isascii() and character.isalnum() for character in beside(found))
    says = apart and not closes and not for_the_eye and (alone or len(words) == 1)
    return Mark(*found.span(), found[0], name, not closes and not alone, closes, says)


def _flanks(found: re.Match[str]) -> tuple[bool, bool]:
    """Whether signs open and close, as in CommonMark, section 6.2; not those between letters or digits: 2**3, a_b.

    One asterisk, and two tildes, open nothing behind a letter of any language, where they are arithmetic, or a drawl.
    In languages without spaces, letters are beside marks: CommonMark sees none in **{name}**さん, but its writer does.
    """
    before, after = beside(found)
    if before.isascii() and after.isascii() and before.isalnum() and after.isalnum():
        return False, False
    spaces = [not character.strip() for character in (before, after)]
    signs = [character in punctuation for character in (before, after)]
    opens = not spaces[1] and (not signs[1] or spaces[0] or signs[0] or not before.isascii())
    closes = not spaces[0] and (not signs[0] or spaces[1] or signs[1] or not after.isascii())
    if found[0] == "_":  # no mark between letters of any language, nor beside other signs than a full stop
        return opens and not closes and after.isalnum(), closes and not opens and not before.isspace()
    if found[0] in {"*", "~~"}:
        return opens and not before.isalnum(), closes and (before.isalnum() or not after.isalnum())
    return opens, closes
