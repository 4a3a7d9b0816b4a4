"""Japanese numbers in kanji."""

import pytest

from models.text.normalization.japanese_numbers import japanese_in_digits


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("二十三人、百五十メートル、五百三冊、千二百年", "23人、150メートル、503冊、1200年"),
        ("二〇人、一二〇年、二十一世紀、三十代", "20人、120年、21世紀、30代"),
        ("三億五千万円、二万三千人、一万円", "3億5000万円、2万3000人、1万円"),
        ("五月二十八日、十月十日、十二月一日、十一月", "5月28日、10月10日、12月1日、11月"),
        ("第百二十三回、第二十五回、平成三百年", "第123回、第25回、平成300年"),
        *(
            (text, text)
            for text in ("一人", "三月", "八日", "十分", "千年", "二三人", "数十人", "二、三十人", "十数人")
        ),
        *((text, text) for text in ("百人一首", "三十三間堂", "十二支", "三十六人集", "西国三十三ヶ所", "冠位十二階")),
        *((text, text) for text in ("四十九日", "五十回忌", "四六時中", "七三分け", "二十分の一", "八百万の神")),
        *((text, text) for text in ("1億5千万円", "2億 4 千万円", "三千一九四五年")),
    ],
)
def test_what_is_read_in_digits(text: str, read: str) -> None:
    """Numbers of two characters and more, of what is counted; not those that may be a word, a name, or two numbers."""
    assert japanese_in_digits(text) == read


def test_no_text_takes_long() -> None:
    """Half a million characters within the limit of a test."""
    for piece in ("一", "千百十", "二〇", "一万", "三月", "二十", "二十、", "十 "):
        japanese_in_digits(piece * (500_000 // len(piece)) + "年")
