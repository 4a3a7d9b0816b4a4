"""Figures with the real context, compared with those with other kinds."""

import pytest

from models.errors import PictureError
from models.evaluation.results import Result
from models.plotting.context_kinds import Outcome, outcomes_of


def test_outcomes_are_those_of_the_largest_context() -> None:
    """Every figure of every kind is there; results with less than the whole context are for another picture."""
    results = [
        Result(model="a", context="real", context_sentences=2, bleu=20.5, chrf=50.0, loss=2.5),
        Result(model="a", context="real", context_sentences=1, bleu=20.0),
        Result(model="a", context="random", context_sentences=2, macro=0.5),
        Result(model="b", context="real", context_sentences=3, bleu=21.0),
    ]
    assert outcomes_of(results) == [
        Outcome("a", "real", "loss", 2.5),
        Outcome("a", "real", "bleu", 20.5),
        Outcome("a", "random", "macro", 0.5),
        Outcome("b", "real", "bleu", 21.0),
    ]


def test_one_kind_is_nothing_to_compare() -> None:
    """A picture of one kind would show no difference."""
    results = [Result(model=model, context="real", context_sentences=2, bleu=20.0) for model in "ab"]
    with pytest.raises(PictureError, match="at least two kinds of context"):
        outcomes_of(results)


def test_other_figures_are_nothing_to_compare() -> None:
    """Without the loss, BLEU or contrastive figures, the picture would have no panels."""
    results = [Result(model="a", context=kind, context_sentences=2, chrf=50.0) for kind in ("real", "random")]
    with pytest.raises(PictureError, match="needs the loss, BLEU or"):
        outcomes_of(results)
