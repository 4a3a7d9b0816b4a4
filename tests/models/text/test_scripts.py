"""Words in another script than that of their text's language."""

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.glossary import NO_TERMS, Glossary, Term
from models.text.scripts import Script, with_signs_of, with_terms
from models.text.verbatim import Spelling
from tests.support.servers import ROOT


def script(language: str) -> Script:
    """The script of a language that is written in a single one."""
    found = Script.of(language)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("ja", "Microsoft Wordを開いて、Save Asをクリック", ["Microsoft Word", "Save As"]),
        ("ja", "彼は「I have a dream, 3 times」と言った。", ["I have a dream, 3 times"]),
        ("ja", "Wi-FiとPS5とGT-Rと5 mmと、ＣＭ", ["Wi-Fi", "PS5", "GT-R", "mm", "ＣＭ"]),
        ("ja", "Tシャツ、A4、X線、10cm、1980s", []),  # single letters, and units after numbers
        ("ja", "МоскваとΑθήναと서울", ["Москва", "Αθήνα", "서울"]),
        ("ja-Jpan", "源氏物語と々〆ヶｶﾅ", []),
        ("en-GB", "The word 侘 (wabi) is of 茶道, not of Война и мир.", ["侘", "茶道", "Война и мир"]),
        ("en", "α-helix, 5 μm, naïve, Đặng, ＡＢＣ", []),
        ("ru", "Сайт GitHub работает", ["GitHub"]),
        ("zh", "他用iPhone打字", ["iPhone"]),
    ],
)
def test_words_of_others(language: str, text: str, words: list[str]) -> None:
    """Adjacent words count as one, with the spaces and signs between them."""
    assert list(script(language).words_of_others(text)) == words


@pytest.mark.parametrize("language", ["sr", "kk", "xx"])
def test_a_language_of_several_scripts_has_no_others(language: str) -> None:
    """The same holds for an unknown language."""
    assert Script.of(language) is None


@pytest.mark.parametrize(
    ("language", "text", "writes"),
    [
        ("ja", "Best regards,", False),
        ("ja", "OKです", True),
        ("en", "会議は金曜日です。", False),
        ("en", "会議 A", True),
    ],
)
def test_what_a_language_writes(language: str, text: str, writes: bool) -> None:
    """A text may be in a language if it has at least one letter of its script."""
    assert script(language).writes(text) is writes


def test_signs_around_words_of_others() -> None:
    """Japanese signs become those of a language with spaces; one without, such as Chinese, keeps them."""
    assert with_signs_of("en", "Thank you！OK、「Yes」。") == 'Thank you! OK, "Yes".'
    assert with_signs_of("zh", "Thank you！") == "Thank you！"


@pytest.mark.parametrize("piece", ["A", "A ", "A,", "あA", "A-'", "1A", "A1 ", "あ "])
def test_long_texts_take_a_time_that_is_linear_in_their_length(piece: str) -> None:
    """Half a million characters are searched within the time limit of a test."""
    for language in ("ja", "en"):
        list(script(language).words_of_others(piece * (500_000 // len(piece))))


@pytest.fixture(scope="module")
def spelling() -> Spelling:
    """The spelling of the shipped model's source language."""
    return Spelling(Nearest(Tokenizer.load(ROOT / "models" / "pretrained" / "ja-en").source))


def test_they_are_terms_that_stay(spelling: Spelling) -> None:
    """Each becomes a term once, translated as itself in half-width letters; words in placeholders do not."""
    spelt = spelling.of("{name}のＷｏｒｄとExcelとExcelは https://example.org/Word へ")
    found = with_terms(spelt, NO_TERMS, script("ja"))
    assert found.terms == (Term("Ｗｏｒｄ", "Word"), Term("Excel", "Excel"))
    assert with_terms(spelt, NO_TERMS, None) is spelt


def test_what_a_glossary_says_of_them_goes_before(spelling: Spelling) -> None:
    """A word in the glossary is translated as the glossary says; other words beside it stay."""
    glossary = Glossary([Term("Word", "Writer"), Term("寺", "temple")])
    found = with_terms(spelling.of("寺のMicrosoft Word 2024"), glossary, script("ja"))
    assert found.terms == (Term("寺", "temple"), Term("Word", "Writer"), Term("Microsoft", "Microsoft"))
