"""Where sentences end within a line."""

import pytest

from service.segmentation import boundaries
from service.segmentation.boundaries import Boundaries


def sentences(line: str, language: str, longest: int = 100) -> list[str]:
    """The sentences of a line without the white space in between; checks that nothing is lost."""
    pieces = list(Boundaries(language).split(line, longest))
    assert "".join(pieces) == line
    return [piece.strip() for piece in pieces]


@pytest.mark.parametrize("subtag", ["", "-MX", "_ru", "-Hans", "-latn-at"])
@pytest.mark.parametrize(
    ("language", "divided"),
    [
        ("ja", "紫式部は宮廷に仕えた。|源氏物語を書いた。"),
        ("ja", "本当か？！|信じられない。"),
        ("ja", "えっ！？　|何？　|どうして？"),
        ("ja", "そう…。|でも……。|うん。"),
        ("ja", "彼は来た。|3人は帰った。|５人は残った。"),
        ("ja", "行った！|2回目だ。|値は3.14だ。|３．１４ではない。"),
        ("ja", "「行く。帰る。」と彼は言った。|帰った。"),
        ("ja", "「行く。」|彼は言った。|「そうか。」|とても驚いた。"),
        ("ja", "行こう！と彼は言った。|そうか？と思った。|ところで、どこへ？"),
        ("ja", "「だめだ。」って言った。|『はい。』|『いいえ。』"),
        ("ja", "「彼は『行く。』と言った。帰った。」と話した。|（そう。）"),
        ("ja", "「モーニング娘。」が好きだ。|「モーニング娘。」を聴く。"),
        ("ja", "「行く。|『来い。待て。』と言われた。|もう遅い。」"),
        ("ja", "（注。|以下同じ。）"),
        ("ja", "URLはhttps://example.com/a.bです。|Mr. Smithは来た。"),
        ("zh", "他来了。|3个人走了！|5点见？|好。"),
        ("zh", "他说：“走吧。”|她笑了；他没笑。|真的吗？！|是的……|"),
        ("zh", "《红楼梦》。|圆周率是3.14。|「好！」|他说。"),
        ("en", "Dr. Smith came. |He paid 3.50 at 3 p.m. |Mr. J. R. Hill, Ph.D., left!"),
        ("en", '"Go away," he said. |"Why?" she asked. |He left the U.S. |She stayed.'),
        ("en", '"He left the U.S. in 1990. |She stayed." '),
        ("en", "See https://example.com/a.b?c=d. |Or www.example.com! |Or a@b.com. |Done."),
        ("en", "Wait... what? |Wait… what? |And then… |He left. |Vol. 3 is e.g. here."),
        ("en", "really? |yes. |fine."),
        ("en", "Run <code>a = 1. B = 2</code> now. |Then <kbd>Esc</kbd>. |Or `a. B`."),
        ("ja", "<code>。</code>で区切る。|<code>a。</code>。|次。"),
        ("de", "Er kam, z. B. gestern. |Das kostet 3.000,50 Euro. |Siehe Abb. 3. |Gut."),
        ("de", "Am 3. Oktober 1990. |Im 19. Jahrhundert begann der 2. Weltkrieg nicht. |Prof. Dr. Meier ging."),
        ("de", "„Ja!“, rief er. |„Nein?“ fragte sie. |»Komm.« |Sie ging."),
        ("ja", "彼はJ.S.バッハの曲を弾いた。|A.D.794年に遷都した。|答えはA. |次はB."),
        ("ja", "彼はＪ．Ｓ．バッハの曲を弾いた。|イ．西山に行く。|十二．東山に行く。"),
        ("zh", "他弹J.S.巴赫的曲子。|很美。"),
        ("yue", "佢彈J.S.巴赫嘅曲。|好靚。"),
        ("ko", "회의는 2024. 5. 31. 서울에서 열렸다. |2024. 6. 3.에 끝난다. |3.5초였다."),
        ("ko", '그는 "가자."라고 말했다. |"좋아!" 하고 외쳤다. |"정말?" |그가 물었다.'),
        ("th", "เกิด พ.ศ. 2567 ที่ จ.เชียงใหม่ เมื่อ ม.ค. นี้ ดร.สมชาย และ น.ส. มาลี มา! |ใช่ไหม? |ดี"),
        ("km", "ខ្ញុំទិញសៀវភៅ។ |គាត់សប្បាយ៕ |តើអ្នកទៅ? |ទេ។"),
        ("ar", "قال د. أحمد شيئا. |ذهب أ. د. خالد. |عاد."),
        ("fa", "دکتر ا. ب. رضایی آمد. |او رفت."),
        ("en", "He reads. |IV. The temple."),
        ("en", "See Figs. 3 and 4, ch. 2, vol. 5. |Eq. 6 holds. |Ft. Worth is large."),
        ("ja", "京都は都だ。|（寺が多い。）|人も多い。|(古い。)|「そう。」"),
        ("ja", "（注。|以下同じ。）|彼は来た。|（彼は来た。）と書いた。|（京都。）の人だ。"),
        ("ja", "者（次の者を除く。）又は物だ。|彼は来た（本当。）。|（京都）は都だ。"),
        ("en", "It is old. |(It is big.) |They came. |(Why? |Who knows!) |(No, really.) |Yes."),
        ("en", "(See below.) and more. |(U.S.) Senators came. |He (a monk. Yes.) came."),
        (
            "en",
            "<b>He came.</b> |See <a title='A. B'>Dr. <i>Smith</i></a>.<sup>1</sup> |**She went.** |<br/>They stayed.",
        ),
        ("ja", "<b>彼は来た。|帰った。</b>|<i>彼女は<b>「行く。」</b>と言った。</i>"),
        ("en", "Tel. 03-1234, incl. VAT. |Approx. 5 km. |Assoc. Prof. Lee, excl. Tokyo. |He is in a hotel. |Yes."),
        ("de", "Inkl. MwSt. kostet es 5 Euro. |Dipl.-Ing. Meier kam. |Gut."),
        ("it", "Si veda pag. 5. |L'ha detto l'Ing. Neri. |Bene."),
        ("pt", "Veja a pág. 5. |Fica na Av. Paulista. |Bem."),
        ("fr", "M. Dupont et Mme Curie sont là. |J.-C. est né. |Vraiment\u00a0? |Oui\u00a0!"),
        ("fr", "« Quoi ? » demanda-t-il. |« Rien. » |Elle partit à 3,5 km."),
        ("es", "¿Qué? |¡No! |El Sr. López y D. Juan viven en EE. UU. desde 1990."),
        ("es", "—¿Vienes? —preguntó. |—No. |Se fue."),
        ("es", "La Sra. López también."),
        ("ru", "А. С. Пушкин родился в 1799 г. в Москве. |Это т. е. хорошо. |См. рис. 5."),
        ("ru", "«Привет!» — сказал он. |— Да! — сказала она. |— Нет. |Ушёл… |Потом."),
        ("xx", "An unknown language. |It has full stops."),
        ("en", "Use ASP.NET, Node.JS or .NET here. |Call Console.WriteLine(x) or Math.Max(a, b). |Run '../a.sh'!"),
        ("en", "Field '%.*s' has %-5.*f of it. |It is up 5%. |Done."),
        ("en", "Look in './Lib', a/../B and ./C; then cd ..; ls. |I said so.|He went. |Done."),
        ("ja", "ASP.NETと.NETを使う。|System.IOも使う。"),
        ("en", "A java.util.Map.Entry is one. |Use System.Collections.Generic.List. |I went to Kyoto.|He stayed."),
        ("ja", "pathlib.Pathを使う。|これはMath.Maxです.|Pathです。"),
        ("en", "We met Ms. Lee and Mx. Hill at 7 p.m. ET on 3 May. |At 5 p.m. |He left."),
        ("en", "No. |I will not. |It is no. 5, in No. XII. |Mm. |He said no. |She left."),
        ("es", "No. |Yo voy. |No. 5."),
        ("en", "Press '?' for help, or “!”. |Use the '...' menu. |He asked 'Why?' |She left."),
    ],
)
def test_sentences_end_where_a_reader_sees_their_end(language: str, divided: str, subtag: str) -> None:
    """Abbreviations, decimals, quotations, addresses, ellipses and dialogue, in each language; | marks an end.

    A region or script in the language tag makes no difference.
    """
    parts = [part for part in divided.split("|") if part]
    assert sentences("".join(parts), language + subtag) == [part.strip() for part in parts]


