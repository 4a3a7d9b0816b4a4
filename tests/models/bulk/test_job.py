"""A job translates a corpus as `translate` does, and resumes where an earlier one stopped."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from models.bulk.job import Outcome, translate_corpus
from models.bulk.parts import CorpusFile, Part
from models.bulk.worker import PartTranslator, Settings, Translation
from models.config import SentenceConfig
from models.errors import ClusterError, DataError
from tests.support.bulk import Corpus, settings_of
from tests.support.bundles import UNFIT, make_bundle


@dataclass
class OneWorker:
    """A worker in this process, which returns parts in the wrong order, and dies after `lives` of them."""

    lives: int = 1000
    translated: list[int] = field(default_factory=list)
    """The number of the first line of each part that it has translated."""

    def translate(self, corpus: CorpusFile, parts: Sequence[Part], settings: Settings) -> Iterator[Translation]:
        """Translate parts, the last one first."""
        worker = PartTranslator(settings, lambda _: 0)
        for number, part in enumerate(reversed(parts)):
            if number == self.lives:
                raise ClusterError("the worker has died")
            self.translated.append(part.line)
            row = {"key": part.key, "line": part.line, "sentences": part.sentences, "text": corpus.read(part)}
            yield Translation(**worker(row))


@dataclass(frozen=True)
class Job:
    """Translates a file into `out` with a tiny bundle, in parts of ten sentences."""

    folder: Path
    bundle: Path
    told: list[tuple[int, int]] = field(default_factory=list)

    @property
    def out(self) -> Path:
        """The file of the translation."""
        return self.folder / "out"

    def run(self, corpus: Path, worker: OneWorker) -> Outcome:
        """Start the job, or start it again."""
        return translate_corpus(
            corpus,
            self.out,
            settings_of(self.bundle),
            worker.translate,
            part_sentences=10,
            progress=lambda done, total: self.told.append((done, total)),
        )


@pytest.fixture
def job(tmp_path: Path, bulk_bundle: Path) -> Job:
    """A job without any output yet."""
    return Job(tmp_path, bulk_bundle)


@pytest.fixture
def narrow_job(tmp_path: Path, narrow_bundle: Path) -> Job:
    """The same with a bundle that has room for only a few tokens."""
    return Job(tmp_path, narrow_bundle)


def test_corpus_is_translated_in_order(job: Job, bulk_corpus: Corpus) -> None:
    """In whatever order parts are ready, the output is that of `translate`; progress adds up to the whole corpus."""
    assert job.run(bulk_corpus.file, OneWorker()) == Outcome(sentences=400, parts=40, kept=0)
    assert job.out.read_text(encoding="utf-8") == bulk_corpus.expected
    assert sum(done for done, _ in job.told) == 400
    assert {total for _, total in job.told} == {400}


def test_job_goes_on(job: Job, bulk_corpus: Corpus) -> None:
    """After a failure there is no output; the next job translates only what is missing."""
    with pytest.raises(ClusterError):
        job.run(bulk_corpus.file, OneWorker(lives=15))
    assert not job.out.exists()
    worker = OneWorker()
    job.told.clear()
    assert job.run(bulk_corpus.file, worker).kept == 15
    assert len(worker.translated) == 25
    assert [done for done, _ in job.told] == [150, *[10] * 25]
    assert job.out.read_text(encoding="utf-8") == bulk_corpus.expected


def test_only_what_has_changed_is_done_again(job: Job, bulk_corpus: Corpus, tmp_path: Path) -> None:
    """If a corpus is edited between two jobs, the parts that have not changed keep their translations."""
    with pytest.raises(ClusterError):
        job.run(bulk_corpus.file, OneWorker(lives=39))
    lines = bulk_corpus.file.read_text(encoding="utf-8").split("\n")
    changed = tmp_path / "changed"
    changed.write_text("\n".join([*lines[:-3], "から。", *lines[-2:]]), encoding="utf-8")
    assert job.run(changed, OneWorker()).kept == 38


def test_another_model_begins_anew(job: Job, bulk_corpus: Corpus, tmp_path: Path) -> None:
    """Translations of one model are not taken for those of another."""
    with pytest.raises(ClusterError):
        job.run(bulk_corpus.file, OneWorker(lives=15))
    other = make_bundle(tmp_path / "other", SentenceConfig())
    assert Job(job.folder, other).run(bulk_corpus.file, OneWorker()).kept == 0


def test_refused_sentences_stop_nobody_else(narrow_job: Job, tmp_path: Path) -> None:
    """Sentences that cannot be translated are named at the end; once corrected, only their parts are done again."""
    corpus = tmp_path / "corpus.ja"
    good = "から。\n" * 10 + "\n"
    corpus.write_text(f"きく。\n{good}{UNFIT}\n{good}{good}かも。\n{UNFIT}\n", encoding="utf-8")
    with pytest.raises(
        DataError, match=r"corpus\.ja:13: cannot be translated: .* tokens .*; nor can lines 37"
    ) as raised:
        narrow_job.run(corpus, OneWorker())
    assert raised.value.line == 13
    assert not narrow_job.out.exists()
    corpus.write_text(f"きく。\n{good}こら。\n{good}{good}かも。\nから。\n", encoding="utf-8")
    worker = OneWorker()
    narrow_job.run(corpus, worker)
    assert worker.translated == [36, 13]
    assert narrow_job.out.read_text(encoding="utf-8").count("\n") == 37


def test_what_stands_there_twice_is_named_twice(narrow_job: Job, tmp_path: Path) -> None:
    """A part that occurs twice is attempted once and named at both places; progress adds up to the whole corpus."""
    corpus = tmp_path / "corpus.ja"
    same = "から。\n" * 9 + f"{UNFIT}\n\n"
    corpus.write_text(same + "かも。\n" * 10 + "\n" + same, encoding="utf-8")
    worker = OneWorker()
    with pytest.raises(DataError, match=r"corpus\.ja:10: .*; nor can lines 32"):
        narrow_job.run(corpus, worker)
    assert sorted(worker.translated) == [1, 12]
    assert sum(done for done, _ in narrow_job.told) == 30


def test_nothing_to_translate_needs_no_worker(job: Job, tmp_path: Path) -> None:
    """An empty corpus has an empty translation."""

    class NoCluster(OneWorker):
        def translate(self, corpus: CorpusFile, parts: Sequence[Part], settings: Settings) -> Iterator[Translation]:
            raise ClusterError("there is none")

    (tmp_path / "empty").write_text("")
    assert job.run(tmp_path / "empty", NoCluster()) == Outcome(0, 0, 0)
    assert job.out.read_text() == ""
