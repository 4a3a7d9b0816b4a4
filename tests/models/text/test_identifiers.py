"""Names with signs, digits or capitals within a word, which every language writes alike."""

import re

import pytest

from models.text.identifiers import IDENTIFIER, may_identify

_IDENTIFIER = re.compile(IDENTIFIER, re.VERBOSE | re.ASCII)


def _found(text: str) -> list[str]:
    return [found[0] for found in _IDENTIFIER.finditer(text)]


@pytest.mark.parametrize(
    "name",
    [
        *("C++", "g++", "C#", "F#", "Google+", "GTK+"),
        *(".NET", ".env", ".env.local", ".bashrc", ".gitignore", ".ssh"),
        *("v3", "v1.2.3", "v1.2.3-rc1", "v2.0beta"),
        *("192.168.0.1", "127.0.0.1:8000", "10.0.0.0/8", "fe80::1", "::1", "2001:db8::8a2e:370", "00:1A:2B:3C:4D:5E"),
        *("550e8400-e29b-41d4-a716-446655440000", "a1b2c3d4e5", "9f86d081884c7d65"),
        *("UTF-8", "ISO-8601", "GPT-4", "IPv4", "OAuth2", "K8s"),
        *("iOS", "macOS", "eBay", "camelCase", "PostgreSQL", "MySQL", "XMLHttpRequest", "mRNA", "pH"),
        *("AT&T", "R&D", "Q&A"),
        *("--dry-run", "--max-length=80", "--lang=ja", "--config-file=/etc/a.conf"),
        *("Ctrl+C", "Ctrl-C", "Ctrl + Shift + T", "Alt+F4", "Cmd-Q"),
        *("$HOME", "$PATH_2", "FOO=bar", "LANG=C.UTF-8"),
        *("application/json", "text/html", "image/svg+xml", "application/vnd.ms-excel", "text/plain; charset=utf-8"),
        *("8080/tcp", "53/udp", "sha256:9f86d081884c7d65", "md5:abc123"),
        *("Content-Type", "Accept-Language", "X-Forwarded-For", "Access-Control-Allow-Origin", "WWW-Authenticate"),
        *("en-US", "ja_JP", "USB-C"),
    ],
)
@pytest.mark.parametrize(
    "around", ["Use {} for this.", "Is it ({})?", "It's '{}'.", "これは{}です。", "{}、{}", "It is {}.", "{}"]
)
def test_names_are_found(name: str, around: str) -> None:
    """They are found whole, and without the punctuation around them."""
    text = around.replace("{}", name)
    assert may_identify(text)
    assert _found(text) == [name] * around.count("{}")


@pytest.mark.parametrize("around", ["Use {} here.", "{}", "(or {})", "-h, {}", "'{}'", "詳細は{}を参照。", "「{}」"])
def test_options_of_one_word_are_found(around: str) -> None:
    """Where two hyphens are no dash between words."""
    assert _found(around.format("--help")) == ["--help"]


def test_options_of_one_letter_are_found_beside_letters_that_no_dash_is_beside() -> None:
    """Elsewhere a hyphen may be a dash."""
    assert _found("詳細は-vを参照。") == ["-v"]
    assert _found("and so -I think- it went") == []


@pytest.mark.parametrize(
    "text",
    [
        *("C major", "A+B", "x + y", "1 + 1", "issue#3", "No. 1", "# 1"),
        *("It ended.Now", "... and so on", "a .b", "the .com boom"),
        *("2026-11-30", "10:30:15", "1.5", "3.2.1", "the 1990s", "20th", "1st", "30.11.2026"),
        *("JR", "NHK", "USA", "A4", "T13", "No1", "Route1", "In1882", "DE10s"),  # as models can copy, or with a note
        *("theTale", "inJapan", "aJapanese", "McDonald", "MacArthur", "O'Brien's", "well-established"),
        *("R & D", "Tom&Jerry", "&lt;", "&nbsp;"),
        *("he said--and left", "he said -- and left", "a-b", "-5", "pre-1945"),
        *("'a'--and left", 'The "Tale"--a long one--is', "eyes) --a kind of", '"a," --the first', '"--and then"'),
        *("US$5", "$5", "$ A", "a = b", "E=mc"),
        *(
            "text/binary mode",
            "image/sound",
            "and/or",
            "audio/video files",
            "his/her",
            "10/20",
            "TCP/IP",
            "1/tie",
            "v/text",
        ),
        *(
            "Content-Rich",
            "X-ray",
            "X-Men",
            "Go-Daigo",
            "ex-PM",
            "co-OP",
            "USB-stick",
            "ATS-P",
            "CD-ROM",
            "Azuchi-Momoyama",
        ),
        *(
            "Ctrl",
            "the Alt key",
            "Control - I think",
            "Shift-work",
            "Option A",
            "10 MB",
            "5 kB",
            "10kHz",
            "3 dB",
            "20mA",
            "24/7",
            "defaced",
            "1234567",
        ),
    ],
)
def test_words_and_numbers_are_read(text: str) -> None:
    """So is what is only similar."""
    assert _found(text) == []


@pytest.mark.parametrize(
    "piece",
    [
        *("C+", "a", "A", "aB", "1.", "1.1.1.", "--a", "--a-", "a:", "1:", "::", "$A", "A=", "A=.", ".", "ab", "a1"),
        *("A-", "v1.", "A&", "00:", "1a2b3c4-", "--a=.:-", "A_", "0a", "Ab", "AAa", "Alt-", "Alt + "),
        *(
            "text/",
            "text/a+",
            "text/x-a.",
            "text/a",
            "X-Aa",
            "sha1:",
            "1/",
            "Access-Control",
            "Access-Control-Aa",
            "en-",
        ),
    ],
)
def test_long_texts_take_a_time_that_is_linear_in_their_length(piece: str) -> None:
    """With a time that is quadratic, this would not end."""
    text = piece * (1_000_000 // len(piece))
    may_identify(text)
    _found(text)
