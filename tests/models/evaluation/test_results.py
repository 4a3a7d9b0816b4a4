"""Results are read from the JSON of `evaluate` and `contrast`."""

import json
from pathlib import Path
from typing import Any

import pytest

from models.errors import DataError
from models.evaluation.results import Result, read_results


def write(file: Path, **figures: Any) -> Path:
    """Figures as `--json` writes them."""
    file.write_text(json.dumps({"context": "real", "context_sentences": 2, "model": "a"} | figures), encoding="utf-8")
    return file


def test_files_of_one_model_with_one_context_are_one_result(tmp_path: Path) -> None:
    """Figures of `contrast` and `evaluate` are joined, in the order in which models and contexts first occur."""
    files = [
        write(tmp_path / "1", bleu=20.5, chrf=50.0, signature="nrefs:1"),
        write(tmp_path / "2", bleu=19.0, context="empty", context_sentences=0),
        write(tmp_path / "3", accuracy=0.75, macro=0.5, items=8),
        write(tmp_path / "4", accuracy=0.5, context_sentences=1),
    ]
    assert read_results(files) == [
        Result(model="a", context="real", context_sentences=2, bleu=20.5, chrf=50.0, accuracy=0.75, macro=0.5),
        Result(model="a", context="empty", context_sentences=0, bleu=19.0),
        Result(model="a", context="real", context_sentences=1, accuracy=0.5),
    ]


def test_the_same_figure_twice_is_refused(tmp_path: Path) -> None:
    """Otherwise, figures of two test sets would look like those of one."""
    files = [write(tmp_path / name, bleu=float(name)) for name in ("1", "2")]
    with pytest.raises(DataError, match=r"2: bleu of a with real context \(2 sentences\) occurs twice"):
        read_results(files)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "is not a file that evaluate or contrast wrote"),
        ("[]", "is not a file that evaluate or contrast wrote"),
        ("[" * 100_000, "is not a file that evaluate or contrast wrote"),
        ('{"bleu": 1.0}', "model"),
        ('{"model": "a", "context": "real", "context_sentences": 1}', "has no figures"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    """The error names the file, and what is wrong with it."""
    file = tmp_path / "file.json"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=f"{file}.*{message}"):
        read_results([file])
