"""Parts of a text that a model does not read, but that have to be in the translation."""

import re
from dataclasses import replace

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.glossary import Term
from models.text.markup import with_places
from models.text.spelt import Spelt
from models.text.verbatim import Spelling
from tests.support.servers import ROOT

PRETRAINED = ROOT / "models" / "pretrained"


@pytest.fixture(scope="module")
def english() -> Spelling:
    """How the shipped English-Japanese model reads."""
    return Spelling(Nearest(Tokenizer.load(PRETRAINED / "en-ja").source))


@pytest.fixture(scope="module")
def japanese() -> Spelling:
    """How the shipped Japanese-English model reads."""
    return Spelling(Nearest(Tokenizer.load(PRETRAINED / "ja-en").source))


@pytest.mark.parametrize(
    "verbatim",
    [
        "https://example.org/page?id=12&lang=ja#top",
        "http://localhost:8000",
        "https://ja.wikipedia.org/wiki/Kyoto_(city)",
        "<https://example.org/a_(b)>",
        "<first.last@example.co.jp>",
        *("redis://localhost:6379/0", "s3://bucket/a_b/c.csv", "file:///etc/hosts", "git+ssh://git@example.org/a.git"),
        "git@example.org:name/site.git",
        "www.example.org/",
        "first.last+tag@example.co.jp",
        "{name}",
        "{{ user.name }}",
        "${HOME}",
        "%{count}",
        *("{}", "{0}", "{0:d}", "{price:,.2f}", "{name!r}", "{items[0]}", "${user.getName()}", "{{ name | upper }}"),
        *(
            "%name%",
            "<%= name %>",
            "<Link>",
            "<userName/>",
            "<file_name>",
            "&lt;FILE_NAME&gt;",
            "<!-- a 京都 b -->",
            "{\\an8}",
        ),
        "{count, plural, one {# item} other {# items}}",
        "{0,choice,0#none|1#one|1<{0,number,integer} files}",
        "{n, plural, =0{none} other{{n} items of {all}}}",
        *("{n, number}", "{ day , date , ::yMMMd }", "{0,number,#.##}", "{t, time, short}"),
        *("{$NAME}", "{'@'}", "@:name", "@.upper:name.of.text", "@:{'name'}", '$t(name.of, {"count": 2})', "$NAME$"),
        *("%%", "%n", "%1", "%L2", "%'d", "%-*s", "%.*s", "%p", "%jd", "%<PRIu32>", "%&lt;PRIuMAX&gt;"),
        *("{% if user.name %}", "{%- endif -%}", "{% a 5 % 2 %}", "%#@files@", "%1$#@files@"),
        *("{n, number}", "{day,date,short}", "{n, number, ::currency/USD}", "{{{name}}}"),
        *("[1,19]", "]1,Inf[", ":name", ":smile:", "$x^2 + y$", "$a_1 = b_2$"),
        *(
            "$$x^2$$",
            r"\(x^2 + y\)",
            r"\(n\)",
            r"\[\frac{a}{b}\]",
            "H~2~O",
            "10⁶",
            "3.5⁻¹²",
            "1½",
            "¾",
            *("___", "＿＿＿＿"),
            *("$5.99", "US$1,000", "HK$500", "¥ 1,200", "€20", "£0.50", "₹500", "₩9,900", "20 €", "1.299,50€"),
            "[@name, p. 3]",
            "[-@name; @other2020]",
            "10 m^2^",
            "10^-3^",
            "%%name%%",
            "{0,-10:N2}",
            "{0,5}",
        ),
        "HTTPS://EXAMPLE.COM/A",
        "%s",
        "%1$d",
        *("%H:%M:%S", "%d/%d", "%d.%d", "${host}:${port}", "{first}-{last}", "{{ hours }}:{{ minutes }}"),
        "%(total).2f",
        "`make demo`",
        "``a ・ b``",
        "<name>",
        '<x id="1"/>',
        "<code class='a'>ls -l</code>",
        *(":ref:`tools`", ":py:func:`os.path.join`", ":func:`it <os.path>`", "`the guide`_", "|version|"),
        "`<https://www.debian.org/doc/debian-policy/ch-binary.html#summary-and-description-of-all>`__",
        "`&lt;https://www.debian.org/doc/debian-policy/ch-binary.html#summary-and-description-of-all&gt;`_",
        *("[1]_", "[#]_", "[CIT2002]_"),
        *("`*.py`", "`**kwargs`", "`<b>`", "`</b>`", "`[a](b)`", "`~~a~~`", "`a_`"),
        *("<!-- <b>a</b> -->", '{{ "<b>a</b>" | safe }}', "{n, plural, one {<b>#</b> item} other {**#** items}}"),
        *("$x^*$", "$x^{*}$"),
        "&lt;br/&gt;",
        *("@name", "@name_2", "@scope/a-b.c", "@name@host.example.org"),
        "#123",
        *(
            "README.md",
            "src/main.py",
            "a.tar.gz",
            "IMG_001.JPG",
            "Node.js",
            "example.org",
            "example.co.jp/a-b/c.html",
            "ftp.jp.example.org",
            "a.yaml.bak",
        ),
        *("/etc/hosts", "~/docs/a", "./configure", "../a/b/", r"C:\Users\me\app.log"),
        *(
            "max_length",
            r"max\_length",
            "DATABASE_URL",
            "user__name",
            "object.user_id",
            "parse_date()",
            "size()",
            "std::sort()",
            "a->b()",
            *("printf(3)", "sources.list(5)", "gtkrc(3x)"),
        ),
    ],
)
@pytest.mark.parametrize("around", ["See {} for details.", "({})", "{}, then {}!", "詳細は{}を参照。", "{}。"])
def test_a_stand_in_is_read_for_an_address_or_a_placeholder(japanese: Spelling, verbatim: str, around: str) -> None:
    """The punctuation around it is read, and everything is restored in its place."""
    text = around.replace("{}", verbatim)
    spelt = japanese.of(text)
    assert verbatim not in spelt.text
    assert spelt.text == around.replace("{}", "ABC", 1).replace("{}", "JR", 1)
    assert [kept for _, kept in spelt.replaced] == [verbatim] * around.count("{}")
    assert spelt.restored(spelt.text).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    "text",
    [
        "25% of it",
        "a @ b",
        "{1, 2}",
        "e-mail",
        "50%ige",
        "https://",
        "%",
        "{two words}",
        "{a, b}",
        "{a, date of birth}",
        "5%a 6%",
        "5%off%",
        "choose {red|green|blue}",
        "100 %",
        "`quoted'",
        "``quoted''",
        "`one' and `other'",
        "` a `",
        f"`{'a' * 81}`",
        *("a@b", "@ 100 yen", "@5 pm", "@@", "@: home"),
        *("$ a $", "5%1", "{'a', 'b'}", "t(name)"),
        *("a#1", "#1a", "# 1", "##1"),
        "R&D; a & b",
        "&unheardof;",
        "x = &timestamp; &region;",
        "&#xF0000; &#1; &nvlt;",
        "a < b > c",
        *(r"\(see above\)", "2^nd^", "1~2~3", "$$ a $$"),
        *("about km2", "25 km", "3 m2a", "25 km23", "1 in 2 women", "a m3"),
        *(
            "and/or",
            "his/her/their",
            "w/o",
            "TCP/IP",
            "km/h",
            "it ended.In 1990",
            "U.S.A.",
            "e.g. a.m.",
            "f (x)",
            "a page (3)",
            "Temple(1)",
        ),
        *("a | b", "| a |", "|a|b|", "[1]", "[a]", "a: `b' c:"),
        *("T_V_s", "a_b", "100_000 yen", "it.is so"),
    ],
)
def test_all_else_is_read_as_it_is(english: Spelling, text: str) -> None:
    """Text that only looks like a placeholder, an address or the like is read."""
    assert english.of(text) == Spelt(text, text)


