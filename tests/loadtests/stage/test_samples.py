import pytest

from loadtests.errors import LoadTestError
from loadtests.stage.samples import Sample, Work, steady_rate


def sample(at: float, sentences: float | None, tokens: float = 0.0) -> Sample:
    """What a service reported as done at some moment; with None for `sentences`, it did not answer."""
    return Sample(at, 0, 0, 0, 0, None if sentences is None else Work(sentences, tokens))


def test_a_rate_is_that_of_the_second_half() -> None:
    """Neither the time while the queue fills counts, nor the work done after the last arrival."""
    filling = [sample(at, 0) for at in range(100, 105)]
    steady = [sample(105, 10, 300), sample(107.5, None), sample(109.5, 55, 1200)]
    assert steady_rate([*filling, *steady, sample(115, 1000, 10**6)], 100, 10) == Work(10, 200)


def test_a_rate_wants_two_samples() -> None:
    """With only one, no time would have passed to divide by."""
    with pytest.raises(LoadTestError, match="too short"):
        steady_rate([sample(100, 0), sample(107, 5), sample(108, None)], 100, 10)
