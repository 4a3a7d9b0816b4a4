"""Kinds of companies in brackets, in full."""

import pytest

from models.text.normalization.japanese_companies import companies_in_full


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("㈱山田製作所と鈴木商事㈱が", "株式会社山田製作所と鈴木商事株式会社が"),
        ("（株）JEUGIA、京セラ(株)", "株式会社JEUGIA、京セラ株式会社"),
        ("（現：㈱リョーショク）", "（現：株式会社リョーショク）"),
        ("(財)合気会と㈶京都、（公財）協会", "財団法人合気会と㈶京都、公益財団法人協会"),
        ("㈶京都", "財団法人京都"),
    ],
)
def test_beside_a_name_it_is_written_out(text: str, full: str) -> None:
    """Names may have it on either side; of foundations, it is before them."""
    assert companies_in_full(text) == full


@pytest.mark.parametrize("text", ["（株）", "1（株）2", "文化（財）保護", "（独）日本", "株と財", ""])
def test_all_else_stays(text: str) -> None:
    """What has no name beside it, and abbreviations that may mean something else, are left to the model."""
    assert companies_in_full(text) == text
