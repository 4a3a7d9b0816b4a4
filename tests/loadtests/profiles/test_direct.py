import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from loadtests.errors import LoadTestError
from loadtests.profiles.direct import Budget, batches_of, direct_workers
from models.data.documents import Sentence
from models.engine.requests import TranslationRequest
from service.settings import PREFIX, Settings
from tests.support.bundles import make_bundle
from tests.support.image import compose
from tests.support.servers import eventually


def test_batches_are_as_full_as_the_budget_allows() -> None:
    """Requests stay in order; no batch exceeds the budget of characters (with context) or of sentences."""
    requests = [
        TranslationRequest("xx", (Sentence("yy"),)),
        *map(TranslationRequest, ["a" * 6, "b", "c", "d" * 30, "e"]),
    ]
    batches = batches_of(requests, Budget(characters=10, sentences=2))
    assert [[len(request.source) for request in batch] for batch in batches] == [[2, 6], [1, 1], [30], [1]]
    assert [request for batch in batches for request in batch] == requests


def test_batches_are_as_large_as_those_of_the_service() -> None:
    """The budget is that of the service's defaults on a CPU, and of docker-compose.gpu.yml on a GPU."""
    own = Settings()
    assert Budget.on("cpu") == Budget(own.batch_characters, own.batch_sentences)
    set_there = compose("docker-compose.gpu.yml")["services"]["antecedent"]["environment"]
    assert Budget.on("cuda:1") == Budget(
        *(int(set_there[f"{PREFIX}BATCH_{what}"]) for what in ("CHARACTERS", "SENTENCES"))
    )


def test_what_cannot_be_loaded_is_told_in_a_sentence(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One error says what is wrong with the bundle or the device; the worker processes print no tracebacks."""
    with pytest.raises(LoadTestError, match="none"), direct_workers(2, tmp_path / "none", "cpu"):
        pass
    made = make_bundle(tmp_path / "bundle")
    with pytest.raises(LoadTestError, match="cuda:99"), direct_workers(1, made, "cuda:99"):
        pass
    assert capfd.readouterr().err == ""


def test_work_under_way_ends_with_the_processes(tmp_path: Path) -> None:
    """Interrupting a measurement does not wait for batches that are being translated."""
    batch = [TranslationRequest("かきくけこ")] * 3_000_000  # for longer than a test may take
    with ThreadPoolExecutor(1) as thread:
        with direct_workers(1, make_bundle(tmp_path / "bundle"), "cpu") as direct:
            process = psutil.Process(multiprocessing.active_children()[0].pid)
            idle = process.cpu_times().user
            under_way = thread.submit(direct.translate, [batch])
            eventually(lambda: process.cpu_times().user > idle + 0.5, "a batch is being translated")
        with pytest.raises(LoadTestError, match="has ended"):
            under_way.result()
