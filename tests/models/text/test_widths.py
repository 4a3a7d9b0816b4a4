"""Full-width letters and digits, half-width katakana and units in one character are read as what they are."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.glossary import Glossary, Term
from models.text.numbers import Numbers
from models.text.verbatim import Spelling
from models.text.widths import composed, has_wide, narrowed
from tests.support.servers import ROOT


@pytest.fixture(scope="module")
def japanese() -> Spelling:
    """How the shipped Japanese-English model reads."""
    return Spelling(Nearest(Tokenizer.load(ROOT / "models" / "pretrained" / "ja-en").source), "ja", "en")


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("ＰＤＦを１０部、", "PDFを10部、"),
        ("１，０００円、２．５％", "1,000円、2.5％"),
        ("２０２４／１０／５、０７５－１２３", "2024/10/5、075-123"),
        ("ｈｔｔｐ：／／ｅｘａｍｐｌｅ．ｃｏｍ／を", "http://example.com/を"),
        ("ｉｎｆｏ＠ｅｘａｍｐｌｅ．ｃｏｍ、Ｑ＆Ａ、ＵＴＦ－８", "info@example.com、Q&A、UTF-8"),
        ("￥５００と￥", "¥500と￥"),
        ("注：Ａ（Ｂ）！Ｃ。", "注：A（B）！C。"),
    ],
)
def test_only_words_and_numbers_are_narrowed(wide: str, narrow: str) -> None:
    """Punctuation belongs to them between letters and digits only; else it is the sentence's."""
    assert narrowed(wide) == narrow
    assert has_wide(wide)
    assert not has_wide(narrow)


@given(st.text(alphabet=st.sampled_from("aＡｚ９0．，：／＠－￥＝＆。あｱﾞ（ ")))
def test_narrowing_keeps_every_place(text: str) -> None:
    """The length stays the same, SentencePiece reads the same, and nothing is left to narrow."""
    narrow = narrowed(text)
    assert len(narrow) == len(text)
    assert unicodedata.normalize("NFKC", narrow) == unicodedata.normalize("NFKC", text)
    assert narrowed(narrow) == narrow
    assert not has_wide(narrow)


def test_half_width_katakana_roman_numerals_and_units_are_composed() -> None:
    """A voiced sign is part of its kana; areas stay, as m2 would not be one any more."""
    assert composed("ﾃﾞｰﾀⅢは１５㎜、5㍑、20㎡、か\u3099") == "データIIIは１５mm、5リットル、20㎡、が"


@pytest.mark.parametrize(
    ("text", "read", "replaced"),
    [
        ("料金は￥１，０００です。", "料金は ABC です。", "¥1,000"),
        ("面積は１５０㎡である。", "面積は ABC である。", "150㎡"),
        ("ｉｎｆｏ＠ｅｘａｍｐｌｅ．ｃｏｍへ。", "ABC へ。", "info@example.com"),
        ("`コード１`へ。", "ABC へ。", "`コード１`"),
        ("{{ 名前１ }}へ。", "ABC へ。", "{{ 名前１ }}"),
    ],
)
def test_figures_and_addresses_are_half_width_in_translations(
    japanese: Spelling, text: str, read: str, replaced: str
) -> None:
    """They had been copied in full width into English; what is for programs stays as it is."""
    spelt = japanese.of(text)
    assert spelt.text.replace(" ", "") == read.replace(" ", "")
    assert spelt.replaced == (("ABC", replaced),)


def test_numbers_have_units_of_any_width(japanese: Spelling) -> None:
    """Of 10 milliseconds, models make metres."""
    numbers = Numbers.of("ja", "en")
    assert numbers is not None
    for said, unit in (("１０ｍｓ", "10 ms"), ("１６ＭＢ", "16 MB"), ("15㎜", "15 mm"), ("１０㎾", "10 kW")):
        (term,) = numbers.terms(japanese.of(f"値は{said}である。").plain)
        assert term.target == unit


@pytest.mark.parametrize(
    ("source", "text"), [("PDF", "ＰＤＦを"), ("ＮＨＫ", "NHKを"), ("データ", "ﾃﾞｰﾀを"), ("ﾃﾞｰﾀ", "データを")]
)
def test_terms_are_found_in_any_width(japanese: Spelling, source: str, text: str) -> None:
    """A glossary's author need not know how a document is typed."""
    term = Term(source, "term")
    glossary = Glossary([term])
    assert glossary.may_be_in(text) == (term,)
    assert glossary.of(japanese.of(text).plain) == (term,)
