"""Figures over the number of context sentences, from the results of `evaluate` and `contrast`."""

import pytest

from models.errors import PictureError
from models.evaluation.results import Result
from models.plotting.context_sizes import Series, series_of


def test_points_are_those_of_the_results() -> None:
    """Each system and figure has a series, from the fewest to the most sentences, whatever the order of results."""
    results = [
        Result(model="a", context="real", context_sentences=2, bleu=20.5, chrf=50.0),
        Result(model="a", context="empty", context_sentences=0, bleu=19.0),
        Result(model="a", context="real", context_sentences=1, accuracy=0.75),
        Result(model="b", context="real", context_sentences=0, bleu=18.0),
        Result(model="a", context="shuffled", context_sentences=2, bleu=17.0),
        Result(model="a", context="none", context_sentences=0, bleu=18.5),
    ]
    assert series_of(results) == [
        Series("a", "bleu", [0, 2], [19.0, 20.5]),
        Series("a", "accuracy", [1], [0.75]),
        Series("b", "bleu", [0], [18.0]),
        Series("a, shuffled context", "bleu", [2], [17.0]),
        Series("a, no context", "bleu", [0], [18.5]),
    ]


def test_results_without_such_figures_are_refused() -> None:
    """Without BLEU or accuracy, the picture would be empty."""
    with pytest.raises(PictureError, match="needs BLEU or accuracy"):
        series_of([Result(model="a", context="real", context_sentences=2, chrf=50.0)])
