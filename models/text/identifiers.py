"""What versions, options, machines and products are told apart by: signs, digits and capitals within a word.

Only what people leave as it is. So units (MB) are not among them, which other languages write in their own way; nor is
what may be a word that lacks a space, or has the number of a note behind it.
"""

import re
from typing import Final

_VALUE: Final = "= (?: [A-Za-z0-9_/] | [.:-]++ (?=[A-Za-z0-9_/]) )++"
_GLUED: Final = "(?:a|an|and|as|at|by|en|for|from|in|is|of|on|or|the|to|was|with) [A-Z]"
"""Two words that lack a space: theTale"""
_UNIT: Final = "(?: [hkm]?(?:Ah?|B|Hz|J|L|Pa|V|Wh?) | dBm? ) (?![A-Za-z0-9])"
"""Part of a number to models: read as another word, 500 kB became 日本百貨。 kB"""
_HEX: Final = "[0-9A-Fa-f]"
_MEDIA: Final = r"""(?:application|audio|font|image|message|multipart|text|video) / (?:
      (?:x-|vnd\.) [a-z0-9]++ (?:[.+-][a-z0-9]++)*+ | (?: [a-z0-9-]{1,20}? \+ )?+ (?:gzip|html|json|xml|zip)
    | avif|bmp|calendar|css|csv|ecmascript|event-stream|flac|form-data|gif|javascript|jpe?g|markdown|mixed|mp[34]|mpeg
    | octet-stream|ogg|pdf|plain|png|rtf|tiff|[ot]tf|wasm|wav|web[mp]|woff2?|yaml )
    (?![A-Za-z0-9/+]) (?: ; [ ]?+ (?:boundary|charset|version) = [A-Za-z0-9]++ (?:[._-][A-Za-z0-9]++)*+ )?+"""
"""Types of RFC 6838 that are known, as `text/binary` and `image/sound` are words."""
_HEADER: Final = r"""(?: Accept-(?:Charset|Encoding|Language|Ranges) | Access-Control(?:-[A-Z][a-z]++)++ | Cache-Control
    | Content-(?:Disposition|Encoding|Language|Length|Location|Range|Security-Policy|Type) | Idempotency-Key
    | If-(?:Match|Modified-Since|None-Match|Range|Unmodified-Since) | Last-(?:Event-ID|Modified) | Retry-After
    | Set-Cookie | Strict-Transport-Security | Transfer-Encoding | User-Agent | WWW-Authenticate
    | X(?:-[A-Z][A-Za-z]++){2,4}+ ) (?![A-Za-z0-9-])"""
"""Fields of HTTP that are no usual words: RFC 9110 and its neighbours."""
_LOCALE: Final = r"""(?:ar|cs|da|de|el|en|es|fa|fi|fr|he|hi|hu|id|it|ja|ko|nb|nl|pl|pt|ro|ru|sv|th|tr|uk|vi|zh)
    [-_][A-Z]{2} (?![A-Za-z0-9_-])"""
