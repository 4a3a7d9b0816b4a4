"""Japanese years, ordinals and numbers of things."""

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.japanese_numbers import japanese_in_digits as in_digits
from models.text.verbatim import Spelling
from tests.support.servers import ROOT


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("令和5年4月1日から令和６年まで", "2023年4月1日から2024年まで"),
        ("明治元年、大正十年、昭和三十二年、昭和六十四年、平成二十年度", "1868年、1921年、1957年、1989年、2008年度"),
        ("（平成16年 - 平成18年）", "（2004年 - 2006年）"),
        ("一九四五年、二〇〇一年", "1945年、2001年"),
        ("第十二条、第二十五条第三項、第三十回", "第12条、第25条第三項、第30回"),
        ("二十三人、百五十メートル、五百三冊、千二百年", "23人、150メートル、503冊、1200年"),
        ("二〇人、一二〇年、二十一世紀、三十代", "20人、120年、21世紀、30代"),
        ("三億五千万円、二万三千人、一万円", "3億5000万円、2万3000人、1万円"),
        ("五月二十八日、十月十日、十二月一日、十一月", "5月28日、10月10日、12月1日、11月"),
        ("第百二十三回、第二十五回", "第123回、第25回"),
        *((text, text) for text in ("三千一九四五年", "第二次大戦", "百人一首", "十年", "五十回忌")),
        *(
            (text, text)
            for text in ("一人", "三月", "八日", "十分", "千年", "二三人", "数十人", "二、三十人", "十数人")
        ),
        *(
            (text, text)
            for text in ("三十三間堂", "十二支", "三十六人集", "四十九日", "四六時中", "七三分け", "二十分の一")
        ),
        *((text, text) for text in ("1億5千万円", "2億 4 千万円", "八百万の神", "西国三十三ヶ所", "冠位十二階")),
        *((text, text) for text in ("平成18年（2006年）", "2006年(平成18年)", "昭和30年代", "昭和30年間")),
        *((text, text) for text in ("昭和65年", "昭和0年", "昭和年", "寛弘5年", "昭和の年")),
        ("平成三百年", "平成300年"),
    ],
)
def test_what_is_read_in_digits(text: str, read: str) -> None:
    """Years of the eras since 1868, if there is such a year, and the text does not say itself which it is.

    Numbers of two characters and more, of what is counted; not those that may be another word, a name, or two numbers.
    """
    assert in_digits(text) == read


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
    for piece in (
        "昭和",
        "昭和一",
        "昭和三十",
        "昭和1",
        "年（",
        "昭和三十二年",
        "一",
        "第",
        "第十",
        "千百十",
        "二〇",
        "一万",
        "三月",
    ):
        in_digits(piece * (500_000 // len(piece)) + "年")
