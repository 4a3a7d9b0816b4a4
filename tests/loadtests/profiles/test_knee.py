import pytest

from loadtests.profiles.knee import find_knee


@pytest.mark.parametrize("limit", [3.0, 20.0, 21.0, 77.0, 400.0])
def test_knee_is_found_from_both_sides(limit: float) -> None:
    """The rate that is found holds, and one a tenth higher does not; no rate is tried twice."""
    tried: list[float] = []

    def holds(rate: float) -> bool:
        tried.append(rate)
        return rate <= limit

    knee = find_knee(holds, 20.0)
    assert knee <= limit < 1.1 * knee
    assert len(tried) == len(set(tried))


def test_service_that_holds_nothing_has_no_knee() -> None:
    """The search still ends."""
    assert find_knee(lambda _: False, 20.0) == 0.0
