"""Marks around words, taken out of a text and put into its translation."""

import re
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.text.markup import Pair, Unmarked, split_unmarked, unmarked, with_parts_replaced, with_places


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <b>c</b>.", Unmarked("a c.", (Pair("<b>", "</b>", 2, 3),))),
        ("**a** b", Unmarked("a b", (Pair("**", "**", 0, 1),))),
        ("*a* ~~b~~ _c_", Unmarked("a b c", (Pair("*", "*", 0, 1), Pair("~~", "~~", 2, 3), Pair("_", "_", 4, 5)))),
        ("***a*** b", Unmarked("a b", (Pair("***", "***", 0, 1),))),
        ("a `b c <https://d.e/f_g>`_ h", Unmarked("a b c h", (Pair("`", " <https://d.e/f_g>`_", 2, 5),))),
        ("a `R&amp;D &lt;b?c&amp;d&gt;`__", Unmarked("a R&amp;D", (Pair("`", " &lt;b?c&amp;d&gt;`__", 2, 9),))),
        (":doc:`a b </c>`か", Unmarked("a bか", (Pair(":doc:`", " </c>`", 0, 3),))),
        (":ref:`a <b>`_c", Unmarked(":ref:`a <b>`_c")),
        ("a`b <c>`_", Unmarked("a`b <c>`_")),
        (":ref:`a <b>`c", Unmarked(":ref:`a <b>`c")),
        ("**`a <b_>`_** c", Unmarked("a c", (Pair("**`", " <b_>`_**", 0, 1),))),
        ("a ![b](c.png) d", Unmarked("a b d", (Pair("![", "](c.png)", 2, 3),))),
        (
            "[https://b.c/d_e](https://b.c/d_e)",
            Unmarked("https://b.c/d_e", (Pair("[", "](https://b.c/d_e)", 0, 15),)),
        ),
        ("==a== (==b==)", Unmarked("a (b)", (Pair("==", "==", 0, 1), Pair("==", "==", 3, 4)))),
        ("これは==a==だ", Unmarked("これはaだ", (Pair("==", "==", 3, 4),))),
        ("では、**{a}**さん", Unmarked("では、{a}さん", (Pair("**", "**", 3, 6),))),
        ("この**{a}**と**`b`**は", Unmarked("この{a}と`b`は", (Pair("**", "**", 2, 5), Pair("**", "**", 6, 9)))),
        (r"*a\* b* \[c\](d)", Unmarked(r"a\* b \[c\](d)", (Pair("*", "*", 0, 5),))),
        ("**https://b.c/d_e** _f_", Unmarked("https://b.c/d_e f", (Pair("**", "**", 0, 15), Pair("_", "_", 16, 17)))),
        ("<B>a</b> b", Unmarked("a b", (Pair("<B>", "</b>", 0, 1),))),
        ('<A HREF="b">a</A> b', Unmarked("a b", (Pair('<A HREF="b">', "</A>", 0, 1),))),
        ('<a title="b > c" download>a</a> b', Unmarked("a b", (Pair('<a title="b > c" download>', "</a>", 0, 1),))),
        ("<a href=/b/c>a</a> b", Unmarked("a b", (Pair("<a href=/b/c>", "</a>", 0, 1),))),
        ("<0>a</0> b", Unmarked("a b", (Pair("<0>", "</0>", 0, 1),))),
        ("<c.white.bg_black>a</c>", Unmarked("a", (Pair("<c.white.bg_black>", "</c>", 0, 1),))),
        ("<v.bg_red narrator>a</v>", Unmarked("a", (Pair("<v.bg_red narrator>", "</v>", 0, 1),))),
        ("<v Mary>a</v>", Unmarked("a", (Pair("<v Mary>", "</v>", 0, 1),))),
        (
            "<c.yellow>a</c> <00:05.500>b",
            Unmarked("a b", (Pair("<c.yellow>", "</c>", 0, 1), Pair("<00:05.500>", "", 2, 2))),
        ),
        ('a [b](c "d e") f', Unmarked("a b f", (Pair("[", '](c "d e")', 2, 3),))),
        (
            "[京都](#京都)と[b](c/寺.md)",
            Unmarked("京都とb", (Pair("[", "](#京都)", 0, 2), Pair("[", "](c/寺.md)", 3, 4))),
        ),
        ("a [b](https://c.d/e_(f)) g", Unmarked("a b g", (Pair("[", "](https://c.d/e_(f))", 2, 3),))),
        ("a [bc][d] e", Unmarked("a bc e", (Pair("[", "][d]", 2, 4),))),
        ("[[a] b](c) d", Unmarked("[a] b d", (Pair("[", "](c)", 0, 5),))),
        ("See [`a[0]`](b) c", Unmarked("See `a[0]` c", (Pair("[", "](b)", 4, 10),))),
        ("a[[1]](#b) c.[\\[2\\]](#d)", Unmarked("a c.", (Pair("[[1]](#b)", "", 1, 1),), after="[\\[2\\]](#d)")),
        ("[![a b][c]][d]", Unmarked("a b", (Pair("[![", "][c]][d]", 0, 3),))),
        (
            "[![A](a.svg)](b) ![c](d)",
            Unmarked("A c", (Pair("[![", "](a.svg)](b)", 0, 1), Pair("![", "](d)", 2, 3))),
        ),
        ("a [b c]{.d} [e]{#f g=h}", Unmarked("a b c e", (Pair("[", "]{.d}", 2, 5), Pair("[", "]{#f g=h}", 6, 7)))),
        ("![a](b.png){width=50%} [c]{d}", Unmarked("a [c]{d}", (Pair("![", "](b.png){width=50%}", 0, 1),))),
        ("a![](b.png)c", Unmarked("ac", (Pair("![](b.png)", "", 1, 1),))),
        ("寺¹の鐘。²", Unmarked("寺の鐘。", (Pair("¹", "", 1, 1),), after="²")),
        ("area¹ of 5² x² (a)² π² SO₄²⁻ ㎞²", Unmarked("area of 5² x² (a)² π² SO₄²⁻ ㎞²", (Pair("¹", "", 4, 4),))),
        ("a[^1] b.[^c]", Unmarked("a b.", (Pair("[^1]", "", 1, 1),), after="[^c]")),
        ("see [a b](https://b.c/d?e).", Unmarked("see a b.", (Pair("[", "](https://b.c/d?e)", 4, 7),))),
        ("<a href='x' id=y><i>a</i></a>", Unmarked("a", (Pair("<a href='x' id=y><i>", "</i></a>", 0, 1),))),
        ("<u>a <i>b</i></u>", Unmarked("a b", (Pair("<u>", "</u>", 0, 3), Pair("<i>", "</i>", 2, 3)))),
        ("<p>One.", Unmarked("One.", before="<p>")),
        (
            "<details><summary>One</summary>",
            Unmarked("One", (Pair("<summary>", "</summary>", 0, 3),), before="<details>"),
        ),
        (" <br/> <b>Two</b></p> ", Unmarked("  Two ", (Pair("<b>", "</b>", 2, 5),), before="<br/>", after="</p>")),
        ('a <i class="x"></i>b', Unmarked("a b", (Pair('<i class="x"></i>', "", 2, 2),))),
        ("a<br/>b", Unmarked("ab", (Pair("<br/>", "", 1, 1),))),
        ("He <b>is here.", Unmarked("He is here.", (Pair("<b>", "", 3, 3),))),
        ("a <g id='1'/>b</g> c", Unmarked("a b c", (Pair("<g id='1'/>", "", 2, 2), Pair("</g>", "", 3, 3)))),
        ("<u><br/>a<i></i></u>", Unmarked("a", (Pair("<u><br/>", "<i></i></u>", 0, 1),))),
        ("<u>a</u><br/><i></i>b", Unmarked("ab", (Pair("<u>", "</u>", 0, 1), Pair("<br/><i></i>", "", 1, 1)))),
        ("**One.", Unmarked("One.", before="**")),
        ("Two](b)", Unmarked("Two", after="](b)")),
        ("One.<sup>[1]</sup>", Unmarked("One.", after="<sup>[1]</sup>")),
        (
            'One.<sup id="r1"><a href="#n1">2</a></sup>',
            Unmarked("One.", after='<sup id="r1"><a href="#n1">2</a></sup>'),
        ),
        ("<bpt i='1'/>a<ept i='1'/> b", Unmarked("a b", (Pair("<ept i='1'/>", "", 1, 1),), before="<bpt i='1'/>")),
        ("the name<sup>2</sup> is", Unmarked("the name is", (Pair("<sup>2</sup>", "", 8, 8),))),
        *((text, Unmarked(text)) for text in ("1 m<sup>2</sup>.", "万km<sup>3</sup>", "10<sup class='x'>-6</sup>")),
        ("100<sup>2</sup>", Unmarked("1002", (Pair("<sup>", "</sup>", 3, 4),))),
        ("in<sup>2</sup>", Unmarked("in2", (Pair("<sup>", "</sup>", 2, 3),))),
        ('It was she<sup n="0"/>.', Unmarked("It was she.", (Pair('<sup n="0"/>', "", 10, 10),))),
        ("(a)<sup>2</sup>", Unmarked("(a)2", (Pair("<sup>", "</sup>", 3, 4),))),
        (
            "<note>A.<sup>1</sup> b</note>",
            Unmarked("A. b", (Pair("<note>", "</note>", 0, 4), Pair("<sup>1</sup>", "", 2, 2))),
        ),
        ("See <name>.<x/>", Unmarked("See <name>.", after="<x/>")),
        ("a <b><code>b</code></b>", Unmarked("a <code>b</code>", (Pair("<b>", "</b>", 2, 16),))),
    ],
)
def test_marks_are_taken_out(text: str, expected: Unmarked) -> None:
    """Pairs have the place of their words; those around the same words are one; unpaired marks are kept at the ends."""
    assert unmarked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "<name>さん",
        'a <x id="1"/> b <y/>',
        "run <code>ls -l</code>, <var id='1'>x</var>",
        "2 ** 3",
        "[a] (b)",
        "[注](これは)",
        "[[注]](これは)",
        "a[1][2]",
        "[a 1][b 2]",
        "[a](",
        "a](b) c",
        "a ** b",
        "a_b and c_d",
        "_name is __init__",
        "2*3 and 4*5",
        "if a == b or a==b",
        r"2 \*3 and 4\*",
        r"\[a\](b) \<b>c\</b>",
        "a ~~ b",
        "a<b and c>d",
        "縦*横*高さを計算する。",
        "商品*、送料*は別です。",
        "ねえ~~、来て~~。",
        "if v<v 3 and b> c",
        "a <door open> c",
        "<A>と<B>を選ぶ。",
        "(*^_^*)",
        "a ^_^ b ^_^ c",
        "http://x.y/a_b_c and http://x.y/_d_",
        "<She left.>",
        "a < b > c",
        "a **",
        "2**3, 4**5",
        "f(**a, **b)",
        "the **** Genji",
        "`a <b>` and `c <d>`_e and `<f>`_ and `g`_ and :func:`h <i>`",
        "``a <b>``_ c",
        "a <b>`_ c",
    ],
)
def test_all_else_stays(text: str) -> None:
    """A mark without a partner, or not beside words, stays, and so does what only looks like one."""
    assert unmarked(text) == Unmarked(text)


