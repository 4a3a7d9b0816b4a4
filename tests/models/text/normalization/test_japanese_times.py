"""Dates of Japanese, apart from the times behind them."""

import pytest

from models.text.normalization.japanese_times import times_apart


@pytest.mark.parametrize(
    ("text", "apart"),
    [
        ("10月5日13:00～15:00", "10月5日、13:00～15:00"),
        ("10月5日（土）　13時30分〜15時", "10月5日（土）、13時30分〜15時"),
        ("10月5日(日・祝) 9：00", "10月5日(日・祝)の9：00"),
        ("10月5日13時まで", "10月5日の13時まで"),
        ("5日土曜日10時半から", "5日土曜日の10時半から"),
        *(
            (text, text)
            for text in ("10月5日午後3時", "10月5日の13時", "10月5日13時間", "10月5日13名", "休日13時", "日")
        ),
    ],
)
def test_what_is_put_between(text: str, apart: str) -> None:
    """A comma before a range, as models read it best; nothing before a half of the day."""
    assert times_apart(text) == apart


@pytest.mark.parametrize("piece", ["5日", "5日（土）", "5日 ", "5日1", "1時"])
def test_long_texts_take_a_time_that_is_linear_in_their_length(piece: str) -> None:
    """With a time that is quadratic, this would not end."""
    times_apart(f"{piece * (300_000 // len(piece))}a")
