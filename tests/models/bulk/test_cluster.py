"""A Ray cluster translates a corpus as `translate` does, even if a worker, a node or the driver dies."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.support.bulk import Corpus
from tests.support.deadly_worker import CONFUSING, DEADLY
from tests.support.ray_cluster import HELD, BulkJob, TwoWorkers, ray_folder, two_workers, wait_until
from tests.support.servers import ROOT


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoWorkers]:
    """Two workers that several tests share."""
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def mortal_cluster() -> Iterator[TwoWorkers]:
    """Two workers for one test alone, each on a node of its own."""
    with two_workers("--apart") as cluster:
        yield cluster


@pytest.fixture
def job(cluster: TwoWorkers, bulk_bundle: Path, bulk_corpus: Corpus, tmp_path: Path) -> Iterator[BulkJob]:
    """A job on the shared cluster."""
    job = BulkJob(cluster, bulk_bundle, bulk_corpus.file, tmp_path / "out", parts=40)
    yield job
    job.close()


def test_a_cluster_that_is_not_there_is_named(tmp_path: Path) -> None:
    """The last line names the cluster, without a traceback, and no files are written."""
    (corpus := tmp_path / "corpus.ja").write_text("から。\n", encoding="utf-8")
    paths = [str(ROOT / "models/pretrained/ja-en"), "--in", str(corpus), "--out", str(tmp_path / "out")]
    command = [sys.executable, "-m", "models", "translate", *paths, "--ray", "127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert re.fullmatch("error: no Ray cluster at 127.0.0.1:1: .*refused", done.stderr.splitlines()[-1])
    assert "Traceback" not in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["corpus.ja"]


@pytest.mark.slow
def test_cluster_of_this_machine(bulk_bundle: Path, bulk_corpus: Corpus, tmp_path: Path) -> None:
    """It is started for the job, and translates as `translate` does, except what a memory has."""
    out, memory = tmp_path / "out", tmp_path / "memory.tsv"
    sources = bulk_corpus.file.read_text(encoding="utf-8").split("\n")
    known = sources[1]
    memory.write_text(f"{known}\tKnown.\n", encoding="utf-8")
    lines = zip(sources, bulk_corpus.expected.split("\n"), strict=True)
    expected = "\n".join("Known." if source == known else line for source, line in lines)
    paths = [str(bulk_bundle), "--in", str(bulk_corpus.file), "--out", str(out), "--memory", str(memory)]
    command = [sys.executable, "-m", "models", "translate", *paths, "--ray", "local", "--part", "10", "--beam", "1"]
    with ray_folder() as folder:
        environment = os.environ | {"RAY_TMPDIR": folder}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert out.read_text(encoding="utf-8") == expected


@pytest.mark.slow
def test_worker_killed(job: BulkJob, bulk_corpus: Corpus) -> None:
    """The documents of a killed worker are translated again; nothing is lost or mixed up."""
    driver = job.start()
    worker = job.freeze_worker()
    assert job.parts - HELD <= job.kept() < job.parts
    worker.kill()
    _, said = driver.communicate()
    assert driver.returncode == 0, said
    assert "400 sentences in 40 parts" in said
    assert job.out.read_text(encoding="utf-8") == bulk_corpus.expected


@pytest.mark.slow
def test_driver_killed(job: BulkJob, bulk_corpus: Corpus) -> None:
    """A killed driver leaves no worker behind, and the job can be resumed where it stopped."""
    driver = job.start()
    worker = job.freeze_worker()  # so that the driver cannot end by itself
    driver.kill()
    driver.communicate()
    with suppress(psutil.NoSuchProcess):  # the cluster ends it, too
        worker.resume()
    kept = job.kept()
    assert not job.out.exists()
    wait_until(lambda: not job.cluster.workers())

    driver = job.start()
    _, said = driver.communicate()
    assert driver.returncode == 0, said
    assert f"400 sentences in 40 parts, {kept} of which were kept" in said
    assert job.out.read_text(encoding="utf-8") == bulk_corpus.expected


@pytest.mark.slow
def test_node_lost(mortal_cluster: TwoWorkers, job: BulkJob, bulk_corpus: Corpus) -> None:
    """If a node is lost with its worker, the remaining worker translates their documents again."""
    job.cluster = mortal_cluster
    driver = job.start()
    worker = job.freeze_worker()
    mortal_cluster.lose_node(worker)
    _, said = driver.communicate()
    assert driver.returncode == 0, said
    assert job.out.read_text(encoding="utf-8") == bulk_corpus.expected


@pytest.mark.slow
def test_text_that_kills_workers(job: BulkJob, tmp_path: Path) -> None:
    """A text that no worker survives is given up and named by its line; all else is translated and kept."""
    corpus = tmp_path / "corpus.ja"
    texts = [f"{'から。' * number}\n" * 10 for number in range(1, 9)]
    texts.insert(5, f"きく。\n{DEADLY}\n" * 5)
    corpus.write_text("\n".join(texts), encoding="utf-8")
    job.source, job.command = corpus, "tests.support.deadly_worker"
    driver = job.start()
    _, said = driver.communicate()
    assert driver.returncode == 2
    assert "corpus.ja:56: cannot be translated: a text of 11 lines has ended 5 workers" in said
    assert job.kept() == 8


@pytest.mark.slow
def test_bug_is_told(job: BulkJob, tmp_path: Path) -> None:
    """An unforeseen error ends the job with one line that says what it is."""
    corpus = tmp_path / "corpus.ja"
    corpus.write_text("から。\n" * 10 + "\n" + f"{CONFUSING}\n" * 10, encoding="utf-8")
    job.source, job.command = corpus, "tests.support.deadly_worker"
    driver = job.start()
    _, said = driver.communicate()
    assert driver.returncode == 2
    assert said.splitlines()[-1] == "error: the cluster could not finish: ZeroDivisionError: a bug"
    assert not job.out.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--beam", "60"), "error: the cluster could not finish: .*beam_size 60 is too large: this model offers.*"),
        (("--ray", "local", "--threads", "999"), "error: no worker can be placed: it needs 999 CPU cores, and this .*"),
    ],
)
def test_what_cannot_be_done_is_one_line(job: BulkJob, options: tuple[str, ...], message: str) -> None:
    """If no worker can start or be placed, the last line says why, without a traceback."""
    driver = job.start(*options)
    _, said = driver.communicate()
    assert driver.returncode == 2
    assert re.fullmatch(message, said.splitlines()[-1])
    assert "Traceback" not in said
    assert not job.out.with_name("out.parts").exists()
