import os
import signal
from pathlib import Path

import pytest

from models.benchmark.interleaved import Conditions, benchmark
from models.benchmark.lane import Place, Work
from models.benchmark.lanes import Lanes
from models.config import GlobalLocalConfig
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.errors import BundleError
from models.search.hypotheses import SearchOptions
from tests.support.bundles import documents, make_bundle

GREEDY = SearchOptions(1)


@pytest.fixture
def work(runtime: Runtime) -> Work:
    """Ten sentences."""
    sentences = [sentence for document in documents(2) for sentence in document.sentences]
    requests = [TranslationRequest(sentence.source) for sentence in sentences]
    return [part for prepared in runtime.prepare(requests, Options()) for part in prepared.parts]


def test_each_lane_has_its_own_sentences(bundle: Path, runtime: Runtime, work: Work) -> None:
    """Each lane translates its own sentences, and the tokens of all are counted; a lane that dies is an error."""
    expected = sum(len(best.tokens) for (best,) in runtime.engine("direct").translate(work, GREEDY))
    with Lanes(Place(bundle, compute_type="float32"), 2) as lanes:
        lanes.give([work[:3], work[3:]])
        assert lanes.run("direct", GREEDY) == lanes.run("plain", GREEDY) == expected
        assert lanes.run("float16", GREEDY) == lanes.run("sentence", GREEDY), "in float32, as a CPU has it"
        assert 0 < lanes.run("sentence", GREEDY) < sum(request.max_length for request in work)
        lanes.processes[0].kill()
        with pytest.raises(BundleError, match="a lane has died"):
            lanes.run("direct", GREEDY)


def test_lane_that_is_interrupted_ends_without_a_word(bundle: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C reaches all processes of a command, but only the main one should say so."""
    with Lanes(Place(bundle, compute_type="float32"), 1) as lanes:
        (lane,) = lanes.processes
        assert lane.pid is not None
        os.kill(lane.pid, signal.SIGINT)
        lane.join()
    assert capfd.readouterr().err == ""


def test_bundle_that_cannot_be_loaded_is_refused(bundle: Path) -> None:
    """The error is the one that the lane reports, and all lanes end."""
    lanes = Lanes(Place(bundle, device="nowhere", compute_type="float32"), 1)
    with pytest.raises(BundleError, match="nowhere"), lanes:
        pass
    assert not any(process.is_alive() for process in lanes.processes)


@pytest.mark.slow
def test_states_that_are_kept_have_a_row_of_their_own(tmp_path: Path) -> None:
    """An architecture that keeps states of the context is measured with and without them."""
    folder = make_bundle(tmp_path / "bundle", GlobalLocalConfig(block_sentences=3), max_length=96)
    conditions = Conditions("cpu", "float32", lanes=1, beams=[1], batches=[6], rounds=1)
    with Lanes(Place(folder, compute_type="float32"), 1) as lanes:
        rows = benchmark(Place(folder).load(), documents(), conditions, lanes)
    assert [row.strategy for row in rows] == ["sentence", "direct", "warm", "plain"]
