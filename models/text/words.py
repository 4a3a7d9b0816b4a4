"""Whether a text says anything, and what in it is for programs, or for the eye."""

import re
import unicodedata
from typing import Final

from models.text.identifiers import IDENTIFIER, may_identify
from models.text.program_names import PROGRAM_NAME, may_name

ENTITY: Final = r"&(?: \# (?: [xX]0{0,8}+[0-9A-Fa-f]{1,6} | 0{0,8}+[0-9]{1,7} ) | [A-Za-z][A-Za-z0-9]{1,30} );"
"""A character of HTML or XML: &amp; &#38; &#x26;"""
_GOES_ON: Final = rf"(?! (?!&amp;) {ENTITY} | &amp; (?![A-Za-z0-9/=\#_~+$%-]) )"
"""Not where a page has > or a quotation mark behind an address, as an entity."""
SCHEME: Final = r"(?: (?i:https?|ftp) | (?<![A-Za-z0-9]) [A-Za-z][A-Za-z0-9+.-]{1,20}+ ) ://"
"""What addresses begin with."""
ADDRESS: Final = rf"""
      < (?: {SCHEME} | (?i:mailto:)?+ [A-Za-z0-9._%+-]++ @ ) [!-;=?-~]++ >              # <https://example.org>
    | (?: {SCHEME} | (?<![A-Za-z0-9]) (?i:www)\. )                                # https://example.org/a_(b)
      (?: \([!\#-'*-;=?-~]*+\) | {_GOES_ON} [!\#-'*-;=?-~] )*
      (?: \([!\#-'*-;=?-~]*+\) | {_GOES_ON} [A-Za-z0-9/=\#_~&+$%-] )
      (?: (?<=[/=_\#-]) (?![ぁ-ん])                                   # …/wiki/紫式部, if white space says where it ends
          (?: {_GOES_ON}
           (?: [^\x00-\x7f\u3000、。，．「」『』（）【】［］！？…\U000f0000-\U0010ffff]
             | [A-Za-z0-9/=\#_~&+$%.-] ) ){{1,80}}+
          (?= [\s\u3000)\]>"'&] | \Z ) )?
    | (?<![A-Za-z0-9._%+-]) [A-Za-z0-9._%+-]++ @ [A-Za-z0-9-]++ (?:\.[A-Za-z0-9-]++)++   # of mail
      (?: : [A-Za-z0-9_~-]++ (?: / (?: [A-Za-z0-9_~-] | \. (?=[A-Za-z0-9]) )++ )++ )?+   # git@example.org:name/a.git
"""
"""Without the marks of the sentence around it. Takes a time that is linear in the text's length, as all of these do."""
TAG: Final = r"""
      (?: v (?:\.[A-Za-z0-9_.]++)? \s++ (?=[A-Z]|[^\x00-\x7f]|[a-z][a-z0-9_-]*+>)          # of subtitles
          [^<>\n\U000f0000-\U0010ffff]{1,80}+
        | lang \s++ [A-Za-z0-9-]++
        | (?: (?i:a|audio|button|details|dialog|fieldset|form|iframe|img|input|ol|optgroup|option|script|select|table
                |t[dh]|textarea|track|video) (?=\s)                                   # <input disabled>
            | [A-Za-z0-9][A-Za-z0-9_.:-]*+ (?!\s++[A-Za-z]++[\s/>]) )                 # <br/> </b> <g id="1"> <Link> <0>
          (?: \s++ [A-Za-z0-9.:@_-]++ \s*+=\s*+ (?: "[^"<]*+" | '[^'<]*+' | (?:[^\s"'<>`/]|/(?!>))++ )
            | \s++ (?i:allowfullscreen|async|autofocus|autoplay|checked|compact|controls|default|defer|disabled|download
                      |hidden|inert|ismap|loop|multiple|muted|noshade|novalidate|nowrap|open|readonly|required|reversed
                      |selected) (?=[\s/>]) )*+
          \s*+ /?+ )
"""
"""What is between < and >, or </ and >."""
CODE: Final = (
    r"< (?P<element>(?i:code|kbd|samp|tt|var)) (?:\s[^<>]*+)? > [^<>\U000f0000-\U0010ffff]{1,200}+"
    r" </(?i:(?P=element))>"
)
"""What HTML has for words of a program: <code>ls -l</code>."""
_NAME: Final = r"[^`<>&\n\U000f0000-\U0010ffff]"
LEADS: Final = (
    rf"""[ ]++ (?: < (?: {_NAME} | & ){{1,300}}+ > | &lt; (?: {_NAME} | &(?!gt;) ){{1,300}}+ &gt; ) ` (?!`)"""
)
"""What is behind the words of a link of reStructuredText, but for _ or __."""
_LINK: Final = rf"` (?![`\s]) (?: [^`<>&\s\U000f0000-\U0010ffff] | &(?!lt;) | [ ]++(?!<|&lt;|`) ){{1,200}}+ {LEADS}"
LINK: Final = rf"""(?<![A-Za-z0-9]) (?= {_LINK} _{{0,2}} (?![A-Za-z0-9_]) ) (?:
      (?= {_LINK} _ ) | (?<= :(?:any|doc|ref): ) | (?<= :term: ) | (?<= :numref: ) | (?<= :download: ) )"""
