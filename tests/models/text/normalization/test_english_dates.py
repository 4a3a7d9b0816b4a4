"""Abbreviated months and days of the week in English."""

import pytest

from models.text.normalization.english_dates import dates_in_full


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("On Sept. 23, or Oct 5, he came", "On September 23, or October 5, he came"),
        ("He was born 5 Jan 1887 and died 6 Sept. 1901.", "He was born 5 January 1887 and died 6 September 1901."),
        ("It was 5 Dec.", "It was 5 December."),
        ("Apr.1", "April 1"),
        ("Open Mon-Fri, 9am-5pm, and Sat 9 a.m.", "Open Monday-Friday, 9am-5pm, and Saturday 9 a.m."),
        ("Fri., Sat. and Sun.", "Friday, Saturday and Sunday."),
        ("Mon., Sept. 23; Sat, May 5", "Monday, September 23; Saturday, May 5"),
        ("He came on Sun.", "He came on Sunday."),
        ("OPEN MON-FRI FROM SEPT. 23, and from oct 5", "OPEN MONDAY-FRIDAY FROM SEPTEMBER 23, and from October 5"),
        ("from oct 5 to 7 nov", "from october 5 to 7 november"),
        ("next Fri and last Sat.'s talk", "next Friday and last Saturday's talk"),
        ("on Thurs. evening (Tue.)", "on Thursday evening (Tuesday)"),
        *(
            (text, text)
            for text in (
                "in Oct.",
                "around the Sun. It",
                "I sat. Sat down",
                "Sun or Wed, Mars 5, he sat on the sun",
                "x-Jan 5",
            )
        ),
    ],
)
def test_what_is_read_in_full(text: str, read: str) -> None:
    """Months beside a number, and days beside another one, a date, a time, or with a stop within a sentence."""
    assert dates_in_full(text) == read


def test_no_text_takes_long() -> None:
    """Half a million characters within the limit of a test."""
    for piece in ("Mon", "Mon. ", "Mon, ", "Jan.", "Jan ", "5 Jan ", "5 Jan. ", "Sun, Mar "):
        dates_in_full(piece * (500_000 // len(piece)))
