"""HTML and XML: where sentences end, and that nothing but the sentences changes."""

import html
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidInputError
from service.segmentation.splitting import Segmented, split
from service.texts.tagged import Markup, lines_joined

PAGE = """<!DOCTYPE html><html><head><title>A page</title><style>p { a: "b<c>" }</style></head>
<body class="x">
  <P>It is <B>bold
     and</B> nice &amp; R&D. Next <br>line <a href="?a=1&b=2" title="a > b">here</a>.</p>
  <!-- no <b> --><ul><li>One<li>Two <code>ls -l</code></ul><script>if (a<b) x("</p>")</script></body></html>
"""


def translated(text: str, markup: Markup, language: str = "en", *, join_lines: bool = False, **texts: str) -> str:
    """A text whose sentences are replaced as `texts` says; sentences not in it stay."""
    tagged = markup.read(text, language, join_lines=join_lines)
    segmented = tagged.segmented([split(block, language, longest=1000, most=1000) for block in tagged.blocks])
    return segmented.join([tagged.restored(texts.get(each, each)) for each in segmented.sentences])


def sentences(text: str, markup: Markup, *, join_lines: bool = False) -> list[str]:
    """The sentences of a text, without tags."""
    tagged = markup.read(text, "en", join_lines=join_lines)
    found = tagged.segmented([split(block, "en", longest=1000, most=1000) for block in tagged.blocks])
    return [re.sub("<[^<>]*>", "", sentence) for sentence in found.sentences]


def test_sentences_of_a_page() -> None:
    """Paragraphs, list items and <br> end a sentence; bold text, links and line ends do not."""
    found = sentences(PAGE, Markup("html"), join_lines=True)
    assert found == ["A page", "It is bold and nice &amp; R&D.", "Next", "line here.", "One", "Two "]


def test_nothing_of_a_page_changes_but_its_sentences() -> None:
    """Not even the quotation marks of attributes change; only a bare & becomes an entity."""
    assert translated(PAGE, Markup("html")) == PAGE.replace("R&D", "R&amp;D")
    assert translated("<p>One</p> <p id=a>Two</p>", Markup("html"), One="<1> & 2") == (
        "<p>&lt;1> &amp; 2</p> <p id=a>Two</p>"
    )


@pytest.mark.parametrize("kind", ["html", "xml"])
def test_what_a_term_says_is_no_tag_of_the_text(kind: Any) -> None:
    """Even if a term's translation looks like a tag, it is escaped like any < in a translation."""
    said = '<b n="0">Lady</b> <i n1="7">'
    tagged = Markup(kind).read("<u>One</u> two", "en", join_lines=False, taken=said)
    (block,) = tagged.blocks
    expected = '<u>One</u> &lt;b n="0">Lady&lt;/b> &lt;i n1="7">'
    assert tagged.restored(block.replace("two", said)) == expected


