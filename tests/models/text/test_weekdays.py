"""Days of the week in Japanese and English texts."""

import re

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.glossary import Glossary
from models.text.numbers import Numbers
from models.text.scripts import with_terms
from models.text.verbatim import Spelling
from models.text.weekdays import english_weekdays, japanese_weekdays, without_weekdays
from tests.support.servers import ROOT


@pytest.mark.parametrize(
    ("text", "source", "target"),
    [
        ("5月3日（水）は休み", "5月3日（水）", "Wednesday, May 3"),
        ("2024年12月31日(火)", "2024年12月31日(火)", "Tuesday, December 31, 2024"),
        ("１月１日（土曜日）", "１月１日（土曜日）", "Saturday, January 1"),
        ("5月6日月曜日に", "5月6日月曜日", "Monday, May 6"),
        ("3日（日・祝）", "3日（日・祝）", "Sunday, the 3rd (holiday)"),
        ("来週の金曜日に", "金曜日", "Friday"),
        ("10/5（土）に", "10/5（土）", "10/5 (Sat)"),
        ("2024.12.24(火)締切", "2024.12.24(火)", "2024.12.24 (Tue)"),
    ],
)
def test_japanese_days(text: str, source: str, target: str) -> None:
    """With the date before them, which they belong to; a translation may say the day in its own way."""
    (term,) = japanese_weekdays(text)
    assert (term.source, term.target) == (source, target)
    day = re.search(r"\w+day|Sat|Tue", target)[0]
    assert term.is_said(f"It is on {day}.")
    assert term.is_said(f"It is on {day[:3]}. 3.")
    assert not term.is_said("It is on May 3 (water).")


def test_what_is_no_day_of_the_week() -> None:
    """A kanji that is another word."""
    for text in (
        "5月3日は",
        "今日（水）",
        "5月3日木から",
        "火の用心",
        "33日（水）",
        "13/5（土）",
        "1.3/5（土）",
        "10/5",
    ):
        assert list(japanese_weekdays(text)) == []
        assert without_weekdays(text) == text


def test_english_days() -> None:
    """They have to be said, in full or in brackets."""
    (term,) = english_weekdays("He came on Wednesdays.")
    assert (term.source, term.target) == ("Wednesdays", "水曜日")
    assert all(term.is_said(said) for said in ("水曜日に来た", "水曜に来た", "5月3日（水）に来た", "ウェンズデー"))
    assert not any(term.is_said(said) for said in ("土曜日に来た", "水に来た", "5月3日に来た"))
    assert [term.target for term in english_weekdays("ON MONDAY, or sunday")] == ["月曜日", "日曜日"]


def test_the_day_is_not_read_behind_a_date() -> None:
    """The model reads the date alone, and what it says for that is replaced by the whole."""
    spelling = Spelling(Nearest(Tokenizer.load(ROOT / "models" / "pretrained" / "ja-en").source), "ja", "en")
    numbers = Numbers.of("ja", "en")
    spelt = with_terms(spelling.of("令和6年5月3日（水）は休み。"), Glossary([]), None, numbers)
    assert spelt.text == "2024年5月3日は休み。"
    (term,) = spelt.terms
    assert (term.source, term.target) == ("2024年5月3日（水）", "Wednesday, May 3, 2024")
    assert spelling.with_terms(spelt, [term]).text == "ABCは休み。"


def test_other_languages_read_it() -> None:
    """Where no term brings it back."""
    source = Tokenizer.load(ROOT / "models" / "pretrained" / "ja-en").source
    assert Spelling(Nearest(source), "ja", "zh").of("5月3日（水）は休み。").text == "5月3日（水）は休み。"


def test_no_text_takes_long() -> None:
    """Half a million characters within the limit of a test."""
    for piece in ("5月3日", "5月3日（水", "水曜", "1", "日（", "2024年", "Monday"):
        text = piece * (500_000 // len(piece))
        list(japanese_weekdays(text))
        list(english_weekdays(text))
        without_weekdays(text)
