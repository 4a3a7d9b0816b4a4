"""Japanese headings whose characters stand apart."""

import pytest

from models.text.normalization.japanese_spacing import closed_up


@pytest.mark.parametrize(
    ("text", "read"), [("議　事　録", "議事録"), (" お 知 ら　　せ ", "お知らせ"), ("目　次", "目次")]
)
def test_what_is_closed_up(text: str, read: str) -> None:
    """A text in which every character stands alone."""
    assert closed_up(text) == read


@pytest.mark.parametrize("text", ["京都 大阪", "第 一 章は", "田中 太郎", "A B C", "寺", "", "1 年 生"])
def test_what_stays(text: str) -> None:
    """Words that are divided by spaces, and other scripts."""
    assert closed_up(text) == text


def test_no_text_takes_long() -> None:
    """Half a million characters within the limit of a test."""
    for piece in ("寺 ", "寺  ", " ", "寺"):
        closed_up(piece * (500_000 // len(piece)) + "a")