@pytest.mark.parametrize(
    ("text", "rules", "expected"),
    [
        ("A <span translate='no'>B</span> c <i class='x notranslate y'>D</i>.", {}, "A  c ."),
        ("A <keep>B <keep>C</keep> D</keep> e.", {"ignored": frozenset({"keep"})}, "A  e."),
        ("A <b>b</b> c<x>d", {"splitting": frozenset({"x"})}, "A b c|d"),
        ("A <p>b</p> c", {"joining": frozenset({"p"})}, "A b c"),
        ("&#26085;&#26412;<p>&#8230;</p>", {}, "日本"),
        ("<pre translate=no>A b.</pre>C", {}, "C"),
        ("A<pre class=screen>b <i>c</i></pre>D", {}, "A|D"),
        ("<div class='highlight-python x'><div CLASS=highlight><pre><span></span>b</pre></div></div>D", {}, "D"),
        ("<pre class='language-sh line-numbers'>b</pre><div class='mw-highlight'>\n <pre>C</pre> d</div>", {}, "d"),
        ("<pre>A</pre><pre class='poem code-of-honour'>B</pre><div class=highlight>C<pre>D</pre></div>", {}, "A|B|C|D"),
        ("<body class='html js'><pre>A</pre><div class=example><pre>B</pre></div>", {}, "A|B"),
        ("A<!-- <p>b</p> -->", {}, "A"),
        ("A <b title='c", {}, "A "),
        ("1 < 2<p>B <3", {}, "B <3"),
        ("<a href='/?translate=no'>A</a> <i class='notranslate-x'>b</i>", {}, "A b"),
        ("<li TRANSLATE=NO>A<li>B<ul><li class=notranslate>C<ul><li>D</ul>E</ul><p>F", {}, "B|F"),
        ("A <KEEP>b <i>c</i></KEEP> d", {"ignored": frozenset({"Keep"})}, "A  d"),
        ("A <Q>b</Q> c", {"splitting": frozenset({"Q"})}, "A|b|c"),
        ("A <P>b</P> c", {"joining": frozenset({"P"})}, "A b c"),
        ("<!-->A<!-- x -->b <!--->c", {}, "Ab c"),
        ("A<img src=a>b <a href=http://x.org/>c</a>", {}, "Ab c"),
        ("<RUBY>紫<rp>(</rp><rt>むらさき</rt><rp>)</rp>式部<rt>しきぶ</RUBY>は", {}, "紫式部は"),
        ("<ruby><rb>東</rb><rb>京</rb><rtc><rt>とう</rt><rt>きょう</rt></rtc></ruby>へ", {}, "東京へ"),
        ("<ruby translate=no>京<rt>きょう</rt></ruby>へ", {}, "へ"),
        ("<ruby>京<rt>きょう<p>か</p>", {}, "京きょう|か"),
        ("<ruby>京<ruby>都<rt>と</rt></ruby>へ</ruby>", {}, "京都へ"),
        ("<ruby>京<rt>" + "<b>き</b>" * 50 + "</rt></ruby>", {}, "京" + "き" * 50),
    ],
)
def test_what_is_translated_of_html(text: str, rules: dict[str, Any], expected: str) -> None:
    """The page itself and the client decide what is translated; characters may be numeric entities."""
    assert sentences(text, Markup("html", **rules)) == expected.split("|")


def test_how_words_are_read_is_left_out() -> None:
    """Ruby readings are removed with their tags; elements without ruby stay as they are."""
    page = "<p><ruby><b>紫</b><rt><i>むらさき</i></rt></ruby>式部</p><p class=x>か</p>"
    assert translated(page, Markup("html"), "ja") == "<p><b>紫</b>式部</p><p class=x>か</p>"


@pytest.mark.parametrize(
    ("note", "is_one"),
    [
        ('<a epub:type="noteref" href="a.xhtml#n1">1</a>', True),
        ('<a class="footnote-ref" href="#fn1"><sup>12</sup></a>', True),
        ('<sup class="reference"><a href="#n"><span>&#91;</span>注 3<span>]</span></a></sup>', True),
        ("<a href='#_ftn1'><![if !supportFootnotes]><span>[1]</span><![endif]></a>", True),
        ('<sup><a href="#n">†</a></sup>', True),
        ('<a class="sdendnotesym" href="#sdendnote2anc">ii</a>', True),
        ('<sup><a href="#n">th</a></sup>', False),
        ('<a href="#c1">1</a>', False),
        ('<a class="footnote">Notes</a>', False),
        ('<sup>1</sup><a href="#n">', False),
        ('<sup><a href="#n"><p>1</p></a></sup>', False),
    ],
)
def test_what_refers_to_a_note_is_one_tag(note: str, is_one: bool) -> None:
    """In any form that pages have it; powers, chapters and words are read."""
    tagged = Markup("html").read(f"It was she{note}. He left.", "en", join_lines=False)
    assert (tagged.blocks == ('It was she<sup n="0"/>. He left.',)) is is_one
    assert "".join(map(tagged.restored, tagged.blocks)) == f"It was she{note}. He left." or not is_one


