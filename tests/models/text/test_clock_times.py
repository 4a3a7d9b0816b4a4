"""English times that have a half of the day."""

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.clock_times import english_clock_times, japanese_clock_times
from models.text.glossary import Glossary
from models.text.numbers import Numbers
from models.text.scripts import with_terms
from models.text.verbatim import Spelling
from tests.support.servers import ROOT


@pytest.mark.parametrize(
    ("time", "right", "wrong"),
    [
        ("2 p.m.", ("午後2時", "14時", "午後二時", "午後2:00"), ("午前2時", "2時", "12時", "午後12時")),
        ("7:30 pm", ("午後7時30分", "午後7時半", "19:30", "19時30分"), ("午後7時", "午前7時30分", "7時30分")),
        ("8:05AM", ("午前8時5分", "午前8時05分", "朝8時5分"), ("午後8時5分", "8時5分", "午前8時50分")),
        ("12:16 p.m.", ("午後0時16分", "午後12時16分", "12時16分"), ("午前0時16分", "午後1時16分")),
        ("12 a.m.", ("午前0時", "午前12時"), ("午後0時", "午前2時")),
    ],
)
def test_what_a_translation_may_say(time: str, right: tuple[str, ...], wrong: tuple[str, ...]) -> None:
    """The same time on either clock, and with its half of the day on that of 12 hours."""
    (term,) = english_clock_times(f"He came at {time} sharp.")
    assert term.source == time
    assert term.is_said(f"彼は{term.target}に来た。")
    assert all(term.is_said(f"彼は{said}に来た。") for said in right)
    assert not any(term.is_said(f"彼は{said}に来た。") for said in wrong)


@pytest.mark.parametrize(
    ("time", "target", "right", "wrong"),
    [
        ("午後3時", "3 pm", ("3 p.m.", "3:00 PM", "three o'clock in the afternoon", "15:00"), ("3 a.m.", "3", "13 pm")),
        ("午前10時", "10 am", ("10:00 A.M.", "10 o'clock in the morning"), ("10:00 p.m.", "10:00", "11 a.m.")),
        ("午後7時半", "7:30 pm", ("7:30p.m.", "half past seven in the evening", "19:30"), ("7 p.m.", "7:30 a.m.")),
        ("午前6時05分", "6:05 am", ("6:05 a.m.", "6:05 in the morning"), ("6:50 a.m.", "6 a.m.", "6:05 p.m.")),
        ("午後０時１５分", "12:15 pm", ("12:15 p.m.", "0:15 p.m."), ("12:15 a.m.", "2:15 pm")),
        ("午前0時", "12 am", ("midnight", "0:00 a.m."), ("noon", "12 pm")),
        ("午後11:20", "11:20 pm", ("11:20 p.m.", "23:20", "11:20 at night"), ("11:20", "1:20 pm")),
    ],
)
def test_what_an_english_translation_may_say(
    time: str, target: str, right: tuple[str, ...], wrong: tuple[str, ...]
) -> None:
    """The same time with its half of the day, or on the clock of 24 hours."""
    (term,) = japanese_clock_times(f"彼は{time}に来た。")
    assert (term.source, term.target) == (time, target)
    assert term.is_said(f"He came at {target}.")
    assert all(term.is_said(f"He came at {said} on Monday.") for said in right)
    assert not any(term.is_said(f"He came at {said} on Monday.") for said in wrong)


def test_what_is_no_time_of_japanese() -> None:
    """A length of time, a number that is no hour or minute, and twelve, which is noon to some."""
    text = "午後3時間、午後33時、午前12時、午後3:75、午前の部、15時、午後3:5"
    assert list(japanese_clock_times(text)) == []


def test_what_is_no_time() -> None:
    """A number before other words, or part of a longer one."""
    text = "I am 5, 5 pmol, 13 p.m., 1:75 pm, 12.5 am, 3 a moment"
    assert [term.source for term in english_clock_times(text)] == []


def test_which_languages_have_them() -> None:
    """Only translations from English into Japanese have to say it, in place of the plain time."""
    (term,) = _numbers("en", "ja").terms("at 7:30 p.m. today")
    assert term.target == "午後7時30分"
    (plain,) = _numbers("en", "zh").terms("at 7:30 p.m. today")
    assert plain.source == "7:30"


def test_japanese_sentences_are_read_with_a_word_for_it() -> None:
    """Also where the time is written in kanji."""
    japanese = Spelling(Nearest(Tokenizer.load(ROOT / "models" / "pretrained" / "ja-en").source), "ja", "en")
    for text in ("会議は午後3時に始まる。", "会議は午後三時に始まる。"):
        spelt = with_terms(japanese.of(text), Glossary([]), None, _numbers("ja", "en"))
        told = japanese.with_terms(spelt, spelt.terms)
        assert told.text == "会議はABCに始まる。"
        assert told.restored("The meeting starts at ABC.") == "The meeting starts at 3 pm."


def test_no_half_of_the_day_twice() -> None:
    """Where the model says another one before the word that it reads for a time."""
    english = Spelling(Nearest(Tokenizer.load(ROOT / "models" / "pretrained" / "en-ja").source), "en", "ja")
    spelt = with_terms(english.of("He came at 7 p.m."), Glossary([]), None, _numbers("en", "ja"))
    told = english.with_terms(spelt, spelt.terms)
    assert told.text == "He came at ABC."
    assert told.restored("彼は午前ABCに来た。") == "彼は午後7時に来た。"


def _numbers(source: str, target: str) -> Numbers:
    numbers = Numbers.of(source, target)
    assert numbers is not None
    return numbers
