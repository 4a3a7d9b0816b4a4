"""Translation tools' files: which segments are translated; everything else stays as it is."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from service.errors import InvalidInputError
from service.files.kinds import kind_of
from service.files.messages import Page
from service.files.xliff.files import html_of, with_translation
from tests.support.words import capital

DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
OLD = 'state="needs-review-translation" state-qualifier="leveraged-mt"'

DIVIDED = '<mrk mtype="seg" mid="1">x.</mrk> <mrk mtype="seg" mid="2">y.</mrk>'


def old(*units: str, translate: str = "yes") -> bytes:
    """A file of version 1.2."""
    body = "".join(f'<trans-unit id="{number}">{unit}</trans-unit>' for number, unit in enumerate(units))
    return (
        f'{DECLARATION}<xliff xmlns="urn:oasis:names:tc:xliff:document:1.2" version="1.2"><file source-language="ja"'
        f' target-language="en" original="a" datatype="plaintext"><body><group translate="{translate}">{body}</group>'
        f"</body></file></xliff>"
    ).encode()


def new(*segments: str) -> bytes:
    """A file of version 2.0."""
    body = "".join(f'<unit id="{number}">{segment}</unit>' for number, segment in enumerate(segments))
    return (
        f'{DECLARATION}<xliff xmlns="urn:oasis:names:tc:xliff:document:2.0" version="2.0" srcLang="ja" trgLang="en">'
        f'<file id="f">{body}</file></xliff>'
    ).encode()


def units(content: bytes) -> list[str]:
    """The content of each unit of a file."""
    return re.findall(r"<(?:trans-unit|unit) id=\"\d+\">(.*?)</(?:trans-unit|unit)>", content.decode(), re.DOTALL)


def segments(content: bytes) -> list[str]:
    """The segments of a file as HTML."""
    return html_of(content).split(Page(content).between)


def capitals(content: bytes) -> bytes:
    """Pretend to translate a file, by capitalizing the letters that stand for words."""
    return with_translation(content, capital(html_of(content)))


@pytest.mark.parametrize(
    ("unit", "html"),
    [
        ("<source>x</source>", "x"),
        ('<source>x <g id="1">y</g> z</source>', 'x <a id="0">y</a> z'),
        ('<source>x<x id="1"/><ph id="2">&lt;br/&gt;</ph>y</source>', 'x<img id="0"><img id="1">y'),
        (
            '<source><bpt id="1">&lt;b&gt;</bpt>x<ept id="1">&lt;/b&gt;</ept></source>',
            '<a id="0">x</a>',
        ),
        ('<source><bx id="1" rid="7"/>x <x id="2"/><ex id="3" rid="7"/></source>', '<a id="0">x <img id="1"></a>'),
        ('<source><bpt id="1"/><bpt id="2"/>x<ept id="2"/>y<ept id="1"/></source>', '<a id="0"><a id="1">x</a>y</a>'),
        (
            '<source><bpt id="1"/><bpt id="2"/>x<ept id="1"/>y<ept id="2"/></source>',
            '<a id="0"><img id="1">x</a>y<img id="2">',
        ),
        ('<source><ept id="1"/>x<bpt id="1"/></source>', '<img id="0">x<img id="1">'),
        ('<source>x <mrk mtype="protected">y</mrk></source>', 'x <img id="0">'),
        (
            '<source>x {N, plural, one {a <x id="1"/>} other {{M, select, b {c}}}} <g id="2">y</g></source>',
            'x <code>{N, plural, one {a <img id="0">} other {{M, select, b {c}}}}</code> <a id="1">y</a>',
        ),
        ("<source>x &lt;b&gt; &amp;amp;</source>", "x &lt;b&gt; &amp;amp;"),
        ("<source>x &lt;b&gt;y&lt;/b&gt; &amp;amp;</source>", "x <b>y</b> &amp;"),
        ("<source><![CDATA[<p>x</p><p>y</p>]]></source>", "<p>x</p><p>y</p>"),
        ("<source>x</source><target>v</target>", "x"),
        ("<source/>", ""),
        ("<note>x</note>", ""),
    ],
)
def test_segments_are_read_as_html(unit: str, html: str) -> None:
    """Inline elements become numbered tags; translated segments are read as well, as context for later ones."""
    assert html_of(old(unit)) == html


def test_line_ends_a_sentence() -> None:
    """With or without elements in the segment."""
    assert re.fullmatch(r'x<br id="\w+">\ny', html_of(old("<source>x\ny</source>")))
    assert html_of(old('<source>x\n<g id="1">y</g></source>')) == 'x<br><a id="0">y</a>'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("<source>x</source>", f"<source>x</source><target {OLD}>X</target>"),
        ("<source>x</source><note>n</note>", f"<source>x</source><target {OLD}>X</target><note>n</note>"),
        ("<source>x</source><target/>", f"<source>x</source><target {OLD}>X</target>"),
        ("<source>x</source><target>x</target>", f"<source>x</source><target {OLD}>X</target>"),
        (
            '<source xml:space="preserve">x</source>',
            f'<source xml:space="preserve">x</source><target {OLD} xml:space="preserve">X</target>',
        ),
        ("<source>x</source><target>v</target>", "<source>x</source><target>v</target>"),
        ('<source>x</source><target state="final">x</target>', '<source>x</source><target state="final">x</target>'),
        (
            '<source>x <g id="1">y<x id="2"/></g></source>',
            f'<source>x <g id="1">y<x id="2"/></g></source><target {OLD}>X <g id="1">Y<x id="2"/></g></target>',
        ),
        (
            '<source><g id="1">x {N, plural, one {<x id="2"/> a &lt;}} y</g></source>',
            (
                f'<source><g id="1">x {{N, plural, one {{<x id="2"/> a &lt;}}}} y</g></source>'
                f'<target {OLD}><g id="1">X {{N, plural, one {{<x id="2"/> a &lt;}}}} Y</g></target>'
            ),
        ),
        (
            "<source>x &lt;b&gt;y&lt;/b&gt; &amp;amp;</source>",
            f"<source>x &lt;b&gt;y&lt;/b&gt; &amp;amp;</source><target {OLD}>X &lt;b&gt;Y&lt;/b&gt; &amp;amp;</target>",
        ),
        (
            "<source><![CDATA[<p>x</p>y]]></source>",
            f"<source><![CDATA[<p>x</p>y]]></source><target {OLD}>&lt;p&gt;X&lt;/p&gt;Y</target>",
        ),
        (
            f"<source>x. y.</source><seg-source>{DIVIDED}</seg-source>",
            f"<source>x. y.</source><seg-source>{DIVIDED}</seg-source><target {OLD}>{capital(DIVIDED)}</target>",
        ),
    ],
)
def test_targets_are_made_where_there_is_no_translation(before: str, after: str) -> None:
    """The new targets are marked as machine translation in need of review."""
    assert units(capitals(old(before))) == [after]


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            '<mrk mtype="seg" mid="2">v</mrk><mrk mtype="seg" mid="1"/>',
            'mid="2">v</mrk><mrk mtype="seg" mid="1">X.</mrk>',
        ),
        ('<mrk mtype="seg" mid="2">v</mrk>', 'mid="2">v</mrk><mrk mtype="seg" mid="1">X.</mrk>'),
        ('<mrk mtype="seg" mid="1">v</mrk>', 'mid="1">v</mrk><mrk mtype="seg" mid="2">Y.</mrk>'),
    ],
)
def test_a_target_that_is_translated_in_part_is_completed(target: str, expected: str) -> None:
    """Parts are matched by their ids, in any order."""
    content = old(f"<source>x. y.</source><seg-source>{DIVIDED}</seg-source><target>{target}</target>")
    assert segments(content) == ["x.", "y."]
    assert re.sub(r"</mrk>\s+", "</mrk>", units(capitals(content))[0]).endswith(f"{expected}</target>")


@pytest.mark.parametrize("target", ["", "<target/>", "<target>{}</target>", "<target>x. y.</target>"])
def test_tags_that_no_part_has_are_in_the_target(target: str) -> None:
    """Trados puts, for example, bold around a paragraph's sentences, and pictures between them."""
    divided = DIVIDED.replace("</mrk> ", '</mrk> <x id="4"/>')
    around = f'<x id="3"/><g id="5">{divided}</g> '
    there = target.format(re.sub(r"[xy]\.", "", around))
    content = old(f"<source>x. y.</source><seg-source>{around}</seg-source>{there}")
    assert segments(content) == ["x.", "y."]
    (unit,) = units(capitals(content))
    assert unit.endswith(f"<target {OLD}>{around.replace('x.', 'X.').replace('y.', 'Y.')}</target>")