@pytest.mark.parametrize(
    ("text", "read", "kept"),
    [
        ("面積は25㎢である。", "面積はABCである。", "25㎢"),
        ("面積は２，５００km²である。", "面積はABCである。", "２，５００km²"),
        ("約1.5万m2の土地", "約1.5万ABCの土地", "m2"),
        ("1万5000㎡", "1万5000 ABC", "㎡"),
        ("250人/㎢の", "250人/ABCの", "㎢"),
        ("It is 3,500.5 km² large.", "It is ABC large.", "3,500.5 km²"),
        ("(about 25 m3)", "(about ABC)", "25 m3"),
        ("It is 25 km<sup>2</sup> large.", "It is ABC large.", "25 km<sup>2</sup>"),
        ("約1.5万m<sup>2</sup>の土地", "約1.5万ABCの土地", "m<sup>2</sup>"),
        ("3×10<sup>8</sup>個", "3×ABC個", "10<sup>8</sup>"),
        ("10<sup class='a'>-9</sup>秒", "ABC秒", "10<sup class='a'>-9</sup>"),
    ],
)
def test_a_stand_in_is_read_for_a_unit_of_area(japanese: Spelling, text: str, read: str, kept: str) -> None:
    """It stands for unit and number, unless the number has words: models turn superscripts into numbers."""
    spelt = japanese.of(text)
    assert (spelt.text, spelt.replaced) == (read, (("ABC", kept),))
    assert spelt.restored(read).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("合計￥１，２００、税込¥1,320です。", "合計ABC、税込JRです。"),
        ("It was $39.80, now $29.80.", "It was ABC, now JR."),
        ("¥3億と$1.5 million", "¥3億と$1.5 million"),
        ("¥3亿和$2만", "¥3亿和$2만"),
        ("5万€と20 €5", "5万€と20 ABC"),
    ],
)
def test_a_stand_in_is_read_for_an_amount_of_money(japanese: Spelling, text: str, read: str) -> None:
    """No vocabulary has its sign; not where a word says how many millions it is."""
    spelt = japanese.of(text)
    assert spelt.text == read
    assert spelt.restored(read) == text


