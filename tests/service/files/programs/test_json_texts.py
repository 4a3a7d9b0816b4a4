"""Programs' texts in JSON: which are translated; everything else stays as it is."""

import json
import re
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.errors import InvalidInputError
from service.files.programs.json_texts import html_of, with_translation
from service.texts.tags import html_tokens
from tests.support.words import capital, is_no_name


def capitals(file: str, encoding: str = "utf-8") -> str:
    """Pretend to translate a file, by capitalizing the letters that stand for words."""
    content = file.encode(encoding)
    return with_translation(content, capital(html_of(content))).decode()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"x": "x"}', '{"x": "X"}'),
        ('{\n\t"x" :"y",\n\t"z": {"x": ["y", "z"]}\n}\n', '{\n\t"x" :"Y",\n\t"z": {"x": ["Y", "Z"]}\n}\n'),
        ('["x", {"y": "y"}, [["z"]], 1.50, 1e999, true, null]', '["X", {"y": "Y"}, [["Z"]], 1.50, 1e999, true, null]'),
        ('"x"', '"X"'),
        ('{"a": " x\\n"}', '{"a": " X\\n"}'),
        ('{"a": "x\\ny"}', '{"a": "X\\nY"}'),
        ('{"a": "x \\"y\\" \\\\"}', '{"a": "X \\"Y\\" \\\\"}'),
        ('{"a": "\\u0078 あ"}', '{"a": "X あ"}'),
        ('{"a": "x \\u3042", "b": "\\u3042"}', '{"a": "X \\u3042", "b": "\\u3042"}'),
        ('{"a": "x\\r\\ny\\n\\n \\u001b[1mz"}', '{"a": "X\\r\\nY\\n\\n \\u001b[1mz"}'),
        ('{"a": "x &amp; y < z"}', '{"a": "X &amp; Y < Z"}'),
        ('{"a": "x <b title=\\"v\\">y</b> &amp; z"}', '{"a": "X <b title=\\"v\\">Y</b> &amp; Z"}'),
        ('{"a": "<0>x</0> y<1/>"}', '{"a": "<0>X</0> Y<1/>"}'),
        ('{"a": "x<br/><img alt=\\"v > w\\"/>"}', '{"a": "X<br/><img alt=\\"v > w\\"/>"}'),
        ('{"a": "<t-0>x</t-0>"}', '{"a": "<t-0>X</t-0>"}'),
        ('["x/y", "/x", "x/y.", "/x y/z.w"]', '["X/Y", "/X", "X/Y.", "/X Y/Z.w"]'),
        ('{"a": "x", "a": "y"}', '{"a": "X", "a": "Y"}'),
        ('{"a\\"b": "x", "{": "y", ":": "z"}', '{"a\\"b": "X", "{": "Y", ":": "Z"}'),
    ],
)
def test_values_are_translated(before: str, after: str) -> None:
    """Values that are strings are translated; everything else stays, byte for byte."""
    assert capitals(before) == after


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("x | y", 2),
        ("x |a| y", 1),
        ("x |a|", 1),
        ("x|y", 2),
        ("{0} x|[1,19] y|[20,*] z", 3),
        ("x || y", 1),
        ("x {a|b} y", 1),
        ("x {{ y | z }}", 1),
        ("x{'|'}y", 1),
        ("<b>x|y</b>", 2),
    ],
)
def test_parts_of_a_text_are_texts_of_their_own(text: str, parts: int) -> None:
    """Vue and Laravel separate plural forms by a bar; any other bar divides nothing."""
    content = json.dumps([text]).encode()
    assert html_of(content).count("<br ") == parts - 1
    assert json.loads(with_translation(content, html_of(content))) == [text]


@pytest.mark.parametrize(
    "file",
    [
        '{"@@x": "x", "@a": {"x": "x", "y": ["y", {"z": "z"}]}, "@b": "x"}',
        '{"a": "", "b": " ", "c": "1,234", "d": "https://example.org/x"}',
        '{"a": "v"}',
        '{"a": "#fffaaa", "b": "x.y", "c": "x_y"}',
        '{"a": "./x/y.z", "b": "../x", "c": "/x/y-z", "d": "x-y/z.w", "e": "/x/y/"}',
        "{}",
        " [ ] ",
        "1",
    ],
)
def test_what_is_no_text_stays(file: str) -> None:
    """This includes metadata in .arb files, however deeply nested."""
    assert capitals(file) == file


