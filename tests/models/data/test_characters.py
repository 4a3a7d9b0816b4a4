"""Characters that a vocabulary lacks."""

import pytest

from models.data.characters import Nearest
from models.data.tokenizer import Tokenizer
from tests.support.servers import ROOT

PRETRAINED = ROOT / "models" / "pretrained"


@pytest.fixture(scope="module")
def english() -> Nearest:
    """Of a vocabulary without typographic characters: that of the shipped English-Japanese model."""
    return Nearest(Tokenizer.load(PRETRAINED / "en-ja").source)


@pytest.fixture(scope="module")
def japanese() -> Nearest:
    """Of a vocabulary with some: that of the shipped Japanese-English model."""
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
    """Typographic quotes, hyphens and dashes, letters with marks, and what nobody sees."""
    assert english.of(text) == expected


def test_quotes_are_those_that_a_vocabulary_has(japanese: Nearest) -> None:
    """Double ones where it has no single ones; a selector of a variant of a character is nothing."""
    assert japanese.of("‘源氏’を書いた。") == "“源氏”を書いた。"
    assert japanese.of("葛\U000e0100城") == "葛城"


@pytest.mark.parametrize("text", ["“源氏”を—書いた。", "ｷｮｳﾄ　１９９８", "café 髙 й ё 😀", "plain 'text'", ""])
def test_all_else_stays(japanese: Nearest, text: str) -> None:
    """What has a piece, alone or in the form that SentencePiece gives it, and what nothing is near to."""
    assert japanese.of(text) == text