"""Before the tick of a link with words, `text <https://example.org>`_ or :doc:`text <name>` of reStructuredText."""
TICKED: Final = (
    r"""
      (?: (?<![A-Za-z0-9:]) : [a-z0-9_+-]{1,20}+ (?: :[a-z0-9_+-]{1,20}+ ){0,2}+ : (?=`)       # :ref:`name` of reST
        | (?<![A-Za-z0-9_]) _ (?=`) )?+
      """
    rf"(?=`) (?! {LINK} )"
    r"""
      (?<![`\\]) (?P<ticks>`{1,2}) (?![`\s])
      (?: [^`\n\U000f0000-\U0010ffff]{1,80}+ | [^`\n\U000f0000-\U0010ffff]{1,400}+ (?:(?<=>)|(?<=&gt;)) )
      (?<!\s) (?P=ticks) (?!`)
      (?: _{1,2} (?![A-Za-z0-9_]) )?+                                             # `text`_ `<https://example.org>`__
"""
)
"""What Markdown and reStructuredText have for them: `code`, but not `one' `other'."""
REFERENCE: Final = r"""
      (?<![^\s("'\u0080-\U0010ffff]) \| [A-Za-z][A-Za-z0-9_.-]{0,40}+ \|                          # |version|
      (?: _{1,2} (?![A-Za-z0-9_]) )?+ (?! [A-Za-z0-9|] | \s*+ \| )
    | \[ (?: [0-9]{1,3} | \#[A-Za-z0-9_-]*+ | \* | [A-Za-z][A-Za-z0-9_.-]{1,40}+ ) \]_ (?![A-Za-z0-9_])   # [1]_
"""
"""What reStructuredText replaces, and how it refers to notes."""
_IN_FORMULA: Final = r"""(?:
      [^\\\n^_=]{1,2} (?=\\)
    | [^\\\n^_=]{0,80}+ (?: [\^_=] | \\[A-Za-z] ) (?: [^\\\n\U000f0000-\U0010ffff] | \\[^()\[\]\n] ){0,200}+ )"""