@pytest.mark.parametrize(
    "face",
    [
        *(
            "(^_^)",
            "(^ o ^)",
            "(*^^*)",
            "(´・ω・｀)",
            "m(_ _)m",
            "＼(^o^)／",
            "(-_-;)",
            "(T_T)",
            "(>_<)",
            "(≧∇≦)ﾉ",
            "(￣ー￣)",
            "（ﾟДﾟ）",
        ),
        *(":-)", ":D", ";)", "(^o^)/"),
    ],
)
def test_faces_follow_the_translation(japanese: Spelling, face: str) -> None:
    """As emoji do: the model reads none of them."""
    spelt = japanese.of(f"楽しい {face}")
    assert spelt.text.strip() == "楽しい"
    assert spelt.restored("It's fun.") == f"It's fun. {face}"


@pytest.mark.parametrize(
    "text",
    [
        *("f(x^2)", "(a ^ b)", "(x≧0)", "(A´)", "(35´)", "(ω=2πf)", "(user_name)", "(auto_off)", "(笑)", "（？－？）"),
        *("a:)", "（ﾌﾟﾘﾝﾀ）", "(ﾎﾟｯﾄ)"),
    ],
)
def test_what_is_no_face(japanese: Spelling, text: str) -> None:
    """Formulas, names, half-width katakana, and years that nobody knows."""
    assert japanese.of(text).left_out == ()


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://ja.wikipedia.org/wiki/紫式部 を参照。", "https://ja.wikipedia.org/wiki/紫式部"),
        ("https://ja.wikipedia.org/wiki/紫式部　を参照。", "https://ja.wikipedia.org/wiki/紫式部"),
        ("(https://a.org/?q=東京駅&b=1)を見る。", "https://a.org/?q=東京駅&b=1"),
        ("https://ja.wikipedia.org/wiki/紫式部を参照。", "https://ja.wikipedia.org/wiki/"),
        ("https://example.org/を 見る。", "https://example.org/"),
        ("https://example.orgは 見る。", "https://example.org"),
    ],
)
def test_an_address_may_have_letters_of_any_language(japanese: Spelling, text: str, address: str) -> None:
    """That is, if white space follows it; otherwise such letters may be words after it."""
    assert japanese.of(text).replaced == (("ABC", address),)


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("&lt;https://example.org/?a=1&amp;b=2&gt;を見る。", "https://example.org/?a=1&amp;b=2"),
        ("&quot;https://example.org&quot; &amp; more", "https://example.org"),
        ("&lt;https://ja.wikipedia.org/wiki/紫式部&gt;", "https://ja.wikipedia.org/wiki/紫式部"),
        ("https://example.org/a&amp;を見る。", "https://example.org/a"),
        ("https://example.org/?a&lt=1を見る。", "https://example.org/?a&lt=1"),
    ],
)
def test_no_entity_behind_an_address_is_part_of_it(japanese: Spelling, text: str, address: str) -> None:
    """It is a quotation mark, or the like, of a page; half of it would be lost."""
    spelt = japanese.of(text)
    assert spelt.replaced == (("ABC", address),)
    assert spelt.restored(spelt.text).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize(
    "run",
    [
        "http://(",
        "http://a(",
        "www.",
        "www.((a)",
        "a@",
        "`",
        "`a",
        "``a`",
        "{a",
        "{a[b",
        "{a|b",
        "{a,date,",
        "{a,plural,",
        "{a,plural,{{",
        "{a,plural,{{}",
        "$t(",
        "$a",
        "@:a.",
        "<!-- ",
        "<v a",
        '<a b="',
        "http://a/紫",
        *("http://a&", "http://&amp;", "www.&lt;", "http://a/紫&"),
        "%a",
        "%0",
        "{%",
        "{% a%",
        "%#@a",
        " :a",
        "$a=",
        "$a =b",
        "{{{a",
        "😀",
        "😀\u200d",
        "字《あ",
        "｜字",
        "［＃",
        *("a/", "/a", "a_", "a.", "a->", "a::", "C:\\a", "~/", "./", "a.py", "a.py/", "a-", "a()"),
        *("²1", "½1", "1² ", "1m2", "１", "寺¹", "1m<sup>2</sup>", "10<sup>1</sup>", "10<sup "),
    ],
)
def test_no_run_of_characters_takes_long(japanese: Spelling, run: str) -> None:
    """A quarter of a million characters of the same run: in time that grew with the square, this would never end."""
    text = run * (250_000 // len(run))
    spelt = japanese.of(text)
    assert len(spelt.restored(spelt.text)) > 25_000


@pytest.mark.parametrize("run", ["1", "1,", "1.", "1 "])
@pytest.mark.parametrize("sign", ["²", "½", "m2"])
def test_no_run_of_digits_takes_long(japanese: Spelling, sign: str, run: str) -> None:
    """This holds even if a sign elsewhere in the text makes the search look at all numbers."""
    text = f"京都{sign} {run * (100_000 // len(run))}"
    assert len(japanese.of(text).text) > 90_000


def test_an_entity_is_read_as_what_it_says(english: Spelling) -> None:
    """It is written as an entity again if the translation has the same character, but not as a space or a letter."""
    text = "Smith &amp; Sons&nbsp;say &quot;d&eacute;j&agrave; vu &#40;2 &lt; 3&#x29;&quot;"
    spelt = english.of(text)
    assert spelt.plain == 'Smith & Sons say "déjà vu (2 < 3)"'
    assert spelt.restored('「déjà vu」(2 < 3) & "a"') == "「déjà vu」&#40;2 &lt; 3&#x29; &amp; &quot;a&quot;"
    assert spelt.as_read("&quot;a&quot; &amp; &#40;b&#x29;") == '"a" & (b)'


def test_an_entity_for_what_is_not_to_be_seen_is_not_read(english: Spelling) -> None:
    """Soft hyphens and the like are in no vocabulary: as characters they are not read, either."""
    assert english.of("Kyo&shy;to is&#8203; old&zwnj;.").plain == "Kyoto is old."


def test_an_entity_that_is_not_read_is_written_as_it_was(english: Spelling) -> None:
    """Left out as the characters it says, a face of entities would make a tag, or &lt; where it should say <."""
    spelt = english.of("It is fun (&gt;_&lt;) today &#x1F600;.")
    assert spelt.text.split() == ["It", "is", "fun", "today", "."]
    assert spelt.restored("楽しい。") == "楽しい。 (&gt;_&lt;) &#x1F600;"


def test_a_sign_with_a_backslash_is_read_without_and_has_it_again(english: Spelling) -> None:
    """Without the backslash, it would be Markdown; code and formulas keep their own backslashes."""
    spelt = english.of(r"2 \* 3, a\_b \# \[c] `\*d` D\e")
    assert spelt.plain == r"2 * 3, a_b # [c] ABC D\e"
    assert spelt.restored("c] [ 2 * 3 # a_b ABC") == r"c] \[ 2 \* 3 \# a\_b `\*d`"


@pytest.mark.parametrize(
    "text",
    [
        "You have <x id='1'/><x id='2'/> from {a}{b}.",
        "a&lt;b&gt; c",
        "<code>ls</code><code>cat</code>",
        "&#65;BC is at www.example.org.",
        "List&lt;int&gt;s &amp;lt; and &lt;",
        "1 &lt; 2 &#x0000026; 3",
        "One<br/> two<br/><img src='a'> three<br/>",
        "Run `ls`{a}<ph/> now.",
        "`ls`{a}<ph/><code>x</code><ph/>{a}`b`",
    ],
)
def test_a_translation_can_be_read_again(english: Spelling, text: str) -> None:
    """What is restored is read as the model wrote it: each stand-in is one word, apart from others."""
    spelt = english.of(text)
    marked = with_places(spelt.text, [(pair.begin, pair.end) for pair in spelt.marks.pairs])
    assert re.sub(r"\s", "", spelt.restored(marked)) == re.sub(r"\s", "", text).replace("&#65;", "A")
    assert spelt.as_read(spelt.restored(marked)) == spelt.text


def test_what_an_entity_says_makes_no_tag(english: Spelling) -> None:
    """A tag that a text only mentions, with entities, is a word, unlike a tag that it has."""
    spelt = english.of("Use &lt;b&gt; for <b>bold &amp; more</b>.")
    assert spelt.text == "Use ABC for bold & more."
    assert spelt.restored("\U000f0000太字 & その他\U000f0001はABC。") == "<b>太字 &amp; その他</b>は&lt;b&gt;。"


def test_a_stand_in_is_none_of_the_words_of_the_sentence(english: Spelling) -> None:
    """Words that occur in the text, such as ABC, are not used as stand-ins, and stay."""
    spelt = english.of("ABC and JR are at www.example.org.")
    assert spelt.text == "ABC and JR are at NHK."
    assert spelt.restored("ABCとJRはNHKにある。") == "ABCとJRは www.example.org にある。"


def test_what_is_restored_stands_there_as_often_as_in_the_source() -> None:
    """It is restored once even if the model repeats it, at the end if the model omits it, and never within a word.

    Nor is the text that one stands for mistaken for another stand-in.
    """
    spelt = Spelt("ABC, JR", "ABC, JR", (("ABC", "{JR}"), ("JR", "%s")))
    assert spelt.restored("JR from ABC, and ABC again.") == "%s from {JR}, and  again."
    assert spelt.restored("ABCDEF.") == "ABCDEF. {JR} %s"
    assert spelt.restored("NABCとJRRを、JRA") == "{JR}と%sを、JRA"
    assert spelt.restored("ABCCABCとJRA 8") == "{JR}と%s 8"
    assert spelt.restored("JRABCはJRABCD。") == "%s {JR}は ABCD。"
    assert spelt.restored("ABC30万人、2JR") == "{JR} 30万人、2 %s"
    assert spelt.restored("") == "{JR} %s"


def test_a_text_is_read_with_other_stand_ins(english: Spelling) -> None:
    """Each turn uses other ones that are not in the text; what a translation has lost of them is counted."""
    spelt = english.of("{a} saw %s of JR.")
    assert spelt.text == "ABC saw NHK of JR."
    first, second, third = (spelt.retold(turn) for turn in (1, 2, 3))
    assert first is not None
    assert second is not None
    assert third is None
    assert (first.text, second.text) == ("NHK saw DVD of JR.", "DVD saw ABC of JR.")
    assert first.restored("JRのDVDをNHKは見た。") == "JRの%sを{a}は見た。"
    assert [spelt.lost(text) for text in ("NHK, ABC", "ABC, ABCD", "")] == [0, 3, 4]


def test_a_text_is_read_like_another(english: Spelling) -> None:
    """It takes the other's stand-ins for the same verbatim parts; if those differ, its own."""
    told = english.of("{a} saw <b>it</b> of %s.").retold(1)
    assert told is not None
    assert english.of('{a} saw "it" of %s.').read_like(told).text == 'JR saw "it" of NHK.'
    assert english.of("{a} saw it.").read_like(told).text == "ABC saw it."
    assert english.of("He saw it.").read_like(english.of("It.")).text == "He saw it."


def test_what_marks_divide_is_not_one(english: Spelling) -> None:
    """Placeholders with a mark between them have a stand-in each; those without share one."""
    assert english.of("<b>{count}</b>{unit} of %s%d").replaced == (
        ("ABC", "{count}"),
        ("JR", "{unit}"),
        ("NHK", "%s%d"),
    )


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Temple hours<br>9 to 5<BR/>Closed", "Temple hours 9 to 5 Closed"),
        ("Total: %s<br/>Ask <b>@user</b><br><i>Hello</i> {a}</b>{b}", "Total: ABC Ask JR Hello NHK DVD"),
        ("See https://example.org<br>Next, a<wbr>b", "See ABC Next, ab"),
        ("東<br>西", "東西"),
    ],
)
def test_a_line_break_between_words_keeps_them_apart(english: Spelling, text: str, read: str) -> None:
    """Without it they would be one word, or part of an address."""
    assert english.of(text).text == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("紫式部《むらさきしきぶ》は書いた。", "紫式部は書いた。"),
        ("彼は｜とある物語《ロマンス》を読む。", "彼はとある物語を読む。"),
        ("雨が降る［＃「雨」に傍点］。", "雨が降る。"),
        ("《源氏物語》と物語《源氏》を読む。", "《源氏物語》と物語《源氏》を読む。"),  # titles
        ("<b>式部《しきぶ》</b>は書いた。", "式部は書いた。"),
    ],
)
def test_how_words_are_read_aloud_is_not_read(japanese: Spelling, text: str, read: str) -> None:
    """In plain texts of novels, the reading follows a word, or the characters after a bar."""
    assert japanese.of(text).text == read
    assert not japanese.of(text).replaced


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Café{name} is open.", "Café ABC is open."),
        ("Cafe\u0301{name} is open.", "Café ABC is open."),
        ("See {name}１.", "See ABC １."),
        ("a café🙂opens", "a café opens"),
        ("図{name}と京都🙂東京", "図ABCと京都東京"),
    ],
)
def test_letters_with_accents_and_wide_ones_are_letters(english: Spelling, text: str, read: str) -> None:
    """A stand-in right beside a letter would be part of a word and get lost; elsewhere, no space is needed."""
    assert english.of(text).text == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Visit https://example.org/<userName> now.", "Visit ABC JR now."),
        ("Write first.last@example.org`ls` here.", "Write ABC JR here."),
        ("\u2068{first}\u2069\u2068{last}\u2069 saw it.", "ABC JR saw it."),
        ("They saw\u2060{name}.", "They saw ABC."),
    ],
)
def test_stand_ins_stand_apart(english: Spelling, text: str, read: str) -> None:
    """The model would turn ABCJR into something else, in which neither could be found."""
    spelt = english.of(text)
    assert " ".join(spelt.text.split()) == read
    assert all(verbatim in spelt.restored(spelt.text) for _, verbatim in spelt.replaced)
    assert spelt.lost(spelt.text) == 0


