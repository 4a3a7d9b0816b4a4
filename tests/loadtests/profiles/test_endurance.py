import pytest

from loadtests.profiles.endurance import steady
from loadtests.stage.samples import Sample, growth

MIB = 1024**2


def samples(service: float = 0, workers: float = 0, descriptors: float = 0, redis: float = 0) -> list[Sample]:
    """Samples of an hour in which these grow evenly, by so many MiB or descriptors, after a start in which all grow."""
    start = [Sample(0, 10 * MIB, 10 * MIB, 5, MIB)]
    return start + [
        Sample(
            minute,
            int((80 + service * minute / 60) * MIB),
            int((400 + workers * minute / 60) * MIB),
            int(50 + descriptors * minute / 60),
            None if minute == 30 else int((2 + redis * minute / 60) * MIB),
        )
        for minute in range(1, 60)
    ]


def test_what_is_warm_and_stays_so_is_steady() -> None:
    """Neither growth at the start counts, nor a moment when Redis did not answer."""
    assert all(check.holds for check in steady(samples()))


@pytest.mark.parametrize(
    ("grown", "name"),
    [
        ({"service": 40}, "HTTP processes"),
        ({"workers": 100}, "workers"),
        ({"redis": 30}, "Redis"),
        ({"descriptors": 30}, "descriptors"),
    ],
)
def test_whatever_grows_is_found(grown: dict[str, float], name: str) -> None:
    """A leak of each kind is found, and no other check fails."""
    (missed,) = [check for check in steady(samples(**grown)) if not check.holds]
    assert name in missed.name


def test_growth_of_a_short_run() -> None:
    """Even one or two samples have a figure."""
    assert growth([3.0]) == 0
    assert growth([1.0, 2.0]) == 0
