"""Texts in capitals, and in small letters."""

from pathlib import Path

import pytest

from models.config import TokenizerConfig
from models.data.tokenizer import Tokenizer, train_tokenizer
from models.text.characters import Nearest
from models.text.glossary import Glossary, Term
from models.text.letter_case import LetterCase
from models.text.verbatim import Spelling
from tests.support.servers import ROOT

EN_JA: Path = ROOT / "models" / "pretrained" / "en-ja"
JA_EN: Path = ROOT / "models" / "pretrained" / "ja-en"


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("DO NOT OPEN THIS DOOR.", "Do not open this door."),
        ("THE TEMPLES OF KYOTO AND OSAKA DON'T OPEN", "The temples of Kyoto and Osaka don't open"),
        ("“WE’RE FROM JAPAN”, I SAID, 1234", "“We’re from Japan”, I said, 1234"),
        (
            "i went to kyoto, but i'm not sure it may be in march",
            "I went to Kyoto, but I'm not sure it may be in March",
        ),
        ("I SAW HIM AT THE PUB. NASA AND THE USA", "I saw him at the PUB. Nasa and the USA"),
        ("they went to the palace.", "they went to the palace."),
        *((text, text) for text in ("He is from KYOTO.", "A I", "USA", "1234", "", "京都のKYOTO", "京都の kyoto")),
    ],
)
def test_how_a_text_is_read(text: str, read: str) -> None:
    """As most texts are written; an abbreviation alone stays, as do words in capitals among others."""
    assert LetterCase(Tokenizer.load(EN_JA).source, "en").of(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("YARIN İSTANBUL'DA YAĞIYOR", "Yarın İstanbul'da yağıyor"),
        ("İSTANBUL IŞIKLI", "İstanbul ışıklı"),
        ("yarın istanbul'da yağıyor", "yarın İstanbul'da yağıyor"),
    ],
)
def test_turkish_has_two_letters_i(tmp_path: Path, text: str, read: str) -> None:
    """Of I, Python makes i, and of İ two characters."""
    texts = ["Yarın İstanbul'da yağıyor.", "Bugün İstanbul ışıklı, yarın yağıyor."] * 5
    tokenizer = train_tokenizer(TokenizerConfig(path=tmp_path, vocabulary=286), texts, texts)
    assert LetterCase(tokenizer.source, "tr").of(text) == read


def test_stand_ins_and_terms() -> None:
    """What stands for an address stays, and so does what is compared with terms."""
    spelling = Spelling(Nearest(Tokenizer.load(EN_JA).source), "en", "ja")
    spelt = spelling.of("PLEASE OPEN HTTPS://EXAMPLE.ORG/KYOTO IN KYOTO")
    assert (spelt.text, spelt.plain) == ("Please open ABC in Kyoto", "PLEASE OPEN ABC IN KYOTO")
    (term,) = Glossary([Term("KYOTO", "洛中")]).found(spelt.plain)
    assert spelling.with_terms(spelt, [term.term]).text == spelt.text
    told = spelling.with_terms(spelling.of("OPEN THE DOOR IN KYOTO"), [])
    assert told.text == "Open the door in Kyoto"


def test_translations_and_other_scripts() -> None:
    """A translation that is read as context stays as it is, and so does Japanese."""
    nearest = Nearest(Tokenizer.load(JA_EN).source)
    assert Spelling(nearest).of("DO NOT OPEN").text == "DO NOT OPEN"
    assert Spelling(nearest, "ja", "en").of("OPENの看板").text == "OPENの看板"