def test_a_term_beside_a_wide_letter_stands_apart(japanese: Spelling) -> None:
    """Otherwise the model would read AABC."""
    term = Term("京都", "Kyoto City")
    spelt = replace(japanese.of("プランＡ京都へ。"), terms=(term,))
    assert japanese.with_terms(spelt, [term]).text == "プランＡ ABCへ。"


def test_wide_letters_of_a_text_are_its_own(japanese: Spelling) -> None:
    """The tokenizer reads ＡＢＣ as ABC, so ABC cannot be a stand-in in that text."""
    spelt = japanese.of("ＡＢＣの{name}をＪＲに保存する。")
    assert [stand_in for stand_in, _ in spelt.replaced] == ["NHK"]
    retold = spelt.retold(1)
    assert retold is not None
    assert [stand_in for stand_in, _ in retold.replaced] == ["DVD"]
    assert spelt.retold(2) is None


def test_a_number_of_any_length_is_no_error(english: Spelling) -> None:
    """Entities with numbers that no character has stay as they are."""
    for text in ("&#" + "0" * 5000 + "65;", "&#" + "1" * 5000 + ";", "&#x" + "f" * 5000 + ";"):
        assert english.of(f"a {text} b").plain == f"a {text} b"


def test_more_than_there_are_stand_ins_for_come_last(english: Spelling) -> None:
    """Of six placeholders in one sentence, four are read, and none is lost."""
    spelt = english.of(" and ".join(f"{{n{number}}}" for number in range(6)))
    assert spelt.text == "ABC and JR and NHK and DVD and  and "
    assert spelt.restored("DVD, NHK, JR, ABC") == "{n3}, {n2}, {n1}, {n0} {n4} {n5}"


