"""Figures against the number of context sentences, from the JSON of evaluate and contrast."""

import json
from pathlib import Path
from typing import Any

import pytest

from models.errors import PictureError
from models.plotting.context_sizes import Series, read_series


def write(file: Path, **figures: Any) -> Path:
    """Figures as `--json` writes them."""
    file.write_text(json.dumps({"context": "real", "model": "a"} | figures), encoding="utf-8")
    return file


def test_points_are_those_of_the_files(tmp_path: Path) -> None:
    """A series for each system and figure, from the fewest to the most sentences, whatever the order of the files."""
    files = [
        write(tmp_path / "2", context_sentences=2, bleu=20.5, chrf=50.0),
        write(tmp_path / "0", context_sentences=0, bleu=19.0, context="empty"),
        write(tmp_path / "3", context_sentences=1, accuracy=0.75, items=8),
        write(tmp_path / "4", context_sentences=0, bleu=18.0, model="b"),
        write(tmp_path / "5", context_sentences=2, bleu=17.0, context="shuffled"),
    ]
    assert read_series(files) == [
        Series("a", "bleu", [0, 2], [19.0, 20.5]),
        Series("a", "accuracy", [1], [0.75]),
        Series("b", "bleu", [0], [18.0]),
        Series("a, shuffled context", "bleu", [2], [17.0]),
    ]


def test_two_figures_of_the_same_are_refused(tmp_path: Path) -> None:
    """Two test sets in one picture would look like one."""
    files = [write(tmp_path / name, context_sentences=1, bleu=float(name)) for name in ("1", "2")]
    with pytest.raises(PictureError, match="2: bleu of a with 1 sentences is there twice"):
        read_series(files)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not what evaluate or contrast write"),
        ("[]", "is not what evaluate or contrast write"),
        ('{"bleu": 1.0}', "model"),
        ('{"model": "a", "context": "real", "context_sentences": 1}', "neither bleu nor accuracy"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """What is no such JSON is named, with what is wrong with it."""
    file = tmp_path / "file.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(PictureError, match=message):
        read_series([file])