def test_a_division_without_parts_is_none() -> None:
    """The whole source is then one segment."""
    (unit,) = units(capitals(old("<source>x</source><seg-source>x</seg-source>")))
    assert unit == f"<source>x</source><seg-source>x</seg-source><target {OLD}>X</target>"


def test_what_is_still_to_be_translated_is() -> None:
    """A target in the state `new` is replaced, even if a tool has put a placeholder there."""
    (unit,) = units(capitals(old('<source>x</source><target state="new">TODO</target>')))
    assert unit == f"<source>x</source><target {OLD}>X</target>"


def test_segments_of_the_second_version() -> None:
    """All segments of a unit are read; what lies between them is ignored, and reviewed ones are left alone."""
    content = new(
        '<segment><source>x <pc id="1">y</pc></source></segment><ignorable><source> </source></ignorable>'
        "<segment><source>z</source><target>z</target></segment>",
        '<segment state="reviewed"><source>x</source><target>v</target></segment>',
    )
    assert segments(content) == ['x <a id="0">y</a>', "z", "x"]
    first, second = units(capitals(content))
    assert first.startswith(
        '<segment state="translated"><source>x <pc id="1">y</pc></source><target>X <pc id="1">Y</pc>'
    )
    assert first.endswith("</ignorable>" + '<segment state="translated"><source>z</source><target>Z</target></segment>')
    assert second == '<segment state="reviewed"><source>x</source><target>v</target></segment>'


