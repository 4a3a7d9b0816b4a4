"""English ranges of times."""

import pytest

from models.text.normalization.english_times import ranges_in_full


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("Open 1-3 p.m. daily", "Open 1 p.m. to 3 p.m. daily"),
        ("from 2 to 4 pm", "from 2 pm to 4 pm"),
        ("between 2:30 and 4 PM", "between 2:30 PM and 4 PM"),
        ("9 a.m.–5 p.m., 9am - 5:30pm", "9 a.m. to 5 p.m., 9am to 5:30pm"),
        ("11-1 pm, 9:30-12 p.m., 12-2 pm", "11 am to 1 pm, 9:30 a.m. to 12 p.m., 12 pm to 2 pm"),
        ("10 a.m.-noon, noon-2 p.m.", "10 a.m. to noon, noon to 2 p.m."),
        ("(7.30–9 P.M.)", "(7.30 P.M. to 9 P.M.)"),
        *(
            (text, text)
            for text in (
                "from 9 a.m. to 5 p.m.",
                "pages 1-3 and 5",
                "13-15 pm",
                "2024-1-3 pm",
                "1-3 pmol",
                "noon or midnight",
                "at 3 p.m. and 5",
                "room 4, 3 pm",
            )
        ),
    ],
)
def test_ranges_are_read_with_both_halves_of_the_day(text: str, read: str) -> None:
    """The first time is in the other half if it is later on the clock."""
    assert ranges_in_full(text) == read


def test_no_text_takes_long() -> None:
    """Half a million characters within the limit of a test."""
    for piece in ("1-", "1 ", "12:30-", "1 p.m.-", "noon-", "1 to "):
        ranges_in_full(piece * (500_000 // len(piece)))
