"""A bundle of a model whose context is a part of its source: CTranslate2 whole."""

from pathlib import Path

import pytest

from models.bundle.export import export_bundle
from models.bundle.runtime import Options, Runtime, TranslationRequest
from models.config import ConcatenationConfig, ContextWindow
from models.data.documents import windows
from tests.support.bundles import documents, make_checkpoint

REQUESTS = [
    TranslationRequest(window.current.source, window.preceding)
    for document in documents()
    for window in windows(document, ContextWindow(size=2))
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that reads two preceding sentences."""
    folder = tmp_path_factory.mktemp("joined") / "checkpoint"
    return make_checkpoint(folder, ConcatenationConfig(context_sentences=2), max_length=96)


@pytest.fixture(scope="module")
def runtime(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    """Its bundle in float32, loaded."""
    folder = tmp_path_factory.mktemp("joined") / "bundle"
    export_bundle(checkpoint, folder, "float32", documents=documents())
    return Runtime.load(folder)


@pytest.mark.parametrize("beam_size", [1, 4])
def test_bundle_translates_as_the_checkpoint(runtime: Runtime, checkpoint: Path, beam_size: int) -> None:
    """Both engines give the same text and score for every sentence in its context."""
    options = Options(beam_size=beam_size)
    found = runtime.translate(REQUESTS, options)
    expected = Runtime.open(checkpoint).translate(REQUESTS, options)
    assert [(one.text, one.context_size) for one in found] == [(one.text, one.context_size) for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)
    assert {one.context_size for one in found} == {0, 1, 2}


def test_context_is_read_and_the_sentence_model_is_beside_it(runtime: Runtime) -> None:
    """With context the score is another one; without it, that of the sentence model."""
    with_context, without = (
        [one.score for one in runtime.translate(REQUESTS, Options(strategy))] for strategy in ("direct", "sentence")
    )
    bare = [TranslationRequest(request.source) for request in REQUESTS]
    assert with_context != without
    assert without == [one.score for one in runtime.translate(bare, Options("sentence"))]


def test_targets_are_scored_in_their_context(runtime: Runtime, checkpoint: Path) -> None:
    """Log-probabilities of given translations agree with the checkpoint's."""
    targets = [sentence.target or "" for document in documents() for sentence in document.sentences]
    expected = Runtime.open(checkpoint).score(REQUESTS, targets)
    assert runtime.score(REQUESTS, targets) == pytest.approx(expected, abs=1e-3)


def test_nothing_but_the_two_models_is_shipped(runtime: Runtime) -> None:
    """There are no weights that nobody would read."""
    folders = {name.split("/")[0] for name in runtime.manifest.files if "/" in name}
    assert folders == {"backbone", "joined"}
    assert not any(name.endswith(".safetensors") for name in runtime.manifest.files)
