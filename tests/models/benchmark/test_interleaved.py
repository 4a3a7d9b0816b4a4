import itertools
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest

from models.benchmark.interleaved import Conditions, Row, benchmark
from models.benchmark.lane import Place, Way, Work
from models.benchmark.lanes import Lanes
from models.data.documents import Document, Sentence
from models.engine.runtime import Runtime
from models.engine.strategies import TorchEngine
from models.errors import DataError, UnsupportedOptionError
from models.search.hypotheses import SearchOptions
from tests.support.bundles import documents

CONDITIONS = Conditions("cpu", "float32", lanes=2, beams=[1], batches=[3], rounds=3)


class Clockwork:
    """Lanes that take given seconds for each way, more in every round, and record what they are asked to do."""

    def __init__(self, seconds: dict[Way, float]) -> None:
        self.seconds = seconds
        self.now = 0.0
        self.given: list[Sequence[Work]] = []
        self.asked: list[str] = []

    def give(self, work: Sequence[Work]) -> None:
        """Record the sentences."""
        self.given.append(work)
        self.asked.append("give")

    def forget(self) -> None:
        """Record that states are forgotten."""
        self.asked.append("forget")

    def run(self, way: Way, options: SearchOptions) -> int:
        """Record the way, and let time pass."""
        self.asked.append(way)
        self.now += self.seconds[way] * len(self.given)
        return 60

    def clock(self) -> float:
        """Seconds so far."""
        return self.now


@pytest.fixture
def team() -> Clockwork:
    """Lanes in which CTranslate2 is twice as fast as our decoder, and ours three times as fast as the plain one."""
    return Clockwork({"sentence": 0.5, "direct": 1.0, "warm": 0.75, "eager": 1.5, "plain": 3.0, "float16": 0.4})


def measured(rows: Sequence[Row], way: Way) -> Row:
    """The row of a way."""
    (row,) = (row for row in rows if row.strategy == way)
    return row


def test_ratios_are_those_of_rounds(runtime: Runtime, team: Clockwork) -> None:
    """A machine that gets slower in each round changes speeds, but no ratios; the first round does not count."""
    rows = benchmark(runtime, documents(), CONDITIONS, team, clock=team.clock)
    ours = measured(rows, "direct")
    assert (ours.ratio, ours.plain_ratio) == (0.5, 3.0)
    assert (ours.fastest, ours.tokens_per_second, ours.slowest) == (60 / 2, 60 / 3, 60 / 4)
    assert ours.milliseconds == 3000
    assert measured(rows, "sentence").ratio == measured(rows, "plain").plain_ratio == 1


def test_ways_take_turns_on_the_same_sentences(runtime: Runtime, team: Clockwork) -> None:
    """In a round, all ways translate the same sentences, only `warm` with kept states; rounds have different ones."""
    benchmark(runtime, documents(), CONDITIONS, team, clock=team.clock)
    turn = ["give", "forget", "sentence", "forget", "direct", "warm", "forget", "plain"]
    assert team.asked == turn * 4
    assert [[len(part) for part in work] for work in team.given] == [[3, 3]] * 4
    sources = [tuple(request.example.source) for work in team.given for part in work for request in part]
    assert len(set(sources)) == len(sources) == 24


def test_a_run_ends_in_time_with_all_settings_measured(runtime: Runtime) -> None:
    """Rounds that would take too long are left out, whole, but never the first that counts."""
    team = Clockwork({"sentence": 0, "direct": 0, "warm": 0, "plain": 0})
    ticks = itertools.count()
    settings = replace(CONDITIONS, batches=[1, 3], rounds=100)
    rows = benchmark(runtime, documents(), replace(settings, seconds=50), team, clock=lambda: float(next(ticks)))
    assert 1 < rows[0].rounds < 100
    assert {row.rounds for row in rows} == {rows[0].rounds}
    assert {row.batch for row in rows} == {1, 3}
    assert next(ticks) < 60
    hurried = benchmark(runtime, documents(), replace(settings, seconds=0), team, clock=lambda: float(next(ticks)))
    assert {row.rounds for row in hurried} == {1}


def test_no_lane_has_all_long_sentences(runtime: Runtime, team: Clockwork) -> None:
    """A round lasts as long as its slowest lane, so sentences are dealt by length, whatever order they come in."""
    long_first = Document(tuple(Sentence("から、" * words) for words in (9, 8, 7, 3, 2, 1)))
    benchmark(runtime, [long_first], CONDITIONS, team, clock=team.clock)
    one, other = ([len(request.example.source) for request in part] for part in team.given[0])
    longest = sorted([*one, *other])[-2:]
    assert (max(one), max(other)) in permutations(longest)
    assert abs(sum(one) - sum(other)) < min(longest) / 2


def test_graphs_are_compared_with_steps_without_on_a_gpu(runtime: Runtime, team: Clockwork) -> None:
    """On a GPU, each way runs once before it is measured, since graphs are captured on the first run."""
    rows = benchmark(runtime, documents(), replace(CONDITIONS, device="cuda"), team, clock=team.clock)
    assert [row.strategy for row in rows] == ["sentence", "float16", "direct", "warm", "eager", "plain"]
    assert measured(rows, "direct").ratio == 1.5 * measured(rows, "eager").ratio
    assert measured(rows, "float16").ratio == pytest.approx(1.25)
    assert team.asked.count("eager") == 2 * (CONDITIONS.rounds + 1)


def test_few_sentences_are_repeated(runtime: Runtime, team: Clockwork) -> None:
    """A file of fewer sentences than the lanes take is translated over and over."""
    two = Document(documents()[0].sentences[:2])
    benchmark(runtime, [two], CONDITIONS, team, clock=team.clock)
    assert len({tuple(request.example.source) for part in team.given[0] for request in part}) == 2


def test_nothing_to_measure_is_refused(runtime: Runtime, team: Clockwork) -> None:
    """There are no sentences, the beam is too large, or there is no backbone to compare with."""
    with pytest.raises(DataError, match="no sentences to measure"):
        benchmark(runtime, [Document((Sentence(""),))], CONDITIONS, team)
    with pytest.raises(UnsupportedOptionError, match="beam_size 1000 is too large"):
        benchmark(runtime, documents(), replace(CONDITIONS, beams=[1, 1000]), team)
    assert team.asked == []
    direct = runtime.engine("direct")
    assert isinstance(direct, TorchEngine)
    alone = Runtime(runtime.manifest, runtime.tokenizer, direct.model.architecture, {"direct": direct})
    with pytest.raises(UnsupportedOptionError, match="no strategy 'sentence'"):
        benchmark(alone, documents(), CONDITIONS, team)


def test_lanes_are_measured(bundle: Path, runtime: Runtime) -> None:
    """Two real lanes, greedy and beam 2: every way has a speed, and all translations of a batch are counted."""
    conditions = Conditions("cpu", "float32", lanes=2, beams=[1, 2], batches=[1, 4], rounds=2)
    with Lanes(Place(bundle, compute_type="float32"), 2) as lanes:
        rows = benchmark(runtime, documents(), conditions, lanes)
    greedy, wider = ("sentence", "direct", "warm", "plain"), ("sentence", "direct", "warm", "rerank", "plain")
    assert [(row.beam, row.batch, row.strategy) for row in rows] == [
        (beam, batch, way) for beam, ways in ((1, greedy), (2, wider)) for batch in (1, 4) for way in ways
    ]
    assert all(0 < row.slowest <= row.tokens_per_second <= row.fastest for row in rows)
    assert all(row.plain_ratio is not None and row.ratio > 0 for row in rows)