@pytest.mark.parametrize(
    ("language", "divided"),
    [
        ("en", 'Ready," he said. |"I know. |He does." |"She does not. |"Nor do I," she said. |"Yes." |He left.'),
        ("en", "Ready,” he said. |“I know. |He does.” |“She does not. |“Nor do I,” she said. |“Yes.” |He left."),
        ("en", "It is the dogs' house. |'Go. |Now.' |'Twas John's. |'Kay. |He said 'yes.' |‘So it’s on. |On.’ |Yes."),
        ("en", """A disk of 5" is old. |"Yes." |"It was 'old.'" |He left, "old."" |She, "Dr. Lee," left."""),
        ("en", '"Why? |Who knows?" he asked. |"No!" |"Mr. Hill!" she cried. |The "boss" (of "U.S." teams) left.'),
        ("de", '„Ich gehe. |Er kommt.“ |„Warum?“ fragte er. |"Gut. |Nein." |Sie ging.'),
        ("es", 'Dijo. |"Hola a todos. |Vamos." |"¿Sí?" preguntó. |Ya.'),
        ("fr", "J'ai vu l'été. |'Oui.' |C'est l'hiver. |\"Non.\" |Elle part."),
        ("nl", "Ik zag 't. |'s Avonds regent het. |‘Kom. |Nu.’ |Hij ging."),
    ],
)
def test_quotation_marks_need_be_no_pairs(language: str, divided: str) -> None:
    """A speech may go on in the next paragraph or have several sentences, and ' may be an apostrophe."""
    assert sentences(divided.replace("|", ""), language) == [each.strip() for each in divided.split("|")]


