"""Terms with the shipped model: translations contain them as asked for."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.bulk.worker import PartTranslator
from models.data.documents import Sentence
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.text.glossary import Term, read_terms
from tests.support.bulk import settings_of
from tests.support.command_line import run
from tests.support.servers import ROOT

PRETRAINED = ROOT / "models" / "pretrained"

LADY, TALE, COURT = Term("紫式部", "Lady Murasaki"), Term("源氏物語", "Genji's Story"), Term("宮廷", "the palace")
TEXT = "紫式部は宮廷に仕え、源氏物語を書いた。"


@pytest.fixture(scope="module")
def runtime() -> Runtime:
    """The shipped Japanese-English bundle."""
    return Runtime.load(PRETRAINED / "ja-en")


@pytest.fixture(scope="module")
def runtimes(runtime: Runtime) -> dict[str, Runtime]:
    """Both shipped bundles."""
    return {"ja-en": runtime, "en-ja": Runtime.load(PRETRAINED / "en-ja")}


@pytest.mark.parametrize("strategy", ["direct", "sentence", "rerank", "verify"])
def test_terms_are_said_and_the_model_says_the_rest(runtime: Runtime, strategy: Any) -> None:
    """Terms replace whatever the model would have said for them."""
    beam = 1 if strategy == "verify" else 4
    plain, asked = runtime.translate(
        [TranslationRequest(TEXT), TranslationRequest(TEXT, terms=(LADY, TALE))], Options(strategy, beam)
    )
    assert "Murasaki Shikibu" in plain.text
    assert "The Tale of Genji" in plain.text or "the Tale of Genji" in plain.text
    assert "Lady Murasaki" in asked.text
    assert "Genji's Story" in asked.text
    assert "Shikibu" not in asked.text
    assert "Tale of Genji" not in asked.text
    assert "Court" in asked.text


def test_a_sentence_that_says_its_terms_by_itself_stays_as_it_is(runtime: Runtime) -> None:
    """The model has read its actual words, which is better than reading stand-ins."""
    own = (Term("紫式部", "Murasaki Shikibu"),)
    plain, asked = runtime.translate([TranslationRequest(TEXT), TranslationRequest(TEXT, terms=own)], Options())
    assert asked == plain


@pytest.mark.parametrize(
    ("pair", "text", "number"),
    [
        ("ja-en", "2005年度の1日平均乗降人員は、108,512人である。", "108,512"),
        ("ja-en", "負債額22億円。", "2,200,000,000 yen"),
        ("en-ja", "The total construction cost was 35 billion yen.", "350億円"),
        ("en-ja", "Call 075-771-6111.", "075-771-6111"),
        ("ja-en", "値は500msである。", "500 ms"),
        ("en-ja", "The value is 10kW.", "10kW"),
        ("en-ja", "The value is 500 kB.", "500kB"),
        ("en-ja", "It is 72°F outside.", "華氏72度"),
        ("en-ja", "The device uses 16 gigabytes of it.", "16ギガバイト"),
        ("ja-en", "約６フィートの棒である。", "6 feet"),
        ("ja-en", "５Ｇ対応のスマートフォンである。", "5G"),
    ],
)
def test_numbers_come_back(runtimes: dict[str, Runtime], pair: str, text: str, number: str) -> None:
    """Read as they are, they became 108,5112, 22 billion yen, 35億円, 075-7118, 500 meters, 10kg, 72°C, six flanks."""
    assert number in runtimes[pair].translate([TranslationRequest(text)], Options())[0].text


@pytest.mark.parametrize(
    ("pair", "text", "said"),
    [
        ("ja-en", "5月3日（水）から5月5日（金）まで休館する。", "Wednesday, May 3"),
        ("ja-en", "2007年十月二十八日", "October 28"),
        ("ja-en", "京　都　府", "Kyoto Prefecture"),
        ("ja-en", "山﨑氏が会長に就任した。", "Yamazaki"),
        ("ja-en", "ダイナミックツール㈱", "Co., Ltd."),
        ("ja-en", "①会員、②非会員を募集する。", "(2)"),
        ("ja-en", "#京都 の写真を見た。", "#京都"),
        ("en-ja", "THE TEMPLE WAS BUILT IN KYOTO.", "京都に"),
        ("en-ja", "It has two hundred and nine temples.", "209"),
        ("en-ja", "He died on Sept. 23, 1890.", "9月23日"),
        ("en-ja", "New York City could reach 80 degrees on Tuesday.", "火曜"),
        ("en-ja", "She died at 2pm on November 20, 1909, at the age of mere 20.", "午後2時"),
        ("en-ja", "The museum is open from 11-1 pm.", "午前11時から午後1時"),
        ("en-ja", "I love #kyoto in autumn.", "#kyoto"),
    ],
)
def test_texts_unlike_the_corpus_are_understood(runtimes: dict[str, Runtime], pair: str, text: str, said: str) -> None:
    """Read as they are, they became May 3 (water), October 8, THEMPLE WAS WILT OKYOTO, a Monday and 午前2時."""
    assert said in runtimes[pair].translate([TranslationRequest(text)], Options())[0].text


def test_the_year_of_an_era_is_a_western_one_unless_a_term_has_it(runtime: Runtime) -> None:
    """Read as it is, of Reiwa 6 the model made 1467."""
    text = "本契約の期間は、令和5年4月1日から令和6年3月31日までの1年間とする。"
    own, asked = runtime.translate(
        [TranslationRequest(text), TranslationRequest(text, terms=(Term("令和6年", "the year Reiwa 6"),))], Options()
    )
    assert re.search("April 1, 2023.*March 31, 2024", own.text)
    assert "the year Reiwa 6" in asked.text
    assert "2024" not in asked.text


def test_terms_are_of_use_with_marks_context_and_drafts(runtime: Runtime) -> None:
    """The words for the term are in bold, context is read as it is, and a draft changes nothing."""
    request = TranslationRequest(
        f"<b>紫式部</b>{TEXT[3:]}", (Sentence("紫式部は女流歌人である。"),), terms=(LADY, TALE)
    )
    (found,) = runtime.translate([request], Options("direct", 1))
    assert "<b>Lady Murasaki</b>" in found.text
    draft = TranslationRequest(request.source, request.preceding, draft=found.text, terms=request.terms)
    (verified,) = runtime.translate([draft], Options("verify"))
    assert verified.text == found.text


@pytest.mark.parametrize("target", ["The Tale of Genji", "Zakuro Hall"])
def test_marks_around_a_term_are_around_it(runtime: Runtime, target: str) -> None:
    """Marks around a term are around its target, whether the model says that by itself or not; others stay apart."""
    text = "<a href='x'>源氏物語</a>は<b>宮廷</b>の物語である。"
    (found,) = runtime.translate([TranslationRequest(text, terms=(Term("源氏物語", target),))], Options())
    assert f"<a href='x'>{target}</a>" in found.text
    assert "ourt</b>" in found.text


@pytest.mark.parametrize("text", ["{name}さんは来た。", "https://example.org/name を見た。", "<name>さんは来た。"])
def test_what_is_no_word_is_no_term(runtime: Runtime, text: str) -> None:
    """Neither the text of addresses and placeholders nor their stand-ins count as terms, and they cost nothing more."""
    terms = (Term("name", "the name"), Term("abc", "the alphabet"), Term("ABC", "the alphabet"))
    plain, asked = runtime.translate([TranslationRequest(text), TranslationRequest(text, terms=terms)], Options())
    assert asked == plain
    (prepared,) = runtime.prepare([TranslationRequest(text, terms=terms)], Options())
    assert prepared.spelt[0].terms == ()


def test_a_term_of_another_part_is_not_what_is_read_for_a_placeholder(runtime: Runtime) -> None:
    """Even if the term and the stand-in are the same word."""
    parts = ("{name}は{place}に来た。", "JRで帰った。")
    asked = TranslationRequest("".join(parts), parts=parts, terms=(Term("JR", "Japan Railways"),))
    (found,) = runtime.translate([asked], Options("direct", 1))
    first, last = found.text.split("{place}")
    assert "{name}" in first
    assert "Japan Railways" not in first
    assert "Japan Railways" in last


@pytest.mark.parametrize(
    ("text", "source", "target", "said"),
    [
        ("<b>道具</b>は一部が党のものである。", "道具", "art", r"<b>[Aa]rt</b>"),  # not part of "party"
        ("多くの<b>寺院</b>と<i>神社</i>がある。", "寺院", "temple", r"<b>temples</b>"),  # including the ending
        ("彼は筆を持ち、彼女は<b>筆</b>を捨てた。", "筆", "Zakuro Hall", r"Zakuro Hall.*<b>Zakuro Hall</b>"),
    ],
)
def test_marks_are_around_words_for_terms(runtime: Runtime, text: str, source: str, target: str, said: str) -> None:
    """If the term occurs several times, they are around the word for the marked occurrence."""
    (found,) = runtime.translate([TranslationRequest(text, terms=(Term(source, target),))], Options("direct", 1))
    assert re.search(said, found.text), found.text


def test_each_part_of_a_long_sentence_has_its_own(runtime: Runtime) -> None:
    """Each part has its own stand-ins, at most four, none of which remain in the translation."""
    text = "、".join([TEXT.removesuffix("。")] * 12) + "。"
    (found,) = runtime.translate([TranslationRequest(text, terms=(LADY, TALE, COURT))], Options("direct", 1))
    assert found.text.count("the palace") > 2
    assert not {"ABC", "JR", "NHK", "DVD"} & set(found.text.replace(",", " ").replace(".", " ").split())


def test_terms_of_a_file_are_used_on_one_machine_and_on_many(tmp_path: Path) -> None:
    """The command and a worker of a cluster give the same translations with terms."""
    bundle, source, terms = PRETRAINED / "ja-en", tmp_path / "source", tmp_path / "terms.tsv"
    source.write_text(f"{TEXT}\n\n源氏物語を書いた。\n", encoding="utf-8")
    terms.write_text("".join(f"{term.source}\t{term.target}\n" for term in (LADY, TALE)), encoding="utf-8")
    done = run("translate", bundle, "--in", source, "--glossary", terms)
    first, _, last = done.stdout.splitlines()
    assert ("Lady Murasaki" in first, "Genji's Story" in first, "Genji's Story" in last) == (True, True, True)
    settings = replace(settings_of(bundle), options=Options(), terms=read_terms(terms))
    row = {"key": "k", "line": 1, "sentences": 2, "text": source.read_bytes()}
    assert PartTranslator(settings, lambda _: 0)(row)["text"] == done.stdout
    assert settings.key != replace(settings, terms=()).key


def test_in_a_flow_they_are_what_they_are_alone(runtime: Runtime) -> None:
    """Requests with terms are translated in a flow, among others, as they are alone."""
    requests = [
        TranslationRequest(TEXT, terms=(LADY, TALE)),
        TranslationRequest(TEXT),
        TranslationRequest("紫式部は{name}と源氏物語を書いた。", terms=(LADY,)),
        TranslationRequest("今日は晴れた。", terms=(LADY,)),
    ]
    expected = [runtime.translate([each], Options())[0].text for each in requests]
    flow = runtime.flow(Options())
    flow.add(dict(enumerate(requests)))
    found: dict[int, str] = {}
    while flow.running:
        found |= {key: one.text for key, one in flow.step()}
    assert [found[key] for key in range(len(requests))] == expected
    assert "{name}" in found[2]