"""What TeX has between \\( and \\), where Markdown may have words that only happen to be in brackets."""
RAISED: Final = "⁰¹²³⁴⁵⁶⁷⁸⁹"
MYRIADS: Final = "万萬億亿兆만억조"
"""What Japanese, Chinese and Korean count in behind digits, where English says million and billion."""
_FRACTIONS: Final = "¼½¾⅓⅔⅕⅖⅗⅘⅙⅛⅜⅝⅞"
_SQUARES: Final = "㎟㎠㎡㎢㎣㎤㎥㎦"
"""What normalisation makes other numbers of: 10⁶ is 106 then, 1½ is 11⁄2, and of 25㎢ models make 25 and 2 km."""
_UNIT: Final = "(?:[cdkm]?m|ft|in|mi|yd)"
_SUP: Final = r"<(?i:sup)(?:\s[^<>]*+)?> {} </(?i:sup)>"
_AREA: Final = rf"(?: [{_SQUARES}] | {_UNIT} (?: [²³] | [23] (?![0-9]) | {_SUP.format('[23]')} ) (?![A-Za-z]) )"
"""Or a volume."""
HASHTAG: Final = r"(?<![A-Za-z0-9&\#/]) \# (?![0-9_]) [A-Za-z0-9_À-ÖØ-öø-ɏЀ-ӿ々〆ぁ-ゖァ-ヺー一-龠가-힣]{1,100}+"
"""What posts are found by: #kyoto #京都"""
_TEN: Final = rf"(?<![0-9.,]) 10 {_SUP.format('[-+−–]?[0-9]{1,3}')}"
POWER: Final = (
    rf"(?: {_TEN} | (?: [0-9０-９][ ]?+ | [十百千{MYRIADS}/／] ) {_UNIT} {_SUP.format('[23]')} (?![A-Za-z]) )"
)
"""What HTML has for 10⁶ and km²; other raised numbers may be those of notes."""
_FORM: Final = r"[-+0\#',]*+ (?:\*|[0-9]*+) (?:\.(?:\*|[0-9]++))? (?:ll?|hh?|[jLtz])?"
"""Between the % and the last letter of a placeholder of printf."""
ENCLOSED: Final = (
    r"""
      \{\{\{ [^{}\n\U000f0000-\U0010ffff]{1,120}+ \}\}\}                            # {{{name}}}
    | [$%\#]? \{\{ [^{}\n\U000f0000-\U0010ffff]{1,120}+ \}\}                        # {{ name | upper }}
    | \{ \s*+ [A-Za-z0-9_]++ \s*+ , \s*+ (?:choice|plural|select|selectordinal) \s*+ ,   # of ICU, with all it may say
      (?: [^{}]{1,400}+ | \{ (?: [^{}]{1,400}+ | \{ [^{}]{0,80}+ \} ){0,20}+ \} ){1,20}+ \}
    | \{%-? (?: [^%{}\n\U000f0000-\U0010ffff] | %(?!\}) ){1,120}+ %\}                 # {% if name %}, of Jinja
    | <%=? [^%<>\n\U000f0000-\U0010ffff]{1,80}+ %> | <!-- [^\n\U000f0000-\U0010ffff]{0,400}? -->
    | """
    rf"{TICKED}"
)
"""Code, comments, and what a program fills in, with all that may be between their signs, tags and bold words, too."""
PLACEHOLDER: Final = (
    rf"""
      {ENCLOSED}
    | {REFERENCE}
    | {HASHTAG}
    | (?<![0-9.,]) [0-9]++ (?:[.,][0-9]++)*+ [⁻{RAISED}]++ (?!\w)                              # 10⁶
    | {_TEN}                                                                                # 10<sup>6</sup>
    | (?<![0-9]) (?:[0-9]++[ ]?+)?+ [{_FRACTIONS}]                                            # 1½
    | (?: (?<![十百千{MYRIADS}.,．，0-9０-９]) [0-9０-９]++ (?:[.,．，][0-9０-９]++)*+ [ ]?+         # 25㎢ 25 km²
      | (?<=[十百千{MYRIADS}0-9０-９/／]) ) {_AREA}                                          # 250/km2 1万5000㎡
    | """
    r"""
      [$%\#]? \{ \s*+ \$?+ [A-Za-z0-9_.-]*+                                      # {name} ${name} %{name} {0} {} {$NAME}
      (?: \[ [A-Za-z0-9_"'.-]{1,40}+ \] | \(\) | \.[A-Za-z_][A-Za-z0-9_]*+ )*+
      (?: ,-?[0-9]{1,3}+ )?+ (?: ![rsa] )?+ (?: :[!-z|~]{0,40}+ )?+ \s*+ \}          # {0,-10:N2} {name!r} {price:,.2f}
    | \{ \s*+ [A-Za-z0-9_]++ \s*+ , \s*+ (?:date|duration|list|number|ordinal|spellout|time) \s*+   # {day, date}
      (?: , [^{}\n\U000f0000-\U0010ffff]{1,80}+ )?+ \}
    | \{ '[^'{}\n\U000f0000-\U0010ffff]{1,40}+' \}                                 # {'@'}, of Vue
    | @ (?:\.[a-z]++)?+ : (?: [A-Za-z0-9_]++ (?:[.-][A-Za-z0-9_]++)*+              # @:name @.upper:name.of.a.text
      | \{'[^'{}\n\U000f0000-\U0010ffff]{1,80}+'\} | \([A-Za-z0-9_.-]{1,80}+\) )
    | \$t\( [^()\n\U000f0000-\U0010ffff]{1,120}+ \)                                # $t(name), of i18next
    | (?<![A-Za-z0-9$]) \$ [A-Za-z][A-Za-z0-9_@]*+ \$ (?![A-Za-z0-9$])             # $NAME$
    | \{\\ [^{}\n]{1,80}+ \}                                                        # {\an8}, of subtitles
    | (?<![0-9]) % [A-Za-z_][A-Za-z0-9_.-]++ % (?![A-Za-z0-9])                        # %name%
    | (?<![0-9]) %% [A-Za-z_][A-Za-z0-9_.-]++ %% (?![A-Za-z0-9])                      # %%name%%
    | """
    rf"""
      % (?: \([A-Za-z_][A-Za-z0-9_]*+\) | [0-9]++\$ ) {_FORM} (?:[A-Za-z]|@(?![A-Za-z_]))   # %(name)s %1$s
    | % {_FORM} [sdifnuxXcrgeq@] (?![A-Za-z])                                         # %s %d %.2f %-*s
    | (?<![0-9]) % {_FORM} (?: [A-Za-z@] (?![A-Za-z0-9])                              # %H:%M, but not 50%a
      | [sdu] (?=[A-Z]) | [df] (?=(?:[hmsx]|ms|p[tx])(?![A-Za-z]))                         # %sBE %dx%d %.1fs
      | (?:<|&lt;) PRI[A-Za-z0-9]++ (?:>|&gt;) )                                              # %<PRIu32>
    | """
    r"""
      (?<![^\s("'\[|\u0080-\U0010ffff]) : [a-z][a-z0-9_]{1,40}+ :?+ (?![A-Za-z0-9:])      # :name, of Laravel; :smile:
    | (?<![A-Za-z0-9$\\]) \$ (?=[^\s$] [^$\n]{0,120}? [\\^_=])                     # $x^2$, of TeX
      [^$\n\U000f0000-\U0010ffff]{3,200}+ (?<!\s) \$ (?![A-Za-z0-9$])
    | (?: (?<![A-Za-z]) [A-Z]{1,3} (?=\$) )?+                                   # HK$500
      [$¥￥£\u20a0-\u20c0] [ ]?+ [0-9０-９]++ (?: [.,．，] [0-9０-９]++ )*+           # $5.99, but not $2 million
      (?! [A-Za-z] | [ -]?+ (?:thousand|million|billion|trillion) | [千천""" + MYRIADS + r"""] )
    | (?<![0-9０-９A-Za-z.,．，]) [0-9０-９]++ (?: [.,．，] [0-9０-９]++ )*+ [ ]?+ [£\u20a0-\u20c0] (?![0-9])   # 20 €
    | \$\$ (?=[^$\n]{0,120}? [\\^_=]) [^$\n\U000f0000-\U0010ffff]{3,200}+ \$\$         # $$x^2$$
    | (?<![A-Za-z0-9]) (?: [0-9][0-9.,]{0,8}+ [ ] (?=[A-Za-z]) )?+                   # H~2~O 5 m^2^ 10^-3^, of Pandoc
      (?: [A-Za-z0-9]{1,12}+ (?: (?<![0-9]) ~(?:[0-9+-]{1,3}|[a-z])~ | \^(?:[0-9+-]{1,4}|[a-z])\^ ) ){1,6}+
      [A-Za-z0-9]{0,12}+
    | [\[\]] (?:[0-9]{1,9}|\*|-Inf) ,[ ]?+ (?:[0-9]{1,9}|\*|\+?Inf) [\[\]]      # [1,19] of Laravel, ]1,Inf[ of Symfony
    | % (?:[0-9]++\$)?+ \#@ [A-Za-z_][A-Za-z0-9_]*+ @                                # %#@name@, of Apple
    | %% | (?<![0-9]) % L? [1-9][0-9]?+ (?![A-Za-z0-9%])                            # %1 %L1, of Qt
    | &lt;/? [A-Za-z0-9][A-Za-z0-9_.:-]*+ \s*+ /?+ &gt;                             # a tag that is spoken of
    | (?<![A-Za-z0-9._%+/@-]) @ [A-Za-z_][A-Za-z0-9_]*+ (?:[./@-][A-Za-z0-9_]++)*+   # @name @user@host.org @scope/name
    | _{3,}+ | ＿{2,}+                                                                # to be filled in by hand
    | \[ -?@[A-Za-z0-9_] [^\[\]\n\U000f0000-\U0010ffff]{0,120}+ \] (?!\()                # [@name, p. 3], of Pandoc
    | (?<![A-Za-z0-9&\#/]) \# [0-9]++ (?![A-Za-z0-9_])                                # of an issue: #123
    """
    rf"| \\\( {_IN_FORMULA} \\\) | \\\[ {_IN_FORMULA} \\\] | {CODE} | </? {TAG} > | {PROGRAM_NAME} | {IDENTIFIER}"
)
_SIGNS: Final = (
    *("://", "www.", "WWW.", "@", "#", "{", "%", "$", "`", "<", "&lt;", ":", "[", "~", "^", "|", "\\("),
    *"¥￥£€₩₹₽₫₱₺₪₴₿",
    *("＿＿", "m2", "m3", *RAISED, *_FRACTIONS, *_SQUARES),
)
"""One of them is in each address and each placeholder, but for names and blanks."""
PICTURES: Final = (
    r"\u2600-\u266c\u2670-\u2775\u2794-\u27bf\u2b00-\u2bff\U0001f000-\U0001faff\ue000-\uf8ff\U000f0000-\U0010ffff"
)
"""Emoji and other pictures, also of fonts of their own, for a set of a regular expression; not 〇〇寺, ♭, ♯."""