@pytest.mark.parametrize("text", ["(**a**)", "は**「京都」**は", "**a**, b", "a **b**."])
def test_asterisks_are_bold_beside_other_signs(text: str) -> None:
    """They may be beside brackets, full stops, and words of a language without spaces."""
    assert [(pair.opens, pair.closes) for pair in unmarked(text).pairs] == [("**", "**")]


def test_a_tag_may_have_any_character() -> None:
    """Even a private-use character that stands for places, for which it is not mistaken."""
    found = unmarked("<b title='\U000f0002'>a</b> **b**")
    assert found.marked(with_places("c d", [(0, 1), (2, 3)])) == "<b title='\U000f0002'>c</b> **d**"


def test_what_crosses_is_no_pair() -> None:
    """If two pairs cross, the one that is closed first remains a pair."""
    found = unmarked("<b>a <i>b</b> c</i> d")
    assert (found.text, [pair.opens for pair in found.pairs]) == ("a b c d", ["<b>", "<i>", "</i>"])


@pytest.mark.parametrize(
    ("text", "translation", "span", "marked"),
    [
        ("**A:** b", "注意：これ", (0, 3), "**注意：** これ"),
        ("a **(b)** c", "あ（い）う", (1, 4), "あ **（い）** う"),
        ("a _b_ c", "あいう", (1, 2), "あ _い_ う"),
        ("a **b** c", "あいう", (1, 2), "あ**い**う"),
        ("a **b!** c", "あい！", (1, 3), "あ**い！**"),
        ("a <b>b!</b> c", "あい！う", (1, 3), "あ<b>い！</b>う"),
        ("a `b <d>`_ c", "あいう", (1, 2), "あ `い <d>`_ う"),
        ("a :ref:`b <d>` c", "あい。", (1, 2), "あ :ref:`い <d>`。"),
    ],
)
def test_marks_are_marks_beside_letters(text: str, translation: str, span: tuple[int, int], marked: str) -> None:
    """A space is added where a mark would not be seen without one, as some languages have no spaces."""
    assert unmarked(text).marked(with_places(translation, [span])) == marked