@pytest.mark.parametrize(
    "value",
    [
        "2024-05-03T10:11:12.345Z",
        "2024-05-03T10:11:12+09:00",
        "550e8400-e29b-41d4-a716-446655440000",
        "0123456789abcdef01234567",
        *("application/json", "image/svg+xml", "text/html; charset=utf-8", "en-US", "zh-Hant-TW", "utf-8"),
        *("MMM d, yyyy", "YYYY-MM-DD", "h:mm a", "HH:mm:ss", "true", "10px", "1.5rem"),
    ],
)
def test_what_programs_write_is_no_text(value: str) -> None:
    """Times, ids, media types, date formats and the like stay: a model would garble them."""
    assert html_of(json.dumps({"a": value}).encode()) == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            '{"a": {"id": "x", "description": "y", "defaultMessage": "z"}}',
            '{"a": {"id": "x", "description": "y", "defaultMessage": "Z"}}',
        ),
        (
            '{"a": {"message": "x", "description": "y", "placeholders": {"b": {"content": "z"}}}}',
            '{"a": {"message": "X", "description": "y", "placeholders": {"b": {"content": "z"}}}}',
        ),
        ('{"locale": "x", "translations": {"a": "y"}}', '{"locale": "x", "translations": {"a": "Y"}}'),
        ('{"message": "x", "description": "y", "id": "z"}', '{"message": "X", "description": "Y", "id": "Z"}'),
    ],
)
def test_notes_beside_a_text_stay(before: str, after: str) -> None:
    """Neighbouring names tell notes from texts: those of FormatJS, of browser extensions, of Angular."""
    assert capitals(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "audio/video",
        "and/or",
        "Sammy",
        "a, an",
        "H, M",
        "x-y",
        "True",
        "state-of-the-art",
        "M" * 100_000,
        "a " * 100_000,
    ],
)
def test_what_only_looks_like_it_is_one(text: str) -> None:
    """Texts that merely look like codes or formats are translated, however long they are."""
    assert html_of(json.dumps({"a": text}).encode()) == text.strip()


def test_what_stands_behind_what_is_said_of_a_text() -> None:
    """After a text's metadata, texts are translated again."""
    assert capitals('{"@a": {"b": "x"}, "c": "x", "d": [{"@e": "x"}, "y"]}') == (
        '{"@a": {"b": "x"}, "c": "X", "d": [{"@e": "x"}, "Y"]}'
    )


@pytest.mark.parametrize("tags", ["<b>x", "x</b>", "<b><i>x</b></i>", "<name> x", "<script>x</script>", "<!-- x y"])
def test_tags_that_are_in_no_order_are_signs(tags: str) -> None:
    """Unbalanced tags are taken as characters; as tags they would extend into the next text, or hide it."""
    file = json.dumps([tags, "y"])
    assert "&lt;" in html_of(file.encode())
    assert json.loads(capitals(file)) == [capital(tags), "Y"]


@pytest.mark.parametrize(
    "text", ["x<br/>y", "x <1/> y", '<a title="v > w">x</a>', "<code>x</code> y", "<p>x<hr></p>", "<!-- v --> x"]
)
def test_tags_that_are_in_order_are_tags(text: str) -> None:
    """Balanced tags are tags, including self-closing ones and comments."""
    assert html_of(json.dumps([text]).encode()) == text.replace("<1/>", "<t-1/>")


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("It&#39;s x &copy; &hellip;", "It&#39;s x &copy; &hellip;"),
        ("x &Save; &amp y", "x &amp;Save; &amp;amp y"),
        ("x < y &amp; z", "x &lt; y &amp;amp; z"),
    ],
)
def test_entities_are_read(text: str, read_as: str) -> None:
    """As in HTML, which such a text is for; not what only looks like one."""
    content = json.dumps([text]).encode()
    assert html_of(content) == read_as
    assert with_translation(content, read_as).decode() == content.decode()


@pytest.mark.parametrize("text", ["<0>x</0> & y", "<0>x</0> &amp; y", "x & y", "x &amp; y"])
def test_an_ampersand_is_written_as_the_text_has_it(text: str) -> None:
    """It is an entity only in texts that use entities, since whatever displays the others may not know any."""
    content = json.dumps([text]).encode()
    page = re.sub("&(?!amp;)", "&amp;", html_of(content))
    assert json.loads(with_translation(content, page.replace("y", "Y"))) == [text.replace("y", "Y")]


_FRAGMENTS: Final = (
    *(
        "x",
        " ",
        "<b>",
        "</b>",
        "<br/>",
        "<1>",
        "</1>",
        "<code>",
        "</code>",
        '<br a="',
        "<code a=b/>",
        "<code a/>",
        '<p translate="no">',
    ),
    *(
        "<p translate=no class=a/>",
        "</p>",
        '<a title="',
        "<a title='",
        '<b x" ="y>',
        "<i =",
        '">',
        "'>",
        "<!--",
        "<?",
        "<",
    ),
)


