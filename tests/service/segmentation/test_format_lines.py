"""Lines of a text that are meant only for programs."""

import pytest

from service.segmentation.splitting import split

MARKDOWN = """\
---
title: Kyoto
tags:
  - city
---
# One

```bash
pip install antecedent
~~~
```

Two <!-- a remark --> words.

> ~~~~ text
> three
> ~~~
> ~~~~

$$
x = y
$$

> [!NOTE]
> > [!WARNING]

<!-- left
out -->
Four.[^1]
<!-- one line -->
{/* truncate */}
{/* left
out */}

<script src="a.js">
let one = "Two.";

let three;
</script>
<PRE class="a">one
two</PRE>
<pre>one</pre> <style>two</style>
%% left out %%
%%
left
out
%%

[TOC]
[[_toc_]]

[^1]: Five.
*[HTML]: Six.
[kyoto]: https://example.org/kyoto "The city"
[nara]:
    https://example.org/nara "The city"
> [uji]: https://example.org/uji

import Tabs from '@theme/Tabs';
import {One, two} from "./three"
"""
SUBTITLES = """\
WEBVTT - Kyoto
Kind: captions
Language: en
Style:
::cue(c.colorE5E5E5) { color: rgb(229,229,229);
 }
##

NOTE
A remark
of two lines

STYLE
::cue { color: red }

intro
00:00:01.000 --> 00:00:02.000 align:start
One.
NOTE two

00:03.000 --> 00:04.000
{\\an8}- Three.

00:05,50-->00:06,00 line:0 a
"""


def sentences(text: str) -> list[str]:
    """The sentences of a text that are translated; checks that nothing is lost."""
    document = split(text, "en", longest=100, most=1000)
    assert document.join(document.sentences) == text
    return list(document.sentences)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_code_and_what_is_said_of_a_page_stays(end: str) -> None:
    """Code in fences, comments, definitions and front matter stay; a footnote's mark stays, its text is translated."""
    found = sentences(MARKDOWN.replace("\n", end))
    assert found == ["One", "Two <!-- a remark --> words.", "Four.[^1]", "Five.", "Six."]


def test_boxes_of_myst_are_text() -> None:
    """MyST's boxes may have titles and contain code, which stays."""
    text = """\
````{note}
:class: dropdown
One.

```{warning} Two
Three.
```
```{code} sh
four
```
````

```
five
```
```{figure} six.png
```
Seven.
"""
    assert sentences(text) == ["One.", "Two", "Three.", "Seven."]


@pytest.mark.parametrize(
    "matter",
    [
        "---\ntitle: One\ndescription: Says what it is.\n---\n",
        "---\nlayout: post\nShowToc: true\n\nDraft: false\n---\n",
        "---\nlastUpdated: true\nheroImage: a.png\n---\n",
        '---\n# a remark\n"title": "One!"\ndate: 2024-05-03\ntags: [\n  one,\n]\n---\n',
        "---\ntitle: >\n  One.\n\n  Two?\nsidebar_position: 1\n...\n",
        '+++\ntitle = "One"\ntags = [\n"two",\n]\n[author]\nname = "Three."\n+++\n',
        "\ufeff+++\n\n# a remark\ntitle = 'One'\n+++\n",
    ],
)
def test_what_is_said_of_a_page_stays(matter: str) -> None:
    """Front matter stays even if it contains sentences or capitalized names, provided one name is typical of pages."""
    assert sentences(f"{matter}Four.\n") == ["Four."]