def test_an_address_does_not_run_into_the_words_beside_it(english: Spelling) -> None:
    """It gets spaces, as whatever turns text into links would take those words for part of it; placeholders do not."""
    spelt = english.of("See https://example.org/ for {name}.")
    assert spelt.restored("JRはABCを参照。") == "{name}は https://example.org/ を参照。"
    assert spelt.restored("「ABC」") == "「https://example.org/」 {name}"


@pytest.mark.parametrize("emoji", ["😀", "👍🏽", "👨‍👩‍👧", "☀️", "🇯🇵", "🏴󠁧󠁢󠁳󠁣󠁴󠁿", "😀🎉", "1️⃣", "#️⃣🙂"])
def test_emoji_in_a_sentence_are_not_read_and_follow_its_translation(
    english: Spelling, japanese: Spelling, emoji: str
) -> None:
    """They are left out with all characters that they consist of."""
    spelt = japanese.of(f"京都{emoji}に行った。")
    assert spelt == Spelt("京都に行った。", "京都に行った。", left_out=(emoji,))
    assert Spelt("", "", left_out=(emoji,)).restored("He went to Kyoto.") == f"He went to Kyoto. {emoji}"
    assert english.of(f"Kyoto{emoji}is old{emoji}.").text == "Kyoto is old."


