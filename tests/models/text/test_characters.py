"""Characters that a vocabulary lacks."""

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from tests.support.servers import ROOT

PRETRAINED = ROOT / "models" / "pretrained"


@pytest.fixture(scope="module")
def english() -> Nearest:
    """For a vocabulary without typographic characters: that of the shipped English-Japanese model."""
    return Nearest(Tokenizer.load(PRETRAINED / "en-ja").source)


@pytest.fixture(scope="module")
def japanese() -> Nearest:
    """For a vocabulary with some: that of the shipped Japanese-English model."""
    return Nearest(Tokenizer.load(PRETRAINED / "ja-en").source)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("He didn’t go.", "He didn't go."),
        ("“Go,” he said, ‘now’.", "\"Go,\" he said, 'now'."),
        ("the 14th‑century hall", "the 14th-century hall"),
        ("Kyoto—the capital", "Kyoto - the capital"),
        ("Tōdai-ji, O\u0304saka, Zürich", "Todai-ji, Osaka, Zurich"),
        ("an an\u00adcient\u2060 city", "an ancient city"),
    ],
)
def test_what_a_vocabulary_lacks_is_read_as_the_nearest(english: Nearest, text: str, expected: str) -> None:
    """This covers typographic quotes, hyphens and dashes, letters with marks, and invisible characters."""
    assert english.of(text) == expected


def test_quotes_are_those_that_a_vocabulary_has(japanese: Nearest) -> None:
    """Single quotes become double ones if only those are known; a variation selector is dropped."""
    assert japanese.of("‘源氏’を書いた。") == "“源氏”を書いた。"
    assert japanese.of("葛\U000e0100城") == "葛城"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("山﨑氏と𠮷田氏、渡邉氏と桒原氏", "山崎氏と吉田氏、渡辺氏と桑原氏"),
        ("森鷗外、瀨戸内海、醬油", "森鴎外、瀬戸内海、醤油"),
        ("髙橋氏は國學院", "髙橋氏は國學院"),  # it has these
    ],
)
def test_kanji_that_a_vocabulary_lacks_are_read_in_their_usual_forms(
    japanese: Nearest, text: str, expected: str
) -> None:
    """Names of people and of companies have forms that texts hardly have; a model made Satsuda of 𠮷田."""
    assert japanese.of(text) == expected


@pytest.mark.parametrize("text", ["“源氏”を—書いた。", "ｷｮｳﾄ　１９９８", "café 髙 й ё 😀", "plain 'text'", ""])
def test_all_else_stays(japanese: Nearest, text: str) -> None:
    """Characters stay if they have a piece, as they are or as SentencePiece normalises them, or if none is near."""
    assert japanese.of(text) == text
