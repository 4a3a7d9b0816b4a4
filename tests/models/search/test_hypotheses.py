import math
from dataclasses import replace

import pytest

from models.config import DecodingConfig
from models.errors import UnsupportedOptionError
from models.search.hypotheses import Hypothesis, SearchOptions, max_target_length


def test_power_normalisation_with_exponent_one_is_the_mean() -> None:
    """The default score is the mean log-probability of a token."""
    assert SearchOptions().normalize(-6.0, 4) == -1.5


def test_wu_normalisation_is_that_of_the_paper() -> None:
    """Wu et al. 2016, eq. 14: log p / ((5 + n) / 6)^alpha."""
    options = SearchOptions(normalization="wu", alpha=0.6)
    assert options.normalize(-6.0, 13) == pytest.approx(-6.0 / 3**0.6)
    assert options.normalize(-6.0, 1) == -6.0


@pytest.mark.parametrize("normalization", ["power", "wu"])
def test_without_alpha_the_score_is_the_log_probability(normalization: str) -> None:
    """With exponent 0, hypotheses are compared by their probability alone."""
    assert replace(SearchOptions(alpha=0), normalization=normalization).normalize(-6.0, 9) == -6.0  # type: ignore[arg-type]


def test_length_counts_the_end_of_sentence_where_there_is_one() -> None:
    """A finished translation has one token more than words; one that was cut at its maximum length does not."""
    assert Hypothesis([7, 8], -1.0, -3.0).length == 3
    assert Hypothesis([7, 8], -1.5, -3.0, finished=False).length == 2


@pytest.mark.parametrize(
    "wrong", [{"beam_size": 0}, {"alpha": -1.0}, {"min_length": -1}, {"n_best": 0}, {"n_best": 5}, {"patience": 0.5}]
)
def test_senseless_options_are_refused(wrong: dict[str, float]) -> None:
    """More hypotheses than the beam holds, and numbers below their minimum, are unsupported."""
    with pytest.raises(UnsupportedOptionError):
        SearchOptions(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["alpha", "patience"])
def test_nan_is_refused(name: str) -> None:
    """Scores that are NaN could not be compared, and no number of hypotheses would satisfy such a patience."""
    with pytest.raises(UnsupportedOptionError):
        SearchOptions(**{name: math.nan})  # type: ignore[arg-type]


@pytest.mark.parametrize(("source", "longest"), [(0, 20), (10, 40), (119, 258), (1000, 258)])
def test_maximum_length_grows_with_the_source_up_to_the_models(source: int, longest: int) -> None:
    """It is the ratio times the source tokens, plus the offset, but at most the positions of the model."""
    assert max_target_length(source, DecodingConfig(), 258) == longest


def test_maximum_length_is_never_nothing() -> None:
    """Even a small ratio without an offset leaves room for the end of sentence."""
    assert max_target_length(1, DecodingConfig(length_ratio=0.1, length_offset=0), 256) == 1