IDENTIFIER: Final = rf"""
    (?<![A-Za-z0-9_.+\#&$-]) (?=[A-Za-z0-9.:$-]) (?! [A-Za-z][a-z]*+ [\s,] (?!\+) ) (?:   # quickly past words
        (?: [A-Za-z]{{1,12}}+ \+\+ | [CFJQ] \# ) (?![A-Za-z0-9+\#])                         # C++ C#
      | [A-Z][A-Za-z]{{2,12}}+ \+ (?! [A-Za-z0-9+=(] | [ ][A-Z0-9(] )                      # Google+
      | \. (?: NET | env (?:\.[a-z]++)*+ | [a-z]{{2,12}}+ (?:(?<=rc)|(?<=ignore))          # .NET .env.local .bashrc
          | aws|cache|config|docker|git|github|htaccess|kube|local|ssh|venv|vscode ) (?![A-Za-z0-9_])
      | v[0-9]{{1,4}}+ (?:\.[0-9]{{1,6}}+)*+                                               # v1.2.3-rc1
        (?: -?(?:alpha|beta|rc) (?:\.?[0-9]++)?+ )?+ (?![A-Za-z0-9])
      | (?<!:) [0-9]{{1,3}}+ (?:\.[0-9]{{1,3}}+){{3}} (?: [/:][0-9]{{1,5}}+ )?+            # 10.0.0.1:80
        (?! [A-Za-z0-9] | \.[0-9] )
      | (?<!:) (?=[0-9A-Fa-f:]{{0,38}}::) (?=[A-Fa-f:]*+[0-9]) [0-9A-Fa-f:]{{3,39}}+       # fe80::1
        (?<!:) (?![A-Za-z0-9])
      | (?<!:) {_HEX}{{2}} (?: :{_HEX}{{2}} ){{5}} (?![A-Za-z0-9:])                        # of a network card
      | {_HEX}{{8}} (?: -{_HEX}{{4}} ){{3}} -{_HEX}{{12}} (?![A-Za-z0-9])                  # of RFC 9562
      | (?=[0-9]*+[a-f]) (?=[a-f]*+[0-9]) [0-9a-f]{{7,64}}+ (?![A-Za-z0-9])                # of a commit
      | (?: [A-Z]{{2,6}}+-[0-9]{{1,6}}+ | [A-Z]{{2,3}}+[a-z]{{1,8}}+[0-9]{{1,4}}+          # UTF-8 IPv4 K8s
          | [A-Z][0-9]{{1,4}}+[a-z] ) (?! [A-Za-z0-9-] | [.,][0-9] )
      | (?: (?!{_GLUED}|{_UNIT}) [a-z]{{1,10}}+[A-Z][A-Za-z0-9]*+                          # macOS
          | [A-Z][a-z]++[A-Z]{{2}}[A-Za-z]*+                                               # PostgreSQL
          | [A-Z]{{2,8}}+[a-z]++[A-Z][A-Za-z]*+ ) (?![A-Za-z0-9])                          # XMLHttpRequest
      | (?<!/) {_MEDIA} | [0-9]{{1,5}}+ /(?:sctp|tcp|udp) (?![A-Za-z0-9/])                 # text/html 53/udp
      | (?:md5|sha[0-9]{{1,3}}+) : {_HEX}{{6,128}}+ (?![A-Za-z0-9])                        # sha256:9f86d081
      | {_HEADER} | {_LOCALE} | USB-[ABC] (?![A-Za-z0-9-])                                 # Content-Type en-US USB-C
      | [A-Z]{{1,4}}+ & [A-Z]{{1,4}}+ (?![A-Za-z0-9&;])                                    # AT&T
      | (?: (?:Alt|Cmd|Command|Control|Ctrl|Meta|Option|Shift|Super|Win) (?:[+-]|[ ]\+[ ]) ){{1,3}}+
        (?: [A-Za-z0-9] | F[0-9]{{1,2}}+ ) (?![A-Za-z0-9+])                                # Ctrl+C
      | -- [a-z][a-z0-9]*+ (?: (?:-[a-z0-9]++)++ (?:{_VALUE})?+ | {_VALUE} )               # --max-length=80
      | (?: (?<![^\s(\[|/]) (?<![)"'”’][ ]) | (?<=["']) (?=--[a-z0-9]++["']) )             # --help
        --[a-z][a-z0-9]*+ (?![A-Za-z0-9_-])
      | (?<=[「『（、ぁ-ヿ㐀-鿿가-힣]) (?: --[a-z][a-z0-9]*+ | -[A-Za-z] ) (?![A-Za-z0-9_-])    # -v
      | \$ [A-Z_][A-Z0-9_]++ (?![A-Za-z0-9$])                                              # $HOME
      | [A-Z][A-Z0-9_]++ {_VALUE}                                                          # LANG=C.UTF-8
    )
"""
"""For a verbose expression of ASCII; takes a time that is linear in the text's length."""
_HINT: Final = re.compile(
    r"[A-Za-z][0-9+#&]|[a-z][A-Z]|[A-Z]-[0-9]|[A-Za-z][-_][A-Z]|[enot]/[a-z]|[0-9]/[stu]|[A-Z0-9_]=|[0-9]\.[0-9]++\."
    r"|[0-9][a-f]|[:-][0-9A-Fa-f]{2,4}[:-]|::|--[a-z]|(?<![A-Za-z0-9])\.[A-Za-z]|\$[A-Z_]|[^\x00-\x7f]-"
    r"|[a-z](?: \+ |-)(?:[A-Za-z0-9](?![A-Za-z0-9])|F[0-9])",
    re.ASCII,
)


def may_identify(text: str) -> bool:
    """Whether there may be such a thing; quick to say that there is none."""
    return bool(_HINT.search(text))
