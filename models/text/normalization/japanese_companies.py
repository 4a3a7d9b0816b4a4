"""Kinds of companies that Japanese puts in brackets, in full: of ㈱ and （株） models make nothing."""

import re
from typing import Final

_LETTER: Final = r"[A-Za-zＡ-Ｚａ-ｚ々ぁ-ゖァ-ヺー\u3400-\u9fff]"
_COMPANY: Final = "(?: ㈱ | [(（]株[)）] )"
_FULL: Final = {"株": "株式会社", "財": "財団法人", "公財": "公益財団法人"}
_ABBREVIATED: Final = re.compile(
    rf"""(?<={_LETTER}) {_COMPANY} | {_COMPANY} (?={_LETTER})
      | (?<!{_LETTER}) (?: ㈶ | [(（]公?財[)）] ) (?={_LETTER})""",
    re.VERBOSE,
)
"""Beside its name. Foundations have theirs only behind it."""


def companies_in_full(text: str) -> str:
    """Write out what kind of company or foundation a name belongs to."""
    return _ABBREVIATED.sub(_in_full, text)


def _in_full(found: re.Match[str]) -> str:
    return _FULL[{"㈱": "株", "㈶": "財"}.get(found[0]) or found[0][1:-1]]
