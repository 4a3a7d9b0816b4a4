"""Which texts are normalized how."""

from pathlib import Path

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.verbatim import Spelling
from tests.support.servers import ROOT

PRETRAINED: Path = ROOT / "models" / "pretrained"


@pytest.mark.parametrize(
    ("source", "target", "read"),
    [
        ("ja", "en", "25人, thirty-one"),
        ("en", "ja", "二十五人, 31"),
        ("en", "de", "二十五人, thirty-one"),
        ("", "", "二十五人, thirty-one"),
    ],
)
def test_numbers_in_words(source: str, target: str, read: str) -> None:
    """Where the target language writes numbers in digits, and not in translations, which may be read as well."""
    spelling = Spelling(Nearest(Tokenizer.load(PRETRAINED / "ja-en").source), source, target)
    assert spelling.of("二十五人, thirty-one").text == read
