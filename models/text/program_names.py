"""Names that programs know things by, outside of code: of files, folders, hosts, functions and pages of manuals."""

import re
from typing import Final

_ENDINGS: Final = (
    "bat|bz2|cfg|conf|cpp|css|csv|dll|docx?|exe|gif|gz|html?|ini|ipynb|jar|java|jpe?g|jsx?|json|log|md|mp[34]|od[st]|pdf"
    "|php|png|pptx?|psd|py|rb|rs|rst|rtf|sh|sql|srt|svg|tar|tex|toml|tsx?|txt|vtt|wav|webp|xlsx?|xml|ya?ml|zip"
    "|cn|com|edu|eu|gov|info|io|jp|kr|net|org|uk"
)
"""Of files and hosts, without those that are words, as a space may be missing behind a full stop: .is .it .so"""
_ENDING: Final = rf"\.(?i:{_ENDINGS})(?![A-Za-z0-9_])"
_BEGINS: Final = r"(?<![A-Za-z0-9_./~\\@%$&\#+-])"
_PART: Final = r"(?: [A-Za-z0-9_+~-]++ | [.@] (?=[A-Za-z0-9_]) )++"
_SPOKEN: Final = "(?:[A-Z]_)++[A-Za-z]{1,2}(?![A-Za-z0-9_])"
"""Letters of an abbreviation that is read one by one, in transcripts: T_V_s"""
PROGRAM_NAME: Final = rf"""
      {_BEGINS} (?: (?:~|\.{{1,2}}) (?:/{_PART})++ | (?:/{_PART}){{2,}}+ ) /?+                      # /etc/hosts ~/a ./a
    | (?<![A-Za-z0-9]) [A-Za-z]:\\ (?![(\[*])                                                      # C:\Users\a.log
      (?: [A-Za-z0-9_$%~+-]++ | [.\\] (?=[A-Za-z0-9_$%~+-]) )*+ \\?+
    | {_BEGINS} (?: (?: [A-Za-z0-9_+-]++ | (?!{_ENDING}) \. )++ / )*+                              # src/a.py
      (?: [A-Za-z0-9_+-]++ (?!{_ENDING}) \. )*+ [A-Za-z0-9_+-]++ (?:{_ENDING})++
      (?:\.[a-z0-9_-]++)*+ (?:/{_PART})*+                                                       # ftp.jp.example.org/b
    | {_BEGINS} (?:[A-Za-z0-9]++\.)*+ (?=[A-Za-z0-9_\\]{{5}}) (?=[0-9_\\]*+[A-Za-z]) (?!{_SPOKEN})
      [A-Za-z0-9]++ (?: (?:\\?+_){{1,2}}+ [A-Za-z0-9]++ )++ (?:\(\))?+ (?![A-Za-z0-9_])               # max_length a\_bc
    | (?<![A-Za-z0-9_.]) (?<!::) (?<!->) [A-Za-z_][A-Za-z0-9_]*+
      (?: (?:\.|::|->) [A-Za-z_][A-Za-z0-9_]*+ )*+ \(\)                                           # size() a.size()
    | {_BEGINS} [a-z][A-Za-z0-9_.+-]*+ \([1-9][a-z]{{0,2}}\) (?![A-Za-z0-9])                       # printf(3)
"""
"""For a verbose expression of ASCII; takes a time that is linear in the text's length."""
_HAS_ENDING: Final = re.compile(_ENDING)
_HAS_SECTION: Final = re.compile(r"[a-z0-9]\([1-9]", re.ASCII)


def may_name(text: str) -> bool:
    """Whether there may be such a name; quick to say that there is none."""
    if any(sign in text for sign in ("_", "/", "\\", "()")):
        return True
    return ("." in text and bool(_HAS_ENDING.search(text))) or ("(" in text and bool(_HAS_SECTION.search(text)))
