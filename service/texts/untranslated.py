"""What an element of HTML says in its own attributes: that it is not to be translated, or has the code of a program."""

import re
from typing import Final

_ATTRIBUTE: Final = re.compile(
    r"""[\s"'/]([^\s"'<>/=]++)\s*+=\s*+(?: "([^"]*+)" | '([^']*+)' | ([^\s"'>]++) )""",
    re.VERBOSE | re.DOTALL | re.IGNORECASE,
)
_BLOCK: Final = r"""
      (?:mw-)? highlight (?:er)? (?:-.+)?
    | (?:wp-block-)? (?:source-?)? code (?:-?(?:block|example|listing|sample|snippet))?
    | chroma | codehilite | hljs | literal-block
"""
_AROUND: Final = re.compile(_BLOCK, re.VERBOSE)
_ITSELF: Final = re.compile(
    rf"""
      {_BLOCK}
    | console | doctest(?:-block)? | prettyprint | programlisting | rouge | screen | shell | (?:small)?(?:example|lisp)
    | synopsis | syntaxhighlighter-pre | terminal | verbatim
    | (?:brush|lang|language) [-:] .*
    | bash | c | cpp | css | go | html | java | javascript | js | json | php | python | ruby | rust | sh | sql
    | toml | xml | ya?ml
    """,
    re.VERBOSE,
)
"""Classes of a `<pre>`, as written by Sphinx, DocBook, Texinfo, Docutils, Pandoc, MediaWiki, WordPress, GitHub, and
highlighters such as Pygments and Prism. Without one, it may as well be a letter, or a poem. What is around it may have
names such as `html` or `example` for other reasons.
"""


def says_no(tag: str) -> bool:
    """Return whether the attributes of a start tag say that its element is not to be translated."""
    if "translate" not in tag.lower():
        return False
    said = _attributes(tag)
    return said.get("translate") == "no" or "notranslate" in said.get("class", "").split()


def is_code(pre: str) -> bool:
    """Return whether the class of a start tag `<pre>` says that there is code in it."""
    return _has_class(pre, _ITSELF)


def is_around_code(tag: str) -> bool:
    """Return whether the class of a start tag says that there is code in a `<pre>` directly behind it."""
    return _has_class(tag, _AROUND)


def _has_class(tag: str, classes: re.Pattern[str]) -> bool:
    return "class" in tag.lower() and any(map(classes.fullmatch, _attributes(tag).get("class", "").split()))


def _attributes(tag: str) -> dict[str, str]:
    """Return the values of attributes by their names, all in small letters."""
    return {name.lower(): (a or b or c).lower() for name, a, b, c in _ATTRIBUTE.findall(tag)}
