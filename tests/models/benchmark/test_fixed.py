from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from threading import Thread

import pytest

from models.benchmark import fixed
from models.benchmark.fixed import SENTENCES, TOKENS, fixed_documents, write_fixed
from models.benchmark.lane import Place, Translate, Way, serve
from models.bundle.manifest import Manifest
from models.commands.benchmarks import Fixed
from models.config import BackboneConfig
from models.data.documents import windows
from models.engine.requests import Options, TranslationRequest
from models.search.hypotheses import SearchOptions

SMALL = BackboneConfig(width=16, feed_forward=32, heads=2, encoder_layers=2, decoder_layers=2)
VOCABULARY = 300
WAYS: tuple[Way, ...] = ("direct", "warm", "rerank", "plain")
FORCED = SearchOptions(2, min_length=TOKENS)


@pytest.fixture(autouse=True)
def small_bert(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give BERT a single, small layer."""
    for shape in fixed.BERTS.values():
        monkeypatch.setitem(shape, "num_hidden_layers", 1)
        monkeypatch.setitem(shape, "intermediate_size", 16)


@pytest.mark.parametrize("kind", Fixed)
def test_every_way_makes_as_many_tokens(kind: Fixed, tmp_path: Path) -> None:
    """With each architecture, sentences in context have 25 tokens, and so have translations in every way."""
    write_fixed(tmp_path / "bundle", kind.value, SMALL, VOCABULARY)
    where = Place(tmp_path / "bundle", compute_type="float32")
    runtime = where.load()
    (document,) = fixed_documents(SENTENCES, VOCABULARY)
    around = list(windows(document, runtime.manifest.window))[3:6]
    requests = [TranslationRequest(each.current.source, each.preceding, each.following) for each in around]
    parts = [part for prepared in runtime.prepare(requests, Options()) for part in prepared.parts]
    assert {len(part.example.source) for part in parts} == {TOKENS}
    assert all(part.example.preceding for part in parts)
    work = [replace(part, max_length=TOKENS) for part in parts]
    assert len(runtime.engine("sentence").translate(work, FORCED)[0][0].tokens) == TOKENS
    ours, theirs = Pipe()
    lane = Thread(daemon=True, target=serve, args=(theirs, where))
    lane.start()
    assert ours.recv() == 0
    with ours:
        for command, answer in ((work, 0), *((Translate(way, FORCED), 3 * TOKENS) for way in WAYS), (None, 0)):
            ours.send(command)
            assert ours.poll(60), command
            assert ours.recv() == answer
    lane.join()


def test_it_is_the_same_every_time(tmp_path: Path) -> None:
    """Two bundles have the same checksums, and two lists of documents the same sentences, all different."""
    for name in ("one", "two"):
        write_fixed(tmp_path / name, "doc_transformer", SMALL, VOCABULARY)
    assert Manifest.load(tmp_path / "one").files == Manifest.load(tmp_path / "two").files
    assert fixed_documents(40) == fixed_documents(40)
    sources = [sentence.source for document in fixed_documents(40) for sentence in document.sentences]
    assert len(set(sources)) == len(sources) == 40