@pytest.mark.parametrize("namespace", ["", ' xmlns="urn:oasis:names:tc:xliff:document:1.1"'])
def test_segments_of_versions_before(namespace: str) -> None:
    """The oldest version had no namespace, and TYPO3's files still have none."""
    content = old("<source>x</source>", "<source>y</source><target>v</target>")
    before = re.sub(rb' xmlns="[^"]*"', namespace.encode(), content)
    assert units(capitals(before)) == units(capitals(content))
    assert f"<xliff{namespace} " in capitals(before).decode()


def test_a_document_type_of_an_old_file_stays() -> None:
    """A document type that refers to external declarations is kept; they are not read."""
    doctype = b'<!DOCTYPE xliff PUBLIC "-//XLIFF//DTD XLIFF//EN" "http://x.example/xliff.dtd">\n<xliff '
    content = old("<source>x</source>").replace(b"<xliff ", doctype)
    assert units(capitals(content)) == units(capitals(old("<source>x</source>")))
    assert doctype in capitals(content)


def test_what_is_not_to_be_translated_is_not() -> None:
    """`translate` on a unit or an element around it decides; the innermost counts."""
    assert html_of(old("<source>x</source>", translate="no")) == ""
    nested = old("<source>x</source>", translate="no").replace(b'id="0"', b'id="0" translate="yes"')
    assert html_of(nested) == "x"


@pytest.mark.parametrize(
    ("content", "attribute"),
    [(old("<source>x</source>"), "target-language"), (new("<segment><source>x</source></segment>"), "trgLang")],
)
def test_language_of_targets_is_said(content: bytes, attribute: str) -> None:
    """A file of 2.x with targets is invalid without it; a language that the file already states is kept."""
    said = f' {attribute}="en"'.encode()
    assert said in content
    for before, after in ((content, said), (content.replace(said, b""), f' {attribute}="fr"'.encode())):
        written = kind_of("a.xlf").written(before, "X", "fr")
        assert (written.count(after), written.count(attribute.encode())) == (1, 1)
        assert b">X</target>" in written


def test_what_somebody_has_locked_stays() -> None:
    """A unit locked by memoQ or a segment locked by Trados is only read as context; others are translated."""
    unit = old("<source>x</source><target>x</target>").replace(b'id="0"', b'id="0" xmlns:mq="m" mq:locked="locked"')
    assert segments(unit) == ["x"]
    assert b">x</target>" in capitals(unit)
    said = '<s:seg-defs xmlns:s="s"><s:seg id="1" locked="true"/><s:seg id="2"/></s:seg-defs>'
    content = old(f"<source>x. y.</source><seg-source>{DIVIDED}</seg-source><target>{DIVIDED}</target>{said}")
    assert segments(content) == ["x.", "y."]
    assert DIVIDED.replace("y.", "Y.") in units(capitals(content))[0]