@pytest.mark.parametrize(
    ("text", "blocks"),
    [
        ("<b>x</b>\ny\r\nz", ["<b>x</b>", "\ny", "\r\nz"]),
        ("<b>x\n\ny</b>", ["<b>x", "\n\ny</b>"]),
        ("x | <b>y</b> z | y|z", ["x ", "| <b>y</b> z ", "| y", "|z"]),
        ("x | y", ["x ", "| y"]),
        ("<b>x</b> y\n  z", ["<b>x</b> y\n  z"]),
        ('<a\ntitle="v\nw">x</a>', ['<a\ntitle="v\nw">x</a>']),
        ("<p>x\ny</p>", ["<p>x\ny</p>"]),
        (
            "x {n, plural, one {<b>v</b>} other {<b>w</b>}}",
            ["x [{n, plural, one {&lt;b&gt;v&lt;/b&gt;} other {&lt;b&gt;w&lt;/b&gt;}}]"],
        ),
        (
            "{a, select, b {{n, plural,\n one {v. {w}}\n other {x|y}}}} x\n{n, plural, y {n, plural, {{0}} }",
            [
                "[{a, select, b {{n, plural,\n one {v. {w}}\n other {x|y}}}}] x",
                "\n{n, plural, y [{n, plural, {{0}} }]",
            ],
        ),
    ],
)
def test_lines_of_texts_with_tags(text: str, blocks: list[str]) -> None:
    """A line break ends a sentence unless the line goes on or tags decide; what ICU chooses from is a word."""
    page = re.sub(
        r'<code id="[0-9a-f]{16}">(.*?)</code>', r"[\1]", html_of(json.dumps([text, "v"]).encode()), flags=re.DOTALL
    )
    assert re.split(r'<br id="[0-9a-f]{16}">', page.partition("<hr id=")[0]) == blocks
    assert json.loads(capitals(json.dumps([text]))) == [capital(text)]


@given(st.lists(st.lists(st.sampled_from(_FRAGMENTS), max_size=5).map("".join), max_size=3))
def test_no_tag_goes_on_in_the_next_text(texts: list[str]) -> None:
    """Each text ends where it should, however the tags in it are parsed for translation."""
    page = html_of(json.dumps(["x", *texts, "x"]).encode())
    between = [token.raw for token in html_tokens(page, frozenset()) if token.raw.startswith("<hr id=")]
    assert len(between) == page.count("<hr id=") > 0


def test_texts_are_apart() -> None:
    """A separator keeps sentences from continuing from one text into the next."""
    first, between, second = html_of(b'["x", "<i>y</i>"]').partition('<hr id="')
    assert (first, bool(between), second[16:]) == ("x", True, '"/><i>y</i>')


def test_byte_order_mark() -> None:
    """UTF-8's is preserved; a file in UTF-16 becomes UTF-8."""
    assert capitals('["x"]', "utf-8-sig") == '\ufeff["X"]'
    assert capitals('["x"]', "utf-16") == '["X"]'


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b'{"a": "x" 1}', "file: is not valid JSON from line 1, column 11 on"),
        (b'{\n"a"}', "file: is not valid JSON from line 2, column 4 on"),
        (b"", "file: is not valid JSON from line 1, column 1 on"),
        (b'["x" // y\n]', "file: is not valid JSON from line 1, column 6 on"),
        (b"[" * 65 + b"]" * 65, "file: is nested more than 64 levels deep"),
        (b"[" * 100_000, "file: is nested more than 64 levels deep"),
        (b'[\n"x \\ud83d"]', "file: line 2 has half of a surrogate pair (\\ud800 to \\udfff)"),
        (b'"\xff"', "file: is not in UTF-8: byte 1"),
    ],
)
def test_what_is_no_json_is_refused(content: bytes, reason: str) -> None:
    """The error says what is wrong, and where."""
    with pytest.raises(InvalidInputError) as error:
        html_of(content)
    assert str(error.value) == reason


def test_many_texts_are_refused() -> None:
    """They are refused before any work is done."""
    with pytest.raises(InvalidInputError, match="file: has more than 100000 texts"):
        html_of(json.dumps(["x"] * 100_001).encode())


_TEXTS = st.text(st.sampled_from('xy \\"\n\tあ<>&/b@{}[]:,'), max_size=8).filter(is_no_name)
_VALUES = st.recursive(
    _TEXTS | st.none() | st.floats(allow_nan=False), lambda of: st.lists(of) | st.dictionaries(_TEXTS, of)
)


@given(_VALUES, st.booleans())
def test_any_json_has_the_same_form_again(value: object, as_numbers: bool) -> None:
    """A translated file differs only in its texts."""
    file = json.dumps(value, ensure_ascii=as_numbers, indent=1)

    def same(one: object, other: object) -> bool:
        if isinstance(one, str) and isinstance(other, str):
            return other in {one, capital(one)}
        if isinstance(one, list) and isinstance(other, list):
            return len(one) == len(other) and all(map(same, one, other))
        if isinstance(one, dict) and isinstance(other, dict):
            return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
        return one == other

    assert same(value, json.loads(capitals(file)))
