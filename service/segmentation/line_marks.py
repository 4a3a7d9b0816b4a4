"""Find the marks of lists, headings and boxes before and after the text of a line."""

import html
import re

from models.text.markup import unmarked
from service.segmentation.boundaries import split_as_read

_MARKS = re.compile(
    r"""
    [\s\ufeff\u200b]*                              # indentation
    (?: \{\\ [^{}]{1,80}+ \} \s* )*                # {\an8} of subtitles
    (?: (?:>[ \t]*)* > (?=\s|$) \s* )?             # > quoted
    (?: \[! [A-Za-z-]{2,20}+ \] [+-]? (?=\s|$) \s* )?   # [!note]- a box of Obsidian
    (?: \#{1,6} (?=\s|$) \s* )?                    # ## a heading
    (?: (?: \[\^ [^\[\]\s]{1,40}+ | \*\[ [^\[\]\n]{1,40}+ ) \]: \s* )?     # [^1]: a note  *[HTML]: what it is short for
    (?:
        (?: [-*+–·:●○■□◆◇▶►★☆※→⇒✓✔☐☑] (?=\s|$)      # without the space it may be part of a word or a number
          | [•‣◦▪▫]
          | [■□◆◇▶►※◎] (?![■□◆◇▶►※◎])            # ■概要, but not ■■ for what is left out
          | [●○] (?! [ぁ-ん] | .*[●○〇×])             # ●概要, but not ○月○日, ○か×か
          | [・･] (?![・･.。｡…])                    # ・・・ is an ellipsis
        ) \s*
        (?: \[[ xX]\] (?=\s|$) \s* )?              # - [x] a task
    )?
    (?:
        (?: (?P<number>[0-9]{1,3}) [.)] (?=\s|$|[^\x00-\x7f])                # 1.  2)
          | (?P<parts>[0-9]{1,4} (?:[./-][0-9]{1,4}){2,8}+) \.?                   # 2.1.1   2.1 may be an amount
            (?P<time> [T ] [0-9]{1,2}:[0-9]{2} (?: :[0-9]{2} (?:[.,][0-9]{1,6}+)? )?+ Z? )?+ (?=\s)  # 2024/05/03 10:11
          | (?:[0-9０-９]{1,3}|[ア-ン]|[一二三四五六七八九十]{1,3}) (?=\u3000)           # ２　前項の  一　寺の  of laws
          | \[ [0-9][0-9:./,TZ +-]{0,40}+ \] (?=\s)                             # [1]  [00:12:34]
          | \( (?:[0-9]{1,3}|[A-Za-z]|[ivxIVX]{2,5}|[ア-ンⅰ-ⅻ]) \) (?=\s|$|[^\x00-\x7f])   # (1)  (a)  (iv)  (ア)
          | [A-Za-z] \) (?=\s|$) | [A-Za-zＡ-Ｚａ-ｚ]）                              # a)  Ａ）
          | (?:[IVX]{2,5}|[ivx]{2,5}) [.)] (?=\s|$|[^\x00-\x7f])                # II.  iv)   I. may be an initial
          | （(?:[0-9０-９]{1,3}|[A-Za-zＡ-Ｚａ-ｚ]|[ア-ンⅰ-ⅻ]|[一二三四五六七八九十]{1,3})）  # （１）  （ア）  （一）
          | [0-9０-９]{1,3} [．）] (?![0-9０-９])                                   # １．
          | (?:[ア-ンⅠ-Ⅻⅰ-ⅻ]|[一二三四五六七八九十]{1,3}) (?:[．）]|[.)](?=\s|$|[^\x00-\x7f]))   # ア．  一．  イ）
          | [①-⒛⓪⓿❶-➓㈠-㈩㉑-㉟㊀-㊉㊱-㊿] | (?:[0-9]\ufe0f?+\u20e3)++                  # 1️⃣
        ) \s*
    )?
    """,
    re.VERBOSE,
)
"""What may stand at the beginning of a line, before its first sentence; anything else there is part of the sentence."""
_BOX = re.compile(
    r"""
    [ \t>]*+
    (?: ===[!+]?+ [ ]++ "                                                             # === "Title" of a tab
      | (?:!!!|\?\?\?\+?) [ ]++
        (?: [a-z][a-z0-9_-]*+ (?:[ ]++inline(?:[ ]end)?+)?+ [ ]++"                                # !!! note "Title"
          | (?:abstract|bug|danger|example|failure|info|note|question|quote|success|tip|warning) \s*+ \Z )
      | (?: `{3,}+ \{[a-z]++\} | :{3,}+ [ \t]*+ (?: \{[^{}\n]*+\} | [a-z][a-z0-9_-]*+ ) )                # :::note Title
        (?: \[ | [ \t]++ | \s*+ \Z ) )
    """,
    re.VERBOSE,
)
"""The beginning of a box or tab of MkDocs, Docusaurus, VitePress, MyST or Pandoc; a title may follow."""
_ATTRIBUTES = re.compile(r"\{:?\s*[#.][A-Za-z][^{}\n]{0,200}\}")
"""{#kyoto .large} after a heading, as a target for links: Pandoc, Docusaurus, Hugo; with a colon, Jekyll."""
_EXAMPLE = re.compile(r"[^\s:]::")
"""How reStructuredText ends a line before an example."""
_TAG = re.compile(r"<[^<>]*+>")
_COVER = re.compile(rf"{_TAG.pattern}|[*_]")
"""What may surround a mark: tags, or Markdown's signs for bold and italics."""
_LONGEST_COVERED = 300
"""A surrounded mark is searched for within so many characters."""
_MONTH = re.compile(r"(?:Jan|Jän|Feb|Mär|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez)")


