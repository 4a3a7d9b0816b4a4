"""Whether a text has words to translate."""

import re

import pytest

from models.text.words import PLACEHOLDER, has_words, inside_verbatim


@pytest.mark.parametrize(
    "text",
    [
        *("", "2024-05-03", "10:30", "¥1,000", "。", "……", "ーーーー", "🙂", "1."),
        *("https://example.com/a?b=c#d", " www.example.com ", "ftp://a.example/b.", "(http://example.com)"),
        *("a@b.example", "info+news@mail.example.com, b@c.example"),
        *("<br/>", "</p>", '<g id="1" >', "<i class='b'>", "<img src=a.png />", "&nbsp;", "&#x41;&amp;"),
        *("{name}", "{{ user.name }}", "${name}", "{}", "%{count}", "{0}", "%s", "%1$s: %d", "%(name)s", "%.2f %"),
        *("{% include a.html %}", "{%- endif -%}", "%#@files@"),
        *("%-*s: %.*s", "%04lo %td", "%p - %<PRIuMAX>", "%1$tY %1$@", "%H:%M:%S, %-e %B"),
        *("{n, number}", "{{{name}}}", ":name", "[20,*]", "$x^2$"),
        *("@name", "@name @other."),
        *("README.md", "/etc/hosts", "max_length", "Node.js, size()"),
        *("redis://a:6379/0", "C++, C#", "v1.2.3", "--max-length=80", "AT&T"),
        *("`make demo`", "``make demo``", "![](a/b.png)", "[![](https://a.b/c.svg)](https://d.e)"),
        *('<a href="https://example.com">{name}</a>', "1. {name}"),
    ],
)
def test_what_has_no_words(text: str) -> None:
    """It has no letters, or only those of addresses, tags, entities and placeholders."""
    assert not has_words(text)


@pytest.mark.parametrize(
    "text",
    [
        *("a", "彼", "ко", "See https://example.com.", "https://example.comを見る", "write to a@b.example"),
        *(
            "@ name",
            "a @ b",
            "@名前",
            "<She left.>",
            "<彼>",
            "a<b",
            "1 < 2 and 3 > 2",
            "<b>bold</b>",
            "a & b",
            "R&D; etc",
        ),
        *("{彼}", "{two words}", "{a", "x{name}", "Hello, {name}!", "100%sure", "50 % des", "5%de", "%は", "%s files"),
        *("50%B", "%name", "%sWARNING", "%di", "%dday"),
        *("a:name", "10:am", ":-D", "$5 = 500 yen and $6", "$5=a, $10", "{n, numbers}"),
        *("README.md is", "and/or", "it ended.In", "T_V_s"),
        *("`make demo` ends", "``quoted''", "`a", "![a](b.png)"),
    ],
)
def test_what_has_words(text: str) -> None:
    """It has letters outside those, or in something that only looks like one."""
    assert has_words(text)


@pytest.mark.parametrize(
    ("text", "there"),
    [
        ("%dx%dpx", ["%d", "%d"]),
        ("%.1fs or %dms", ["%.1f", "%d"]),
        ("%sWARNING: UTF-%sBE", ["%s", "%s"]),
        ("%1$dminutes, %(name)sx", ["%1$d", "%(name)s"]),
        ("%day %sort %user 50%off", []),
        (r"a:\(x^2\) b:\*c\*", [r"\(x^2\)"]),
    ],
)
def test_placeholders_before_letters(text: str, there: list[str]) -> None:
    """Units and words in capitals may follow; other letters make it a word of its own."""
    assert [found[0] for found in re.finditer(PLACEHOLDER, text, re.VERBOSE | re.ASCII)] == there


@pytest.mark.parametrize(
    "run",
    ["a", "$1,", "_", "@", "a@", "@a.", " @a", "<a ", "<a b=", "{a", "{ ", "%0", "%1", "&a", "www", "http://a ", '"'],
)
def test_no_run_of_characters_takes_long(run: str) -> None:
    """A quarter of a million characters of the same run: in time that grew with the square, this would never end."""
    has_words(run * (250_000 // len(run)) + "<")


@pytest.mark.parametrize(
    "piece", ["a+", "a.", "a-", "a_", "a/", "a(1", ":a", "`a", "|a", "a://", "a@b.c:d/", "[1", "{a", "%"]
)
def test_long_texts_take_a_time_that_is_linear_in_their_length(piece: str) -> None:
    """With a time that is quadratic, this would not end."""
    text = piece * (300_000 // len(piece))
    has_words(text)
    inside_verbatim(text)