@pytest.mark.parametrize(
    ("text", "rules", "expected"),
    [
        ("<d><t>Hello</t><p>It <b>is</b>. And <x/> more.</p><p><b>All</b></p></d>", {}, "Hello|It is.|And  more.|All"),
        ("<d><t>Hello</t><p>You</p></d>", {"outline": False}, "HelloYou"),
        ("<d><t>Hello</t><p>You</p></d>", {"outline": False, "splitting": frozenset({"p"})}, "Hello|You"),
        ("Hello <Var n='1'/>, <g>you</g>", {}, "Hello , you"),
        ('<?xml version="1.0" encoding="Shift_JIS"?>\n<d><![CDATA[no]]><p>Yes</p></d>', {}, "Yes"),
        ("<style>Text</style>", {}, "Text"),
        ("<d>\n <p>One</p>\n <p>Two</p>\n</d>", {}, "One|Two"),
        ("<d>Hello <?php if ($a->b) echo 1 ?> world</d>", {}, "Hello  world"),
        ("<!-- c -->Hello <b>x</b>", {}, "Hello x"),
        ("<![CDATA[c]]> Hello <b>x</b>", {}, " Hello x"),
        (
            '\ufeff<?xml version="1.0"?><!-- c --><!DOCTYPE d><d><k>A <b>b</b> C</k></d>',
            {"ignored": frozenset({"b"})},
            "A  C",
        ),
        ("Hello <Var/><keep><a/><b>c</b></keep>", {"ignored": frozenset({"keep"})}, "Hello "),
        ("A <:a>b</:a> c", {}, "A b c"),
        ("A &#x0000026; &#00000038; b", {}, "A &#x0000026; &#00000038; b"),
    ],
)
def test_what_is_translated_of_xml(text: str, rules: dict[str, Any], expected: str) -> None:
    """An element next to text is part of its sentence; names of elements may have any case."""
    markup = Markup("xml", **rules)
    assert sentences(text, markup) == expected.split("|")
    assert translated(text, markup) == text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a <b>c", "not well-formed: mismatched tag, line 1, column 9"),
        ("a\nb & c", "invalid token., line 2, column 4"),
        ("&nbsp;", "undefined entity"),
        ('<!DOCTYPE d [<!ENTITY e "x">]><d>&e;</d>', "declares"),
    ],
)
def test_what_is_no_xml_is_refused(text: str, said: str) -> None:
    """The error gives the place; declared entities, a few lines of which can expand to gigabytes, are not read."""
    with pytest.raises(InvalidInputError, match=said):
        Markup("xml").read(text, "en", join_lines=False)


@pytest.mark.parametrize(
    "text",
    [
        '<p n="7">A <b n="1">b</b> <i n1="0">n="0"</i>.</p>',
        '<p>A <!-- <b n="1"> --><b>b</b> <i n="0">c</i>.</p>',
        '<p>a &lt;b n="1"> <i>c</i></p>',
    ],
)
def test_tags_of_a_text_are_told_from_those_of_its_sentences(text: str) -> None:
    """A text's own tags are never taken for placeholders, whatever their attributes."""
    assert translated(text, Markup("html")) == text
    tagged = Markup("html").read(text, "en", join_lines=False)
    assert not any(f" {tagged.attribute}=" in each for each in (text, html.unescape(text)))


def test_letters_that_are_entities_make_no_tag() -> None:
    """Entities that look like tags once decoded remain text."""
    text = '<p>a <&#98; &#110;="9"> <&#98; n="9"> b <i>c</i> &&#108;t;</p>'
    assert html.unescape(translated(text, Markup("html"))) == html.unescape(text)


@pytest.mark.parametrize("unseen", ["&shy;", "&#173;", "&#xAD;", "&#8203;", "&zwnj;"])
def test_what_is_not_seen_is_read_within_its_word(unseen: str) -> None:
    """Books put invisible characters wherever a line may break; they do not divide a word, and entities stay intact."""
    tagged = Markup("html").read(f"<p>Com{unseen}mu{unseen}ni&eacute; &amp;</p>", "en", join_lines=True)
    assert tagged.blocks == (html.unescape(f"Com{unseen}mu{unseen}nié ") + "&amp;",)


def test_old_entities_stay_entities() -> None:
    """Like browsers, accept entities without a semicolon."""
    assert translated("<p>&copy 2020 a&nbsp b AT&T</p>", Markup("html")) == "<p>&copy 2020 a&nbsp b AT&amp;T</p>"


def test_numbers_of_no_characters_are_text() -> None:
    """However long they are, and where a reference to a note might stand."""
    text = f"<p>A<sup>&#{'1' * 5000};</sup> b</p>"
    assert translated(text, Markup("html")) in {text, text.replace("&", "&amp;")}


