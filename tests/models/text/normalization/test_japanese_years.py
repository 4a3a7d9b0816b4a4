"""Japanese years and ordinals."""

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.normalization.japanese_years import years_in_digits
from models.text.verbatim import Spelling
from tests.support.servers import ROOT


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("令和5年4月1日から令和６年まで", "2023年4月1日から2024年まで"),
        ("明治元年、大正十年、昭和三十二年、昭和六十四年、平成二十年度", "1868年、1921年、1957年、1989年、2008年度"),
        ("R6年4月1日、H31年度、S元年", "2024年4月1日、2019年度、1926年"),
        ("（平成16年 - 平成18年）", "（2004年 - 2006年）"),
        ("一九四五年、二〇〇一年", "1945年、2001年"),
        ("第十二条、第二十五条第三項、第三十回", "第12条、第25条第三項、第30回"),
        ("平成25年4月1日から26年3月31日、同27年、翌28年", "2013年4月1日から2014年3月31日、2015年、翌2016年"),
        ("昭和三十年から三十五年まで、平成8年度、13年度", "1955年から1960年まで、1996年度、2001年度"),
        ("大正12年・13年、昭和7年に着工し、9年に完成", "1923年・1924年、1932年に着工し、1934年に完成"),
        ("平成5年から10年間、20年にわたり、30年後、4年3月", "1993年から10年間、20年にわたり、30年後、4年3月"),
        *((text, text) for text in ("26年3月", "2019年（平成31年）4月から32年3月", "昭和65年、同66年")),
        *((text, text) for text in ("CR6年", "S50年代", "H50年", "R6.4.1", "Q3年")),
        *((text, text) for text in ("三千一九四五年", "第二次大戦", "百人一首", "十年", "五十回忌")),
        *((text, text) for text in ("平成18年（2006年）", "2006年(平成18年)", "昭和30年代", "昭和30年間")),
        *((text, text) for text in ("昭和65年", "昭和0年", "昭和年", "寛弘5年", "昭和の年", "平成三百年")),
    ],
)
def test_what_is_read_in_digits(text: str, read: str) -> None:
    """Years of the eras since 1868, if there is such a year, and the text does not say itself which it is."""
    assert years_in_digits(text) == read


@pytest.mark.parametrize("language", ["ja", "en", ""])
def test_only_japanese_has_them(language: str) -> None:
    """A translation into Japanese, which may be read as well, stays as it is."""
    tokenizer = Tokenizer.load(ROOT / "models" / "pretrained" / "ja-en")
    read = "2023年、JR。" if language == "ja" else "令和5年、JR。"
    assert Spelling(Nearest(tokenizer.source), language).of("令和5年、JR。").text == read


def test_an_address_keeps_its_year() -> None:
    """It comes back as it is."""
    spelling = Spelling(Nearest(Tokenizer.load(ROOT / "models" / "pretrained" / "ja-en").source), "ja")
    text = "令和5年の https://example.org/wiki/令和5年 を見る。"
    spelt = spelling.of(text)
    assert spelt.text == "2023年の ABC を見る。"
    assert spelt.restored(spelt.text) == "2023年の https://example.org/wiki/令和5年 を見る。"


def test_no_text_takes_long() -> None:
    """Half a million characters within the limit of a test."""
    for piece in ("昭和", "昭和一", "昭和三十", "昭和1", "年（", "昭和三十二年", "一", "第", "第十"):
        years_in_digits(piece * (500_000 // len(piece)) + "年")
