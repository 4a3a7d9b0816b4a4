"""Every architecture translates from its bundle as it does from its checkpoint."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.benchmark.plain import PlainDecoder
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
from models.engine.requests import Options, Translation, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.strategies import TorchEngine
from models.export.export import export_bundle
from models.kernels.machine import supports_int8
from models.search.hypotheses import SearchOptions
from models.text.glossary import Term
from tests.support.bert import make_bert, tiny_bert_context, with_bert
from tests.support.bundles import documents, make_checkpoint

NEEDS_INT8 = pytest.mark.skipif(not supports_int8(), reason="no kernel for this CPU")
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the checkpoint and the bundle of the architecture that is tested at the moment."""
    return tmp_path_factory.mktemp("architecture")


@pytest.fixture(scope="module", params=ARCHITECTURES.values(), ids=ARCHITECTURES.keys())
def runtimes(request: pytest.FixtureRequest, folder: Path) -> tuple[Runtime, Runtime]:
    """A checkpoint of the architecture and its float32 bundle, both open."""
    checkpoint = make_checkpoint(folder / "checkpoint", with_bert(request.param, request), max_length=96)
    export_bundle(checkpoint, folder / "bundle", "float32", documents=documents())
    return Runtime.open(checkpoint), Runtime.load(folder / "bundle", compute_type="float32")


def requests(window: ContextWindow) -> list[TranslationRequest]:
    """All sentences of made-up documents in their context, whose translations are the references."""
    return [
        TranslationRequest(each.current.source, each.preceding, each.following)
        for document in documents(3)
        for each in windows(document, window)
    ]


@pytest.mark.parametrize("beam_size", [1, 4])
def test_bundle_translates_as_the_checkpoint(runtimes: tuple[Runtime, Runtime], beam_size: int) -> None:
    """Texts and sizes of context are equal, and scores to 1e-4."""
    given = requests(runtimes[0].manifest.window)
    expected, found = (runtime.translate(given, Options(beam_size=beam_size)) for runtime in runtimes)
    assert [(one.text, one.context_size) for one in found] == [(one.text, one.context_size) for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)


def test_bundle_scores_as_the_checkpoint(runtimes: tuple[Runtime, Runtime]) -> None:
    """Log-probabilities of given translations agree."""
    targets = [sentence.target or "" for document in documents(3) for sentence in document.sentences]
    expected, found = (runtime.score(requests(runtime.manifest.window), targets) for runtime in runtimes)
    assert found == pytest.approx(expected, abs=1e-3)


def test_marks_are_placed_by_every_architecture(runtimes: tuple[Runtime, Runtime]) -> None:
    """All marks are in the translation exactly once, with and without context."""
    given = requests(runtimes[1].manifest.window)[:6]
    marked = [replace(one, source=f"<b>{one.source[:2]}</b>{one.source[2:]}") for one in given]
    found = runtimes[1].translate(marked, Options(beam_size=2))
    plain = runtimes[1].translate(given, Options(beam_size=2))
    assert [one.text.replace("<b>", "").replace("</b>", "") for one in found] == [one.text for one in plain]
    assert all(one.text.count("<b>") == one.text.count("</b>") == 1 for one in found)
    alone = runtimes[1].translate(marked, Options("sentence" if runtimes[1].manifest.has_backbone else "direct"))
    assert all(one.text.count("<b>") == one.text.count("</b>") == 1 for one in alone)


def test_batch_mates_change_nothing(runtimes: tuple[Runtime, Runtime]) -> None:
    """A sentence has the same translation alone as in a batch with others of other lengths and contexts."""
    _, runtime = runtimes
    given = requests(runtime.manifest.window)

    def outcome(translation: Translation) -> tuple[str, object]:
        return translation.text, pytest.approx(translation.score, abs=1e-5)

    together = runtime.translate(given, Options(beam_size=2))
    alone = [runtime.translate([request], Options(beam_size=2))[0] for request in given[:6]]
    assert [(one.text, one.score) for one in alone] == [outcome(one) for one in together[:6]]