@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_of_subtitles_what_is_shown_is_translated(start: str) -> None:
    """Times, styles, remarks and names of subtitles stay."""
    assert sentences(start + SUBTITLES) == ["One.", "NOTE two", "Three."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```\nOne.\n", ["```\nOne."]),
        ("~~~ One\nTwo.\n", ["One", "Two."]),
        ("~~~~~~~~\nOne.\n~~~~~~~~\nTwo.\n~~~~~~~~\n", ["One.", "Two."]),
        ("~~~\nOne.\n~~~\n", ["One."]),
        ("<!-- a --> One. <!-- b -->\n", ["a --> One."]),
        ("{/* One.\nTwo.\n", ["{/* One.", "Two."]),
        ("[TOC] One\n", ["[TOC] One"]),
        ("---\njohn: Hello there.\nmary: Hi!\n---\nOne.\n", ["john: Hello there.", "mary: Hi!", "One."]),
        ("---\nSubject: Two\n---\nOne.\n", ["Subject: Two", "One."]),
        ("[Smith]: and/or\n[Tom]: #1!\n[Q1]: N/A\n", ["[Smith]: and/or", "[Tom]: #1!", "[Q1]: N/A"]),
        ("```a``` One.\nTwo.\n```\n", ["a``` One.", "Two."]),
        ("````\nOne.\n```\n", ["One."]),
        ("$$\nOne.\n", ["One."]),
        ("$$ One\nTwo.\n$$\n", ["$$ One", "Two."]),
        ("One\n$$\nTwo.\n\nThree\n$$\nFour = 4.\n", ["One", "Two.", "Three", "Four = 4."]),
        ("One\n$$\nTwo\n$$\nThree.\n", ["One", "Two", "Three."]),
        ("<!-- One.\nTwo.\n", ["One.", "Two."]),
        ("<!-- a --> One.\n", ["a --> One."]),
        ("<pre>\nOne.\n", ["One."]),
        ("<pre>a</pre> One.\n", ["<pre>a</pre> One."]),
        ("<presenter> One.\n", ["<presenter> One."]),
        ("%% One.\n%% Two.\n", ["%% One.", "%% Two."]),
        ("%% a %% One.\n", ["%% a %% One."]),
        ("---\n　One.\n---\n", ["One."]),
        ("---\nSee: a\nOne two.\n---\n", ["See: a", "One two."]),
        ("---\ntitle: One\n\nTwo three.\n\n---\n", ["title: One", "Two three."]),
        ("+++\n\nOne.\n+++\nTwo.\n", ["One.", "Two."]),
        ("+++\na = b\n", ["a = b"]),
        ("import goods from Japan\n", ["import goods from Japan"]),
        ("NOTE\nOne.\n", ["NOTE", "One."]),
        ("[1]: One.\n", ["[1]: One."]),
        ("[Q]:\nOne.\n", ["[Q]:", "One."]),
        ("[Q]:\n", ["[Q]:"]),
        ("Kind: One\nWEBVTT\nTwo: three\n", ["Kind: One", "Two: three"]),
        ("One:\n00:01 --> two\n", ["One:", "00:01 --> two"]),
        ("", []),
        ("---\n", []),
    ],
)
def test_what_only_looks_like_it_is_translated(text: str, expected: list[str]) -> None:
    """This includes constructs that begin but do not end."""
    assert [sentence.lstrip("`~<!- ") for sentence in sentences(text)] == [each.lstrip("`\n~<!- ") for each in expected]


@pytest.mark.parametrize(
    "line",
    [
        "```a\n",
        "~~~~a\n",
        "<!-- a\n",
        "<pre>a\n",
        "%% a\n",
        "```{note}\n",
        "NOTE\n",
        "a\n",
        "[a]: b/c\n",
        "00:01.000 --> a\n",
    ],
)
def test_no_run_of_lines_takes_long(line: str) -> None:
    """100,000 of the same line: if the time grew with the square of their number, this would never end."""
    sentences("WEBVTT\n\n" + line * 100_000)


@pytest.mark.parametrize(
    ("comment", "begin"), [("<!-- -->", "<!--"), ("{/* */}", "{/*"), ("<pre></pre>", "<pre>"), ("%% %%", "%%")]
)
def test_comments_that_are_not_ended_take_no_long_time(comment: str, begin: str) -> None:
    """100,000 unfinished comments in a line, after one that is finished."""
    sentences(comment + begin * 100_000)