def test_a_picture_of_a_font_of_its_own_is_one(english: Spelling) -> None:
    """Private-use characters count as emoji, whatever tags are beside them, although marks use such characters, too."""
    spelt = english.of("<b>Kyoto</b> \U000f0001 is \ue001<i>old</i>.")
    assert spelt.text == "Kyoto  is old."
    assert (
        spelt.restored(with_places("京都は古い。", [(0, 2), (3, 5)])) == "<b>京都</b>は<i>古い</i>。 \U000f0001 \ue001"
    )


def test_a_picture_that_the_vocabulary_has_is_read(japanese: Spelling) -> None:
    """The corpus has ☆ in people's names."""
    assert japanese.of("つのだ☆ひろ") == Spelt("つのだ☆ひろ", "つのだ☆ひろ")
    assert japanese.of("つのだ★ひろ") == Spelt("つのだひろ", "つのだひろ", left_out=("★",))


def test_a_translation_is_read_with_the_stand_ins_of_its_source(english: Spelling) -> None:
    """This is needed for drafts, and for translations of preceding sentences."""
    spelt = english.of("{name} saw %s and %s.")
    assert spelt.as_read("{name}は%sと%sを見た。") == "ABCはJRとNHKを見た。"
    assert spelt.restored(spelt.as_read("{name}は%sと%sを見た。")) == "{name}は%sと%sを見た。"