PIECES = [
    "a",
    "b ",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<br/>",
    "<n>",
    "**",
    "[",
    "![",
    "](c)",
    "][d]",
    "]{.e}",
    "[^1]",
    "`",
    ":ref:`",
    " <d>`_",
    " ",
]


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_what_is_taken_out_can_be_put_back(text: str) -> None:
    """Pairs put back in their own places make up the text again, and nothing at its ends is lost."""
    found = unmarked(text)
    back = found.marked(with_places(found.text, [(pair.begin, pair.end) for pair in found.pairs]))
    assert sorted(back) == sorted(text)
    if not (found.before or found.after):
        assert back == text
    for one, other in combinations(found.pairs, 2):
        assert other.begin >= one.end or other.end <= one.end


@pytest.mark.parametrize(
    "text",
    [
        "<b>A.</b>|B.",
        "<b>A.|B.</b>|C.",
        "A <i>b.</i> |<b>C</b> d.",
        "**A.** |**B.** |C",
        "A.|<br/>B.",
        "A.<sup>1</sup>|B.<sup>[2]</sup>|C",
        'A.<sup n="0"/>|B',
        "[A.|B.](c.d)|E",
        "A.[^1]|B.",
        '<a title="b. c">A.</a>|B',
        "A.|B",
        "<b><i></i></b>",
    ],
)
def test_a_text_is_divided_as_without_its_marks(text: str) -> None:
    """A closing mark stays with the words that it closes."""
    divided = split_unmarked(text.replace("|", ""), lambda bare: re.findall(r"[^.]*\.[ ]*|[^.]+", bare))
    assert "|".join(divided) == text