_OF_REST: Final = re.compile(r"(?::[a-z][^`]*+|_)`.*`_*+|`.*`_++|``.*``|\|[^|]*+\|_*+|\[[^\[\]]*+\]_")
_ADDRESS: Final = re.compile(ADDRESS, re.VERBOSE | re.ASCII)
_PICTURE: Final = r"!\[\]\( [!\#-'*-;=?-~]++ \)"
"""One that Markdown has no words for: ![](a.png)"""
_NO_WORDS: Final = re.compile(f"{ADDRESS}|{PLACEHOLDER}|{ENTITY}|{_PICTURE}", re.VERBOSE | re.ASCII)
"""What has letters for programs alone."""

_MAY_BE_LETTER: Final = re.compile(r"([^\W\d_])\1*+")
"""Quickly past digits, and past one letter over and over, of which a document may have megabytes."""
_LETTERS: Final = frozenset({"Lu", "Ll", "Lt", "Lo"})


def has_words(text: str) -> bool:
    """Whether there is something to translate: a letter, not only numbers, punctuation and symbols such as emoji.

    A model that is given a date, an amount or a lone full stop makes up what they might have stood in. A letter that
    only modifies others says nothing alone: ーーーー is a rule. Nor do the letters of addresses, tags and placeholders.
    """
    if _may_have_no_words(text):
        text = _NO_WORDS.sub(" ", text)
    return any(unicodedata.category(found[1]) in _LETTERS for found in _MAY_BE_LETTER.finditer(text))


def may_have_verbatim(text: str) -> bool:
    """Whether there may be an address or a placeholder; quick to say that there is none."""
    return any(sign in text for sign in _SIGNS) or may_name(text) or may_identify(text)


def _may_have_no_words(text: str) -> bool:
    return "&" in text or "![](" in text or may_have_verbatim(text)


def inside_verbatim(text: str) -> set[int]:
    """The places of a text that are within an address or a placeholder, and not at its edge."""
    if not _may_have_no_words(text):
        return set()
    return {at for found in _NO_WORDS.finditer(text) for at in range(found.start() + 1, found.end())}


def is_address(text: str) -> bool:
    """Whether a text begins with one."""
    return _ADDRESS.match(text) is not None


def stands_apart(text: str) -> bool:
    """Whether letters beside a text would become part of it: of an address, or of what reStructuredText marks."""
    return is_address(text) or _OF_REST.fullmatch(text) is not None


def beside(found: re.Match[str]) -> tuple[str, str]:
    """The characters before and after what was found in a text; none at its ends."""
    text, start, end = found.string, found.start(), found.end()
    return text[max(0, start - 1) : start], text[end : end + 1]