def test_xml_has_five_entities() -> None:
    """Any other entity in a translation would be undefined, so its & is escaped."""
    assert (
        translated("<p>A</p>", Markup("xml"), A="&nbsp; &lt &amp; &#8230; <")
        == "<p>&amp;nbsp; &amp;lt &amp; &#8230; &lt;</p>"
    )


def test_tags_stay_short() -> None:
    """Placeholders stay short whatever attributes a text contains."""
    taken = "".join([" n=", *(f" n{number}= n{'-' * number}= n{'1' * number}=" for number in range(500))])
    for text in (f"a n{'-' * 3000}= {'<b>' * 3000}", f"{taken} {'<b>' * 3000}"):
        tagged = Markup("html").read(text, "en", join_lines=True)
        assert sum(map(len, tagged.blocks)) < len(text) + 100_000


def test_words_on_two_lines_are_two() -> None:
    """Even in languages without spaces, words on two lines stay apart; the end of the text is preserved."""
    text = "これは Microsoft\n  Word\nです。<br>\n彼\n女。\n"
    joined = "これは Microsoft Wordです。<br>\n彼女。\n"
    assert translated(text, Markup("html"), "ja", join_lines=True) == joined
    assert lines_joined(text.replace("<br>", ""), "") == joined.replace("<br>\n", "")
    page = "<p>彼は\n<b>Linux</b>\n<i>Kernel</i>\nを見た。\n例、\n<code>ls</code>\nand <a>\nmore,\nor 1,\n000\n</a></p>"
    assert translated(page, Markup("html"), "ja", join_lines=True) == (
        "<p>彼は<b>Linux</b> <i>Kernel</i>を見た。例、<code>ls</code> and <a>more, or 1,000</a></p>"
    )
    assert lines_joined("It was \r\n\n cold\u2028today.\n", " ") == "It was cold today.\n"
    assert lines_joined("One <two\nthree> four", "") == "One <two three> four"


def test_lines_without_words_stay_as_they_are() -> None:
    """Lines of scripts, comments and pictures, for example, are not joined."""
    text = "<head>\n<script>a</script>\n<script>b</script>\n\n<!-- c -->\n<p>d</p>\n  <img>\n  <img>\n<p>e"
    assert translated(text, Markup("html"), "ja", join_lines=True) == text


def test_lines_are_kept_where_they_are_lines() -> None:
    """Line ends count in preformatted text and text areas; elsewhere they are mere white space."""
    text = "<p>a\nb</p></pre><pre>One\n  <b>two</b>\n</pre><p>c\n  d</p><textarea>e\nf</textarea>"
    assert translated(text, Markup("html"), join_lines=True) == text.replace("a\nb", "a b").replace("c\n  d", "c d")


PIECES = [
    "a",
    "b. ",
    "\n",
    "<b>",
    "</b>",
    "<p>",
    "</P>",
    "<br>",
    "<i x='>'>",
    "<!--",
    "-->",
    "&",
    "&amp;",
    "<",
    '"',
    "<x/>",
]


@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_any_text_is_html(text: str) -> None:
    """Any text can be read as HTML, and translating it into itself leaves the page unchanged."""
    assert html.unescape(translated(text, Markup("html"))) == html.unescape(text)


@pytest.mark.parametrize(
    "run",
    [
        "<b>",
        '<b a="',
        "<!--",
        "<![CDATA[",
        "<script>",
        "<b ",
        "<",
        "&",
        "</b>",
        "<p>",
        "1<br>",
        " ",
        "\n",
        "<li translate=no>",
        "<?",
        "<!DOCTYPE",
        "<a='",
        " n1=",
        "a<i>b</i>",
        "<ruby>",
        "<sup><a>",
        "<a>1</a>",
    ],
)
@pytest.mark.parametrize("kind", ["html", "xml"])
def test_no_run_of_characters_takes_long(run: str, kind: Any) -> None:
    """250,000 characters of the same: if the time grew with the square of the length, this would never end."""
    text = f"a{run * (250_000 // len(run))}b"
    try:
        found = Markup(kind).read(text, "en", join_lines=True)
        found.segmented([Segmented((), (block,)) for block in found.blocks])
    except InvalidInputError:
        assert kind == "xml"
    else:
        assert sum(map(len, found.around)) + len("".join(found.tags)) <= len(text)
