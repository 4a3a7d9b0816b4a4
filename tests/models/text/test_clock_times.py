"""English times that have a half of the day."""

import pytest

from models.data.tokenizer import Tokenizer
from models.text.characters import Nearest
from models.text.clock_times import clock_times
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
    (term,) = clock_times(f"He came at {time} sharp.")
    assert term.source == time
    assert term.is_said(f"彼は{term.target}に来た。")
    assert all(term.is_said(f"彼は{said}に来た。") for said in right)
    assert not any(term.is_said(f"彼は{said}に来た。") for said in wrong)


def test_what_is_no_time() -> None:
    """A number before other words, or part of a longer one."""
    text = "I am 5, 5 pmol, 13 p.m., 1:75 pm, 12.5 am, 3 a moment"
    assert [term.source for term in clock_times(text)] == []


def test_which_languages_have_them() -> None:
    """Only translations from English into Japanese have to say it, in place of the plain time."""
    (term,) = _numbers("en", "ja").terms("at 7:30 p.m. today")
    assert term.target == "午後7時30分"
    (plain,) = _numbers("en", "zh").terms("at 7:30 p.m. today")
    assert plain.source == "7:30"


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
