"""Every architecture goes from checkpoint to bundle, and translates there as it did."""

from pathlib import Path

import pytest

from models.bundle.export import export_bundle
from models.bundle.requests import Options, Translation, TranslationRequest
from models.bundle.runtime import Runtime
from models.config import (
    ArchitectureConfig,
    AveragedDocumentConfig,
    ConcatenationConfig,
    ContextWindow,
    DocTransformerConfig,
    GlobalLocalConfig,
    LayerWeightingConfig,
    SentenceConfig,
)
from models.data.documents import windows
from tests.support.bert import make_bert, tiny_bert_context, with_bert
from tests.support.bundles import documents, make_checkpoint

ARCHITECTURES: dict[str, ArchitectureConfig] = {
    "sentence": SentenceConfig(),
    "doc_transformer": DocTransformerConfig(),
    "averaged_document": AveragedDocumentConfig(attention_width=16, attention_heads=2, document_sentences=3),
    "layer_weighting": LayerWeightingConfig(context_sentences=2),
    "concatenation": ConcatenationConfig(context_sentences=2),
    "bert_context": tiny_bert_context(),
    "bert_context with what follows": tiny_bert_context(context_sentences=2, following_sentences=1),
    "global_local": GlobalLocalConfig(block_sentences=3),
    "global_local, causal or not": GlobalLocalConfig(causal="both"),
    "global_local without memory": GlobalLocalConfig(target_memory=False),
}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random BERT that knows the characters of the documents."""
    return make_bert(tmp_path_factory.mktemp("bert"), "かきくけこらりるれろ、。")


@pytest.fixture(scope="module", params=ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
def runtimes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Runtime, Runtime]:
    """A checkpoint of the architecture and its float32 bundle, both open."""
    folder = tmp_path_factory.mktemp("architecture")
    checkpoint = make_checkpoint(folder / "checkpoint", with_bert(request.param, request), max_length=96)
    export_bundle(checkpoint, folder / "bundle", "float32", documents=documents())
    return Runtime.open(checkpoint), Runtime.load(folder / "bundle")


def requests(window: ContextWindow) -> list[TranslationRequest]:
    """All sentences of made-up documents, in their context, with the references as translations of it."""
    return [
        TranslationRequest(each.current.source, each.preceding, each.following)
        for document in documents(3)
        for each in windows(document, window)
    ]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_bundle_translates_as_the_checkpoint(runtimes: tuple[Runtime, Runtime], beam_size: int) -> None:
    """Texts and sizes of context are equal, scores to the fourth decimal place."""
    given = requests(runtimes[0].manifest.window)
    expected, found = (runtime.translate(given, Options(beam_size=beam_size)) for runtime in runtimes)
    assert [(one.text, one.context_size) for one in found] == [(one.text, one.context_size) for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)


def test_bundle_scores_as_the_checkpoint(runtimes: tuple[Runtime, Runtime]) -> None:
    """Log-probabilities of given translations agree."""
    targets = [sentence.target or "" for document in documents(3) for sentence in document.sentences]
    expected, found = (runtime.score(requests(runtime.manifest.window), targets) for runtime in runtimes)
    assert found == pytest.approx(expected, abs=1e-3)


def test_batch_mates_change_nothing(runtimes: tuple[Runtime, Runtime]) -> None:
    """A sentence is translated alone as in a batch with others of other lengths and contexts."""
    _, runtime = runtimes
    given = requests(runtime.manifest.window)

    def outcome(translation: Translation) -> tuple[str, object]:
        return translation.text, pytest.approx(translation.score, abs=1e-5)

    together = runtime.translate(given, Options(beam_size=2))
    alone = [runtime.translate([request], Options(beam_size=2))[0] for request in given[:6]]
    assert [(one.text, one.score) for one in alone] == [outcome(one) for one in together[:6]]


def test_cache_use_is_counted(runtimes: tuple[Runtime, Runtime]) -> None:
    """What is translated a second time finds all states of context that were kept the first time, where any are."""
    _, runtime = runtimes
    given = requests(runtime.manifest.window)
    runtime.translate(given, Options(beam_size=1))
    before = runtime.cache_use()
    runtime.translate(given, Options(beam_size=1))
    again = runtime.cache_use() - before
    assert again.misses == 0
    assert (again.hits > 0) == (before.hits + before.misses > 0)