@pytest.mark.parametrize(
    ("text", "read", "restored"),
    [
        ("I love #kyoto in autumn.", "I love ABC in autumn.", "I love #kyoto in autumn."),
        ("A great day! #kyoto #京都 #a_1", "A great day!", "A great day! #kyoto #京都 #a_1"),
        ("It was great 🍁 #autumn", "It was great ", "It was great 🍁 #autumn"),
        ("Read about #kyoto", "Read about ABC", "Read about #kyoto"),
        ("Nos. # and &#39;, #_, x#y", "Nos. # and ', #_, x#y", "Nos. # and &#39;, #_, x#y"),
    ],
)
def test_hashtags(english: Spelling, text: str, read: str, restored: str) -> None:
    """They come back as they are: in their places where they are words, and at the end where they follow a sentence."""
    spelt = english.of(text)
    assert spelt.text.rstrip() == read.rstrip()
    assert re.sub(" +", " ", spelt.restored(spelt.text)) == restored


def test_hashtags_that_are_links_are_read(english: Spelling) -> None:
    """Left out like others behind a sentence, they would lose their links to its words."""
    spelt = english.of("A day in Kyoto [#kyoto](https://a.org/k) <b>#autumn</b>")
    assert spelt.text == "A day in Kyoto ABC JR"
    assert english.of("<p>A day in Kyoto #kyoto #autumn</p>").text.rstrip() == "A day in Kyoto"


def test_no_row_of_hashtags_takes_long(english: Spelling) -> None:
    """Half a million characters within the limit of a test."""
    for piece in ("#a ", "#a#", "#", "# "):
        english.of(piece * (500_000 // len(piece)) + "x")