@pytest.fixture(scope="module", params=["float32", pytest.param("int8", marks=NEEDS_INT8)])
def loaded(runtimes: tuple[Runtime, Runtime], folder: Path, request: pytest.FixtureRequest) -> Callable[[], Runtime]:
    """Load the bundle anew, with nothing cached, in each type whose results depend on no other request."""
    del runtimes  # they have made the bundle
    return partial(Runtime.load, folder / "bundle", compute_type=request.param)


@settings(max_examples=4)
@given(data=st.data())
def test_an_answer_depends_on_nothing_around_it(loaded: Callable[[], Runtime], data: st.DataObject) -> None:
    """Texts and scores are equal in any order and batches, with a runtime that is new and one that has cached states.

    Every other sentence has a term, for which translations are attempted in several ways.
    """
    options = Options(beam_size=data.draw(st.sampled_from([1, 3])))
    cold, warm = loaded(), loaded()
    asked = requests(cold.manifest.window)
    asked[::2] = [replace(each, terms=(Term(each.source[:2], "zakuro"),)) for each in asked[::2]]
    order = data.draw(st.lists(st.sampled_from(range(len(asked))), min_size=3, max_size=12))
    cuts = sorted(data.draw(st.sets(st.integers(1, len(order) - 1), max_size=3)))
    for start, end in pairwise([0, *cuts, len(order)]):
        for index, found in zip(
            order[start:end], warm.translate([asked[i] for i in order[start:end]], options), strict=True
        ):
            (alone,) = cold.translate([asked[index]], options)
            assert (found.text, found.context_size) == (alone.text, alone.context_size)
            assert found.score == pytest.approx(alone.score, abs=1e-3)


def test_cache_use_is_counted(runtimes: tuple[Runtime, Runtime]) -> None:
    """A second translation finds all context states kept by the first, if the architecture keeps any."""
    _, runtime = runtimes
    given = requests(runtime.manifest.window)
    runtime.translate(given, Options(beam_size=1))
    before = runtime.cache_use()
    runtime.translate(given, Options(beam_size=1))
    again = runtime.cache_use() - before
    assert again.misses == 0
    assert (again.hits > 0) == (before.hits + before.misses > 0)


def test_candidates_are_scored_together_as_alone(runtimes: tuple[Runtime, Runtime]) -> None:
    """Scoring different numbers of translations for each sentence in one pass scores each as if it were alone."""
    _, runtime = runtimes
    prepared = runtime.prepare(requests(runtime.manifest.window), Options())
    parts = [part for one in prepared for part in one.parts]
    candidates = [[[5, 6, 7], [8], [9] * 12, []][: 1 + number % 4] for number in range(len(parts))]
    engine = runtime.engine("direct")
    together = engine.score_candidates(parts, candidates)
    for number in range(4):
        chosen = [(part, each) for part, each in enumerate(candidates) if number < len(each)]
        alone = engine.log_probabilities([parts[part] for part, _ in chosen], [each[number] for _, each in chosen])
        for (part, _), values in zip(chosen, alone, strict=True):
            assert together[part][number] == pytest.approx(values, abs=1e-4)


@pytest.mark.parametrize("beam_size", [1, 3])
def test_the_plain_way_gives_the_same(runtimes: tuple[Runtime, Runtime], beam_size: int) -> None:
    """Reading the whole prefix anew at each step finds what incremental search finds, with the same scores."""
    runtime, _ = runtimes
    direct = runtime.engine("direct")
    assert isinstance(direct, TorchEngine)
    plain = TorchEngine(direct.model, decoder=PlainDecoder(direct.model))
    asked = runtime.prepare(requests(runtime.manifest.window), Options())
    parts = [part for prepared in asked for part in prepared.parts]
    found, expected = (
        [best for best, *_ in engine.translate(parts, SearchOptions(beam_size))] for engine in (plain, direct)
    )
    assert [one.tokens for one in found] == [one.tokens for one in expected]
    assert [one.score for one in found] == pytest.approx([one.score for one in expected], abs=1e-4)