def title_of_box(line: str) -> tuple[int, int] | None:
    """Return the start and end of the title in a line that begins a box; None for any other line."""
    found = _BOX.match(line)
    if found is None:
        return None
    title = line[found.end() :].rstrip()
    closing = {'"': '"', "[": "]"}.get(line[found.end() - 1])
    return found.end(), found.end() + len(title.removesuffix(closing) if closing else title)


def after_marks(line: str, *, ordinals: bool = False) -> int:
    """Return where the text of a line begins, after marks that may be bold or in tags, as on web pages."""
    end = _end_of_marks(line, ordinals=ordinals)
    return end + _covered(line[end:], ordinals=ordinals)


def before_attributes(line: str) -> int:
    """Return where the text of a line ends, before attributes of a heading, a backslash as line break, or a `::`."""
    text = line.rstrip()
    if _EXAMPLE.fullmatch(text[-3:]):
        return len(text) - 2
    if text.endswith("\\"):
        return len(text.rstrip("\\").rstrip())
    begin = text.rfind("{") if text.endswith("}") else -1
    return len(text[:begin].rstrip()) if begin >= 0 and _ATTRIBUTES.fullmatch(text, begin) else len(line)


def _covered(text: str, *, ordinals: bool) -> int:
    """Return where marks end that are in tags or other marks around words, or are entities (`&bull;`)."""

    def divided(read: str) -> list[str]:
        end = _end_of_marks(read, ordinals=ordinals)
        return [read[:end], read[end:]] if read[:end].strip() else [read]

    if not text.startswith(("<", "*", "_", "&")) or len(divided(_bare(text[:_LONGEST_COVERED]))) == 1:
        return 0
    marks, *others = split_as_read(text, divided)
    return len(marks) if others and _stands_apart(marks, others[0]) else 0


def _bare(text: str) -> str:
    return html.unescape(_COVER.sub("", text))


def _stands_apart(marks: str, text: str) -> bool:
    """Return whether no pair of tags or signs encloses the marks and a part of the text: it would be torn apart."""
    before, after = unmarked(marks).before, unmarked(text).after
    opened, closed = before.count("<") - before.count("/>"), after.count("</")
    return opened == closed and _TAG.sub("", before).strip() == _TAG.sub("", after).strip()


def _end_of_marks(line: str, *, ordinals: bool) -> int:
    """Return where the marks at the beginning of a line end.

    In languages with ordinals, `3. Oktober` is a date, not a list item; and `192.168.0.1 is` begins a sentence.
    """
    found = _MARKS.match(line)
    if found is None:
        return 0
    text = line[found.end() :]
    if ordinals and found["number"] and (text[:1].islower() or _MONTH.match(text)):
        return found.start("number")
    if found["parts"] and not found["time"] and text[:1].islower():
        return found.start("parts")
    return found.end()
