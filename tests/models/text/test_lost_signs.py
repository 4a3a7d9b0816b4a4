"""Quotation marks that a translation closes without opening them, and signs of the yen."""

import pytest

from models.text.lost_signs import with_opening_quote, with_yen_sign, without_dash
from models.text.markup import with_places


@pytest.mark.parametrize(
    ("source", "translation"),
    [
        ("「浄御原」は嘉号である。", "Kiyomihara' is a kind of Kago."),
        ("「宮を営る。」", "The Palace was located there.'"),
        ("「結び」とは「縁」である。", "Musubi' means 'en' (a tie)."),
        ("「それは皇帝の墓だ」", "It's the emperors' tomb.'"),
        ("「夜会」Vol.5", "Yakai' Vol.5"),
        ("「人々」", "Men and women of those days'"),
    ],
)
def test_a_mark_is_added_at_the_beginning(source: str, translation: str) -> None:
    """The source has one there, and the translation closes one too many."""
    assert with_opening_quote(translation, source, "en") == f"'{translation}"


@pytest.mark.parametrize(
    ("source", "translation", "language"),
    [
        ("宮は「浄御原」である。", "The palace is Kiyomihara'.", "en"),
        ("「浄御原」である。", "It is called 'Kiyomihara.'", "en"),
        ("「浄御原」である。", "'Kiyomihara' it is'.", "en"),
        ("「浄御原」である。", "It's the emperors' palace.", "en"),
        ("「浄御原」と言った。", "He said ('Kiyomihara') and \"'so.'\"", "en"),
        ("'Kiyomihara' it is.", "浄御原' である。", "ja"),
        ("「浄御原」である。", "It is Kiyomihara.", "en"),
        ("", "", "en"),
    ],
)
def test_all_else_stays(source: str, translation: str, language: str) -> None:
    """What is in order, what the source does not have, and apostrophes."""
    assert with_opening_quote(translation, source, language) == translation


@pytest.mark.parametrize(
    ("translation", "spans", "quoted"),
    [
        ("Nijo': a daughter.", [(0, 4)], "'<Nijo>': a daughter."),
        ("Nijo': a daughter.", [(0, 5)], "<'Nijo'>: a daughter."),
        ("It is Nijo.'", [(0, 12), (0, 5)], "<'<It is> Nijo.'>"),
        ("Nijo': a daughter.", [(9, 17)], "'Nijo': a <daughter>."),
        ("'Nijo': a daughter.", [(0, 6)], "<'Nijo'>: a daughter."),
    ],
)
def test_where_a_mark_is_added_beside_others(translation: str, spans: list[tuple[int, int]], quoted: str) -> None:
    """Within those around the mark that it belongs to, and before others."""
    added = with_opening_quote(with_places(translation, spans), "「二条」", "en")
    assert "".join(each if each.isascii() else "<>"[ord(each) % 2] for each in added) == quoted


def test_an_amount_of_yen_has_its_sign() -> None:
    """Unless the source has a backslash, too."""
    assert with_yen_sign(r"It is \220 or \1,000, but \n.", "220円") == r"It is ¥220 or ¥1,000, but \n."
    assert with_yen_sign(r"C:\220", r"C:\220") == r"C:\220"


@pytest.mark.parametrize(
    ("source", "translation", "expected"),
    [
        ("It took 5 days.", "- 5日間。", "5日間。"),
        ("- It took 5 days.", "- 5日間。", "- 5日間。"),
        ("・5日間", "- Five days", "- Five days"),
        ("-5 degrees", "- 5度", "- 5度"),
        ("It took 5 days.", "\U000f0000- 5日間\U000f0001。", "\U000f00005日間\U000f0001。"),
        ("He is - well - here.", "彼は - 5日間。", "彼は - 5日間。"),
        ("x", "- ", "- "),
        ("", "- x", "x"),
    ],
)
def test_a_dash_at_the_beginning_is_one_of_the_source(source: str, translation: str, expected: str) -> None:
    """Else a point of a list would have two; within a sentence, dashes stay."""
    assert without_dash(translation, source) == expected