@given(st.lists(st.sampled_from([*PIECES, "."]), max_size=12).map("".join), st.integers(1, 3))
def test_what_is_divided_is_the_text(text: str, size: int) -> None:
    """The pieces join to the text, and there are at most one more than without marks, wherever they end."""

    def split(bare: str) -> list[str]:
        return [bare[start : start + size] for start in range(0, len(bare), size)]

    divided = split_unmarked(text, split)
    assert "".join(divided) == text
    assert len(divided) <= max(1, len(split(unmarked(text).text))) + 1


def test_places_are_nested_as_pairs_are() -> None:
    """At one place, closing marks come first, inner before outer, and opening ones last, outer before inner."""
    outer, left, empty, right = (Pair(f"<{name}>", f"</{name}>", 0, 0) for name in "oler")
    found = Unmarked("", (outer, left, empty, right))
    spans = [(0, 4), (0, 2), (2, 2), (2, 4)]
    assert found.marked(with_places("abcd", spans)) == "<o><l>ab</l><e></e><r>cd</r></o>"
    assert found.marked(with_places("abcd", [(1, 3)] * 4)) == "a<o><l><e><r>bc</r></e></l></o>d"


@pytest.mark.parametrize(
    "run",
    [
        *("<b>", "<b></i>", "**", "[a](b)", "[a]", "[", "<a b=c ", "<", "](", "</b>", "<x/>", "<code>", "<code>a"),
        *("[[", "[[a]", "[[a](b)", "[[1]](", "`", "`a", "{{", "{a,plural,{", "<!--", "^{*"),
        *("`a <", "`a <b>", "`a <b>`_", " <a>`", " <", ":doc:`a <b", "`a &lt;"),
        *("==", "\\*", "![", "[![a](b)", "![a](b)", '[a](b "', "](b(", "[ab][", "[^"),
    ],
)
def test_no_run_of_characters_takes_long(run: str) -> None:
    """A quarter of a million characters of the same run: in time that grew with the square, this would never end."""
    text = run * (250_000 // len(run))
    assert unmarked(text).text.count("a") <= len(text)


@given(
    st.lists(st.tuples(st.integers(0, 8), st.integers(0xF0000, 0xF0007).map(chr)), max_size=8).map(sorted),
    st.lists(st.integers(0, 8), min_size=4, max_size=4, unique=True).map(sorted),
)
def test_places_stay_where_they_are_when_parts_are_replaced(places: list[tuple[int, str]], cuts: list[int]) -> None:
    """They keep their order, so that pairs stay nested, and are before the same remaining characters as before."""
    text, (begin, end, start, stop) = "abcdefgh", cuts
    placed = text
    for at, place in reversed(places):
        placed = f"{placed[:at]}{place}{placed[at:]}"
    found = with_parts_replaced(placed, lambda bare: [(begin, end, "X"), (start, stop, "Y")] if bare == text else [])
    assert "".join(filter(str.isascii, found)) == f"{text[:begin]}X{text[end:start]}Y{text[stop:]}"
    assert [each for each in found if not each.isascii()] == [place for _, place in places]
    for character in text[:begin] + text[end:start] + text[stop:]:
        before = [text.index(character) >= at for at, _ in places].count(True)
        assert [each.isascii() for each in found[: found.index(character)]].count(False) == before
