import itertools
import random
from pathlib import Path

import pytest

from loadtests.scenario import Closed, Kind, Open, Scenario
from loadtests.users.arrivals import Arrival, arrivals
from tests.support.client import PAIR

LOAD = Open(rate=50, seconds=200)
SCENARIO = Scenario(
    urls=("http://nowhere",),
    pair=PAIR,
    documents=(("a",) * 10, ("b",) * 30),
    expected=((), ()),
    load=Closed(clients=1, seconds=1),
    shares={Kind.LIVE: 0.5, Kind.DOCUMENT: 0.5, Kind.EVENTS: 0.0},
    pace_seconds=2,
    outcomes=Path("nowhere"),
)


def come(kind: Kind, seed: int = 1) -> list[Arrival]:
    """All users of a kind."""
    return arrivals(kind, LOAD, SCENARIO, random.Random(seed))


@pytest.mark.parametrize("kind", [Kind.LIVE, Kind.DOCUMENT])
def test_each_kind_brings_its_part_of_the_sentences(kind: Kind) -> None:
    """Sentences come at the rate that was asked for; spoken ones do so in the first and the last seconds, too."""
    moments = [moment for arrival in come(kind) for moment in arrival.moments]
    assert len(moments) == pytest.approx(25 * 200, rel=0.1)
    if kind is Kind.LIVE:
        assert sum(moment < 20 for moment in moments) == pytest.approx(500, rel=0.3)
        assert sum(moment >= 180 for moment in moments) == pytest.approx(500, rel=0.3)


def test_those_who_speak_bring_as_much_in_each_part_of_a_run() -> None:
    """Over many runs, each third of a run has the rate that was asked for."""
    load = Open(rate=10, seconds=60)
    scenario = SCENARIO.model_copy(update={"shares": {Kind.LIVE: 1.0}})
    counts = [0, 0, 0]
    for seed in range(100):
        for arrival in arrivals(Kind.LIVE, load, scenario, random.Random(seed)):
            for moment in arrival.moments:
                counts[int(moment // 20)] += 1
    assert counts == pytest.approx([10 * 20 * 100] * 3, rel=0.03)


def test_nobody_says_anything_after_the_end() -> None:
    """Sessions that would last longer are cut short."""
    assert max(moment for arrival in come(Kind.LIVE) for moment in arrival.moments) < LOAD.seconds


def test_whole_documents_are_due_at_once() -> None:
    """All sentences of a document are due when it is brought; documents are not evenly spaced in time."""
    found = come(Kind.DOCUMENT)
    assert all(len(set(arrival.moments)) == 1 for arrival in found)
    assert all(len(arrival.moments) == len(SCENARIO.documents[arrival.number]) for arrival in found)
    assert len({round(b.moments[0] - a.moments[0], 6) for a, b in itertools.pairwise(found)}) > 100


@pytest.mark.parametrize("kind", [Kind.LIVE, Kind.DOCUMENT])
def test_somebody_of_each_kind_comes(kind: Kind) -> None:
    """If chance brings nobody, one user comes in the middle of the run; but none of a kind without a share."""
    few = Open(rate=0.001, seconds=10)
    found = [arrivals(kind, few, SCENARIO, random.Random(seed)) for seed in range(50)]
    assert {len(come) for come in found} == {1}
    assert [come[0].moments[0] for come in found].count(5.0) > 40
    assert arrivals(Kind.EVENTS, few, SCENARIO, random.Random(1)) == []


def test_same_seed_brings_the_same_users() -> None:
    """A run can be repeated; another seed gives another run; no users come of a kind without a share."""
    assert come(Kind.LIVE) == come(Kind.LIVE)
    assert come(Kind.LIVE) != come(Kind.LIVE, seed=2)
    assert come(Kind.EVENTS) == []
