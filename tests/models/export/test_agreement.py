import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pytest

from models.data.batches import Example
from models.data.tokenizer import BOS
from models.engine.strategies import TokenizedRequest, Tokens
from models.export.agreement import EXACT, Sample, exact_disagreement, mean_shift
from models.search.hypotheses import Hypothesis, SearchOptions

SAMPLE = Sample([TokenizedRequest(Example([4, 5]), 9), TokenizedRequest(Example([6]), 9)], [[7, 8], [9]])
VALUES = [[-0.5, -0.25, -0.75], [-1.0, -2.0]]
FOUND = Hypothesis([7, 8], -0.5, -1.5)


@dataclass
class Engine:
    """Gives the same answers to all requests; only hypotheses depend on the beam size."""

    values: list[list[float]]
    found: Callable[[int], Hypothesis]

    def translate(self, requests: Sequence[TokenizedRequest], options: SearchOptions) -> list[list[Hypothesis]]:
        """Return the hypothesis for the beam size, for each request."""
        return [[self.found(options.beam_size)] for _ in requests]

    def log_probabilities(self, requests: Sequence[TokenizedRequest], targets: Sequence[Tokens]) -> list[list[float]]:
        """Return the values, whatever is asked."""
        assert len(requests) == len(targets)
        return self.values


REFERENCE = Engine(VALUES, lambda _: FOUND)


def moved(by: float) -> list[list[float]]:
    """The values, with the last one changed."""
    return [VALUES[0], [VALUES[1][0], VALUES[1][1] + by]]


def test_engines_that_compute_the_same_agree() -> None:
    """Rounding of floats is no disagreement, nor is a tie that the engines break differently."""
    tie = replace(FOUND, tokens=[8, 7], score=FOUND.score + EXACT / 2)
    assert exact_disagreement(REFERENCE, Engine(moved(EXACT / 2), lambda _: tie), SAMPLE) is None


@pytest.mark.parametrize("by", [2 * EXACT, -1.0, math.nan, -math.inf])
def test_one_wrong_probability_is_a_disagreement(by: float) -> None:
    """A single token whose log-probability differs, or is not finite, is enough."""
    found = exact_disagreement(REFERENCE, Engine(moved(by), lambda _: FOUND), SAMPLE)
    assert found is not None
    assert found.startswith("log-probabilities of tokens differ")


def test_a_model_that_says_control_tokens_is_called_untrained() -> None:
    """Only CTranslate2 lets these tokens through, so the conversion is not at fault."""
    found = exact_disagreement(REFERENCE, Engine(VALUES, lambda _: replace(FOUND, tokens=[BOS, 7], score=-3.0)), SAMPLE)
    assert found == "2 of 2 translations contain control tokens: the model has hardly been trained"


@pytest.mark.parametrize("beam_size", [1, 4])
def test_another_translation_is_a_disagreement(beam_size: int) -> None:
    """Greedy search and a beam of 4 must both agree, and the answer says which one does not."""
    other = replace(FOUND, tokens=[8], score=-0.7)
    engine = Engine(VALUES, lambda beam: other if beam == beam_size else FOUND)
    assert exact_disagreement(REFERENCE, engine, SAMPLE) == f"2 of 2 translations with beam {beam_size} differ"


def test_the_shift_is_a_mean_over_tokens() -> None:
    """Half a nat in one of five tokens shifts the mean by a tenth; with a NaN, the shift is NaN."""
    assert mean_shift(REFERENCE, Engine(moved(-0.5), lambda _: FOUND), SAMPLE) == pytest.approx(-0.1)
    assert math.isnan(mean_shift(REFERENCE, Engine(moved(math.nan), lambda _: FOUND), SAMPLE))
