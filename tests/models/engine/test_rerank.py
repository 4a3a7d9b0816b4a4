"""The backbone proposes translations, and the model with context chooses among them."""

from pathlib import Path

import pytest
import torch

from models.benchmark.fixed import write_fixed
from models.config import BackboneConfig, ConcatenationConfig
from models.data.batches import Example
from models.data.documents import windows
from models.engine.requests import Options, Translation, TranslationRequest
from models.engine.rerank import combined
from models.engine.runtime import Runtime
from models.engine.strategies import TokenizedRequest
from models.search.hypotheses import SearchOptions
from tests.support.bundles import documents, make_bundle

BEAM = 4
DOCUMENTS = documents(4)


def requests(runtime: Runtime) -> list[TranslationRequest]:
    """All sentences of made-up documents that need not be divided, in their context."""
    given = [
        TranslationRequest(each.current.source, each.preceding)
        for document in DOCUMENTS
        for each in windows(document, runtime.manifest.window)
    ]
    prepared = runtime.prepare(given, Options("rerank"))
    return [request for request, one in zip(given, prepared, strict=True) if len(one.parts) == 1]


def ranked(translation: Translation) -> list[tuple[str, float]]:
    """The texts and scores of a translation and its alternatives."""
    return [(one.text, one.score) for one in (translation, *translation.alternatives)]


@pytest.fixture(scope="module", params=[None, ConcatenationConfig()], ids=["torch chooses", "CTranslate2 chooses"])
def chooser(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Runtime:
    """A bundle whose model with context runs in either torch or CTranslate2."""
    folder = tmp_path_factory.mktemp("rerank") / "bundle"
    return Runtime.load(make_bundle(folder, request.param, quantization="float32", max_length=96))


def test_what_the_context_makes_likeliest_of_the_n_best_is_chosen(chooser: Runtime) -> None:
    """The texts are those of the backbone's n best, in the order of their scores in context."""
    given = requests(chooser)
    proposed = chooser.translate(given, Options("sentence", BEAM, BEAM))
    found = chooser.translate(given, Options("rerank", BEAM, BEAM))
    for request, one, other in zip(given, found, proposed, strict=True):
        scores = [score for _, score in ranked(one)]
        assert sorted(text for text, _ in ranked(one)) == sorted(text for text, _ in ranked(other))
        assert scores == sorted(scores, reverse=True)
        assert one.context_size == min(len(request.preceding), chooser.manifest.window.size)
    assert [one.text for one in found] != [other.text for other in proposed]


def test_scores_are_those_of_the_model_with_context(chooser: Runtime) -> None:
    """A chosen translation that ends has the mean log-probability that `score` finds for its tokens."""
    prepared = chooser.prepare(given := requests(chooser), Options("rerank"))
    whole: list[TokenizedRequest] = [part for one in prepared for part in one.parts]
    assert len(whole) == len(given)
    proposed = chooser.engine("sentence").translate(whole, SearchOptions(BEAM, BEAM))
    found = chooser.engine("rerank").translate(whole, SearchOptions(BEAM, BEAM))
    ended = 0
    for request, one, other in zip(whole, found, proposed, strict=True):
        assert sorted(hypothesis.tokens for hypothesis in one) == sorted(hypothesis.tokens for hypothesis in other)
        (values,) = chooser.engine("direct").log_probabilities([request], [one[0].tokens])
        total = sum(values[: one[0].length])
        assert one[0].log_probability == pytest.approx(total, abs=1e-4)
        assert one[0].score == pytest.approx(total / one[0].length, abs=1e-5)
        ended += one[0].finished
    assert ended


def test_a_beam_of_one_has_nothing_to_choose(chooser: Runtime) -> None:
    """The texts are the backbone's, the scores those of the context."""
    given = requests(chooser)
    alone, scored = (chooser.translate(given, Options(strategy, 1)) for strategy in ("sentence", "rerank"))
    assert [one.text for one in scored] == [one.text for one in alone]
    assert [one.score for one in scored] != pytest.approx([one.score for one in alone], abs=1e-4)


@pytest.mark.parametrize("kind", ["doc_transformer", "concatenation"])
def test_translation_as_long_as_the_position_table_can_be_scored(kind: str, tmp_path: Path) -> None:
    """If the backbone's proposal does not end, it is cut so that a position is left for its end."""
    backbone = BackboneConfig(width=32, heads=2, feed_forward=64, encoder_layers=1, decoder_layers=1, max_length=48)
    write_fixed(tmp_path / "bundle", kind, backbone, 200)
    runtime = Runtime.load(tmp_path / "bundle")
    asked = [TranslationRequest(" ".join(f"w{number}" for number in range(40)))]
    lengths = [runtime.translate(asked, Options(strategy))[0].tokens for strategy in ("sentence", "rerank")]
    assert lengths == [48, 47]


@pytest.mark.parametrize(("device", "first"), [("cpu", 16), ("cuda", 20)])
def test_so_many_are_reranked_at_once_as_suit_the_device(
    chooser: Runtime, monkeypatch: pytest.MonkeyPatch, device: str, first: int
) -> None:
    """On a CPU, other requests may be waiting; on a GPU, more sentences hardly take longer."""
    monkeypatch.setattr(type(chooser.engine("direct")), "device", torch.device(device))
    flow = chooser.engine("rerank").flow(SearchOptions(1))
    flow.add({key: TokenizedRequest(Example([5]), 3) for key in range(20)})
    assert len(flow.step()) == first


def test_without_a_backbone_there_is_no_reranking(runtime: Runtime) -> None:
    """A model without a backbone of its own offers only the strategies that need none."""
    assert list(combined({"direct": runtime.engine("direct")}, 96)) == ["direct", "verify"]