@pytest.mark.parametrize(
    "divided",
    [
        "![A gate. It is red.](a.png) |It is old. |Yes.",
        "See [this page. And that one](a.html). |See [He left.](b.html) |[![Who? He.](c.png) She.](d.html) |Yes.",
        "**He left. |She came.** |Yes.",
    ],
)
def test_text_of_a_link_is_whole(divided: str) -> None:
    """Half of it would not be a link, and its brackets would be taken for text."""
    assert sentences(divided.replace("|", ""), "en") == [each.strip() for each in divided.split("|")]


@pytest.mark.parametrize(
    ("language", "divided"),
    [
        ("en", "He left Kyoto.¹ |She came.¹² |“It rained.”³ |He slept.* |She woke.** |Why?† |No.&sup1; |Yes."),
        ("en", "Dr.¹ Smith came with Mr.* Hill. |(He had not.)² |She left."),
        ("en", "Delete a.* or *.* now. |Li et al.¹ found it in e.g.² this."),
        ("ja", "彼は来た。¹|彼女も来た。¹²|「帰った。」³|雨だ。"),
        ("de", "Er ging.¹ |Sie kam.¹²"),
    ],
)
def test_number_of_a_note_belongs_to_what_is_before_it(language: str, divided: str) -> None:
    """Books and papers put it after the full stop."""
    assert sentences(divided.replace("|", ""), language) == [each.strip() for each in divided.split("|")]


@pytest.mark.parametrize(("opening", "closing"), ["「」", '""', "（）", "“”", "()"])
def test_quotation_that_is_too_long_is_divided(opening: str, closing: str) -> None:
    """It is divided wherever it stands, so that no sentence has to be refused as too long."""
    line = f"彼は{opening}" + "紫式部は源氏物語を書いた。" * 20 + f"{closing}と言った。帰った。"
    found = sentences(line, "ja")
    assert max(map(len, found)) < 30
    assert found[-1] == "帰った。"


def test_long_line_has_the_boundaries_of_a_short_one() -> None:
    """A line much longer than the window is divided as if it were short."""
    sentence = "彼女は京都に生まれた。"
    assert sentences(sentence * 500, "ja", longest=50) == [sentence] * 500


def test_line_without_boundary_is_cut() -> None:
    """A line without an end is cut without loss, but one part stays longer than a sentence may be."""
    parts = sentences("あ" * 350, "ja", longest=50)
    assert max(map(len, parts)) > 50


@pytest.mark.parametrize(
    ("language", "divided"),
    [
        ("en", "&ldquo;He left Kyoto.&rdquo; |She came."),
        ("en", "He said &quot;no.&quot; |&quot;Yes,&#34; she said."),
        ("en", "He left Kyoto&hellip; |She came.&nbsp; |It rained.&#xA0;|He slept &mdash; or not."),
        ("en", "<p><b>He left.&rdquo;</b> |She &amp; he saw &lt;b&gt;it&lt;/b&gt;. |AT&T; &no; &NotEqualTilde; left."),
        ("ja", "&#12300;&#12363;&#12302;&#12290;&#12301;|&#12365;&#12290;&#12288;|&#12367;&#65311;"),
        ("ja", "か。|&#12300;き&#12301;"),
    ],
)
def test_entity_is_read_as_what_it_says(language: str, divided: str) -> None:
    """HTML may write any character as an entity; the pieces keep it as it was."""
    assert sentences(divided.replace("|", ""), language) == [each.strip() for each in divided.split("|") if each]


def test_many_entities_do_not_take_long() -> None:
    """If the time grew with the square of their number, this would never end."""
    assert len(sentences("か&#12290;" * 100_000, "ja")) == 100_000


def test_many_quotation_marks_do_not_take_long() -> None:
    """Likewise for marks that open and close, adjacent or not."""
    for marks in ('"', "'“", '." ', " '", '."'):
        sentences(marks * 100_000, "en", longest=1000)


@pytest.mark.parametrize("space", ["\u00a0", "\u3000", "\u2003 \u3000"])
def test_wide_space_before_a_full_stop_is_no_harm(space: str) -> None:
    """A capital, a non-ASCII space and a full stop in a row do not affect where other sentences end."""
    line = f"They took vitamin C{space}. It helped. She left."
    assert sentences(line, "en")[1:] == ["It helped.", "She left."]


def test_line_at_which_the_library_panics_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line that the library cannot divide stays whole, and nothing is lost."""
    monkeypatch.setattr(boundaries, "disguised", lambda line, *, spaced: line)
    assert sentences("A\u3000. She left. He came.", "en") == ["A\u3000. She left. He came."]


def test_space_between_a_capital_and_an_ellipsis_is_no_panic() -> None:
    """Typeset French and English have such spaces; what follows is divided as usual."""
    line = "He took vitamin C\u00a0… She did not. Then they left."
    assert sentences(line, "en") == ["He took vitamin C\u00a0…", "She did not.", "Then they left."]
