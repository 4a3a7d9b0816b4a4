"""Full-width punctuation of Japanese and Chinese is restored where normalisation has made it ASCII."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.text.full_width import as_half_width, with_full_width


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        ("紫式部(むらさきしきぶ)は", "紫式部（むらさきしきぶ）は"),
        ("平成7年(1995年)に", "平成7年（1995年）に"),
        ("(京都市)", "（京都市）"),
        ("京都(JR)の", "京都（JR）の"),
        ("京都(市(区))", "京都（市（区））"),
        ("著書:『道元』", "著書：『道元』"),
        ("本当ですか?はい!", "本当ですか？はい！"),
        ("810年~812年", "810年～812年"),
        ("「京都」=「都」", "「京都」＝「都」"),
        ("天福 (日本)元年", "天福 (日本)元年"),
        ("10:30に f(x) (1-12)、50%", "10:30に f(x) (1-12)、50%"),
        ("京都)の(市", "京都)の(市"),
        ("A, B: (C)!", "A, B: (C)!"),
        ("京都,奈良;大阪", "京都,奈良；大阪"),
    ],
)
def test_punctuation_beside_letters_is_full_width(text: str, wide: str) -> None:
    """Brackets become wide in pairs, without a space before; punctuation among numbers and Latin letters stays."""
    assert with_full_width(text, "ja") == wide
    assert as_half_width(wide) == text


def test_each_language_has_its_own() -> None:
    """Chinese has wide commas, too; languages with spaces have no wide punctuation, whatever they quote."""
    assert with_full_width("京都,奈良(市)", "zh-Hant") == "京都，奈良（市）"
    chinese = "截至2024年，“红楼梦”，增长5%，达到3,000万（约一半），GDP；他说：“好！”"
    assert with_full_width(as_half_width(chinese), "zh") == chinese
    assert with_full_width("Kyoto (京都)", "en") == "Kyoto (京都)"


@given(st.text("京(都)):!?~=,; a1『』“”", max_size=40), st.sampled_from(["ja", "zh", "en"]))
def test_nothing_else_changes(text: str, language: str) -> None:
    """Each character stays in its place, and is the same to SentencePiece, which reads it in half width."""
    wide = with_full_width(text, language)
    assert as_half_width(wide) == text
    assert with_full_width(wide, language) == wide or "(" in wide
