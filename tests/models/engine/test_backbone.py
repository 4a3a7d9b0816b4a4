from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from models.bundle.step_one import sentence_model
from models.data.batches import Example
from models.data.tokenizer import UNK, Tokenizer
from models.engine.backbone import BackboneEngine
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.strategies import TokenizedRequest, TorchEngine
from models.network.inference.graph_decoder import GraphDecoder
from models.network.model import TranslationModel
from models.search.hypotheses import SearchOptions
from tests.support.bundles import documents
from tests.support.tape import Tapes


@pytest.fixture
def engine(bundle: Path) -> BackboneEngine:
    """The backbone of a float32 bundle."""
    return BackboneEngine(bundle / "backbone", Tokenizer.load(bundle), "cpu", "float32", 1)


def made_up_requests(bundle: Path) -> list[TokenizedRequest]:
    """Sentences of different lengths with different maximum lengths, and one of mostly unknown tokens."""
    sources = Tokenizer.load(bundle).encode_sources([s.source for d in documents(3) for s in d.sentences])
    return [TokenizedRequest(Example(s), 5 + i % 3 * 4) for i, s in enumerate([*sources, [UNK, UNK, 4, UNK]])]


@pytest.mark.parametrize(
    "options",
    [
        SearchOptions(1),
        SearchOptions(4, 4),
        SearchOptions(4, 4, alpha=0.6),
        SearchOptions(4, 4, alpha=0.0),
        SearchOptions(4, 4, alpha=1.4, patience=2.0),
        SearchOptions(4, 4, "wu", 0.6),
        SearchOptions(4, 1, "wu", 3.0, patience=2.0),
        SearchOptions(4, 1, "wu", 3.0),
        SearchOptions(4, 2, "wu", 0.0),
    ],
)
def test_translations_are_those_of_torch(
    bundle: Path, engine: BackboneEngine, model: TranslationModel, options: SearchOptions
) -> None:
    """Both engines give the same n best with the same scores, by any rule, each within its own maximum length."""
    requests = made_up_requests(bundle)
    ours = TorchEngine(sentence_model(model)).translate(requests, options)
    for mine, theirs in zip(ours, engine.translate(requests, options), strict=True):
        assert [(h.tokens, h.finished) for h in theirs] == [(h.tokens, h.finished) for h in mine]
        assert [h.score for h in theirs] == pytest.approx([h.score for h in mine], abs=1e-4)
        assert [h.log_probability for h in theirs] == pytest.approx([h.log_probability for h in mine], abs=1e-3)


def test_log_probabilities_are_those_of_torch(bundle: Path, engine: BackboneEngine, model: TranslationModel) -> None:
    """Both engines agree on every token, including the end of sentence, even for an empty target."""
    requests = made_up_requests(bundle)
    targets = [[4 + i, 30, UNK][: i % 4] for i in range(len(requests))]
    ours = TorchEngine(sentence_model(model)).log_probabilities(requests, targets)
    for mine, theirs in zip(ours, engine.log_probabilities(requests, targets), strict=True):
        assert theirs == pytest.approx(mine, abs=1e-4)


class _Scarce:
    """A translator on a device with memory for only three sentences."""

    def __init__(self, translator: Any) -> None:
        self._translator = translator

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(sources: list[list[str]], *others: Any, **options: Any) -> Any:
            if len(sources) > 3:
                raise RuntimeError("CUDA failed with error out of memory")
            return getattr(self._translator, name)(sources, *others, **options)

        return call


def test_what_there_is_no_memory_for_is_done_in_parts(
    bundle: Path, engine: BackboneEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With CTranslate2 on a full GPU, fewer sentences at a time get the same translations and scores."""
    asked, options = made_up_requests(bundle), SearchOptions(2)
    targets = [[4 + i % 20, 30] for i in range(len(asked))]
    translations, scores = engine.translate(asked, options), engine.log_probabilities(asked, targets)
    monkeypatch.setattr(engine, "_translator", _Scarce(engine._translator))
    found = engine.translate(asked, options)
    assert [[one.tokens for one in each] for each in found] == [[one.tokens for one in each] for each in translations]
    for one, other in zip(engine.log_probabilities(asked, targets), scores, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


class _Crowded:
    """A translator that has no memory while torch keeps idle frames."""

    def __init__(self, translator: Any, decoder: GraphDecoder) -> None:
        self._translator = translator
        self._decoder = decoder

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*others: Any, **options: Any) -> Any:
            if self._decoder._frames._idle:
                raise RuntimeError("CUDA failed with error out of memory")
            return getattr(self._translator, name)(*others, **options)

        return call


@pytest.mark.parametrize("strategy", ["sentence", "rerank"])
def test_what_torch_keeps_is_given_back_to_ctranslate2(
    bundle: Path, monkeypatch: pytest.MonkeyPatch, strategy: Any
) -> None:
    """A bundle's two engines share a GPU: one can translate a sentence only once the other has freed its frames."""
    runtime = Runtime.load(bundle, compute_type="float32")
    direct, backbone = runtime.engine("direct"), runtime.engine("sentence")
    assert isinstance(direct, TorchEngine)
    request = TranslationRequest("かりきる。")
    (expected,) = runtime.translate([request], Options(strategy, beam_size=2))
    decoder = GraphDecoder(direct.model, Tapes())
    monkeypatch.setattr(direct, "_decoder", decoder)
    runtime.translate([request], Options("direct"))
    assert decoder._frames._idle
    monkeypatch.setattr(backbone, "_translator", _Crowded(backbone._translator, decoder))  # type: ignore[attr-defined]
    assert runtime.translate([request], Options(strategy, beam_size=2)) == [expected]


def test_nothing_is_read_before_it_is_needed(tmp_path: Path, bundle: Path) -> None:
    """A missing model is an error only when a translation is asked for."""
    engine = BackboneEngine(tmp_path / "nowhere", Tokenizer.load(bundle), "cpu", "float32", 1)
    with pytest.raises(RuntimeError, match="nowhere"):
        engine.translate([TokenizedRequest(Example([4]), 5)], SearchOptions(1))


def test_a_compute_type_that_the_device_lacks_becomes_float32(
    bundle: Path, engine: BackboneEngine, capfd: pytest.CaptureFixture[str]
) -> None:
    """A CPU computes with float16 weights in float32, without a warning on standard error."""
    other = BackboneEngine(bundle / "backbone", Tokenizer.load(bundle), "cpu", "float16", 1)
    requests = made_up_requests(bundle)
    assert other.translate(requests, SearchOptions(1)) == engine.translate(requests, SearchOptions(1))
    assert capfd.readouterr().err == ""