@pytest.mark.parametrize("run", ["\n", "a ", "{a,select,b{c}}"])
def test_a_segment_in_many_pieces_takes_no_long_time(run: str) -> None:
    """A megabyte of the same beside a tag: if the time grew with the square of the length, this would never end."""
    text = run * (1_000_000 // len(run))
    content = old(f'<source>x<x id="1"/>{text}</source>')
    (translated,) = units(with_translation(content, html_of(content)))
    assert translated.endswith(f'>x<x id="1"/>{text}</target>')


def test_words_in_another_order_keep_what_is_around_them() -> None:
    """Elements move with their words; one without a place comes last, and none comes twice, as ids must not."""
    content = old('<source>x <g id="1">y</g><x id="2"/><ph id="3">c</ph></source>')
    (found,) = units(with_translation(content, '<a id="0">Y</a> X<img id="2">'))
    assert found.endswith('<g id="1">Y</g> X<ph id="3">c</ph><x id="2"/></target>')
    (found,) = units(with_translation(content, '<a id="0">Y</a> X<img id="2"><a id="0">Z</a><img id="2">'))
    assert found.endswith('<g id="1">Y</g> X<ph id="3">c</ph>Z<x id="2"/></target>')


def test_limits_of_words_stay_with_the_words() -> None:
    """What is bold may have elements for its beginning and its end, which move together and are there once."""
    content = new(
        '<segment><source>x <sc id="1"/>y<ec startRef="1"/> <sm id="2"/>z<em startRef="2"/></source></segment>'
    )
    (segment,) = segments(content)
    assert segment == 'x <a id="0">y</a> <a id="1">z</a>'
    for translation, expected in (
        ('<a id="0">Y</a> X', '<sc id="1"/>Y<ec startRef="1"/> X<sm id="2"/><em startRef="2"/>'),
        (
            '<a id="1">Z <a id="0">Y</a> <a id="0">X',
            '<sm id="2"/>Z <sc id="1"/>Y<ec startRef="1"/> X<em startRef="2"/>',
        ),
    ):
        (found,) = units(with_translation(content, translation))
        assert f"<target>{expected}</target>" in found


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not XLIFF: it is empty"),
        (b"text", "is not XLIFF: document empty, line 1, column 1$"),
        (b"<xliff>\n<secret", "is not XLIFF: gt required, line 2, column 8$"),
        (b"<xliff>&secret;</xliff>", "is not XLIFF: undeclared entity, line 1, column 16$"),
        (b"<a/>", "is not XLIFF of version 1.x or 2.0 to 2.2"),
        (b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>', "declares its own elements or entities"),
        (b"<!DOCTYPE a [<!ELEMENT a ANY>]><a/>", "declares its own elements or entities"),
        (b"<a>" + b"<b/>" * 500_001 + b"</a>", "has more than 500000 tags"),
        (b"<a xmlns:b='" + b"b" * 257 + b"'><b:c/></a>", "a namespace whose name is longer than 256 characters"),
        (b"<a " + b" ".join(b"a%d=''" % n for n in range(201)) + b"/>", "an element with more than 200 attributes"),
        (old('<source>x<trans-unit id="9"><source>y</source></trans-unit></source>'), "segments within segments"),
    ],
)
def test_what_is_none_is_said(content: bytes, said: str) -> None:
    """The error says what is wrong with the file, without its words."""
    with pytest.raises(InvalidInputError, match=said) as refused:
        html_of(content)
    assert "secret" not in str(refused.value)


INSIDE = st.recursive(
    st.sampled_from(["", "x", " y ", '<x id="1"/>', "<!-- c -->", "<ph>p</ph>", "&amp;", "\n"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map("".join),
        inner.map('<g id="2">{}</g>'.format),
        inner.map('<bpt id="3">b</bpt>{}<ept id="3"/>'.format),
    ),
    max_leaves=6,
)


@given(INSIDE)
def test_a_source_put_in_again_is_the_target(inside: str) -> None:
    """If the translation equals the source, so does the target, whatever is in it."""
    content = old(f"<source>{inside}</source>")
    root = etree.fromstring(with_translation(content, html_of(content)))
    source, target = (root.find(f".//{{*}}{name}") for name in ("source", "target"))
    assert source is not None
    said = etree.tostring(source, method="c14n", with_tail=False).decode()
    if target is None:
        assert not "".join(source.itertext()).strip()
    else:
        found = etree.tostring(target, method="c14n", with_tail=False).decode()
        assert found.replace(f" {OLD}", "").replace("target", "source") == said
