"""Models give the same answers on a GPU as on a CPU; these tests are skipped, and listed as such, without a GPU."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from models.config import (
    ArchitectureConfig,
    AveragedDocumentConfig,
    ContextWindow,
    DocTransformerConfig,
    GlobalLocalConfig,
    LayerWeightingConfig,
    load_config,
)
from models.data.batches import Example, make_batch
from models.data.documents import Sentence, windows
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.strategies import TorchEngine
from models.network.decoding import ModelDecoder
from models.network.inference import capturing
from models.network.inference.graph_decoder import GraphDecoder
from models.search.hypotheses import SearchOptions
from models.search.running import Wanted
from models.search.search import new_search
from models.training.checkpoints import load_checkpoint
from models.training.run import make_tokenizer
from tests.support.bert import make_bert, tiny_bert_context
from tests.support.bundles import documents, make_bundle
from tests.support.steps import go_on, scores
from tests.support.training import train

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]


@pytest.fixture(autouse=True)
def everything_is_captured(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail if a capture has failed: decoding goes on without graphs then, and the test would not test them."""
    yield
    assert not [one for one in caplog.get_records("call") if one.name == capturing.__name__]


REQUESTS = [
    TranslationRequest(window.current.source, tuple(Sentence(s.source) for s in window.preceding))
    for document in documents(3)
    for window in windows(document, ContextWindow(size=2))
]


@pytest.mark.parametrize("strategy", ["direct", "sentence"])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_both_devices_give_the_same_translations(tmp_path: Path, strategy: str, beam_size: int) -> None:
    """In float32, scores on CUDA and on the CPU agree to 1e-3."""
    bundle = make_bundle(tmp_path / "bundle", quantization="float32")
    options = Options(strategy, beam_size)  # type: ignore[arg-type]
    cpu, cuda = (
        Runtime.load(bundle, device=device, compute_type="float32").translate(REQUESTS, options)
        for device in ("cpu", "cuda")
    )
    assert [one.score for one in cuda] == pytest.approx([one.score for one in cpu], abs=1e-3)


@pytest.mark.parametrize(
    "architecture",
    [DocTransformerConfig(), LayerWeightingConfig(), GlobalLocalConfig(), AveragedDocumentConfig()],
    ids=lambda config: config.kind,
)
@pytest.mark.parametrize("beam_size", [1, 4])
def test_captured_steps_give_the_same_translations(
    tmp_path: Path, architecture: ArchitectureConfig, beam_size: int
) -> None:
    """In float32, scores with and without graphs agree to 1e-3."""
    bundle = make_bundle(tmp_path / "bundle", architecture, quantization="float32")
    runtime = Runtime.load(bundle, device="cuda", compute_type="float32")
    engine, options = runtime.engine("direct"), Options(beam_size=beam_size)
    assert isinstance(engine, TorchEngine)
    eager = TorchEngine(engine.model, decoder=ModelDecoder(engine.model))
    plain = Runtime(runtime.manifest, runtime.tokenizer, engine.model.architecture, {"direct": eager})
    expected = [one.score for one in plain.translate(REQUESTS, options)]
    for _ in range(3):  # a shape is captured when it comes again
        engine.model.eval()  # forgets states of contexts
        assert [one.score for one in runtime.translate(REQUESTS, options)] == pytest.approx(expected, abs=1e-3)
    assert isinstance(engine._decoder, GraphDecoder)
    assert bool(engine._decoder._reading._kept) == (architecture.kind != "global_local")


@pytest.mark.parametrize(
    "architecture", [DocTransformerConfig(), LayerWeightingConfig()], ids=lambda config: config.kind
)
def test_captured_steps_are_the_steps_in_bfloat16(tmp_path: Path, architecture: ArchitectureConfig) -> None:
    """Compare steps on given words: a search in 16 bits may break a tie differently, and then has other scores."""
    bundle = make_bundle(tmp_path / "bundle", architecture, quantization="float32")
    engine = Runtime.load(bundle, device="cuda", compute_type="bfloat16").engine("direct")
    assert isinstance(engine, TorchEngine)
    device = torch.device("cuda")
    examples = [Example([5 + number, 6, 7]) for number in range(14)]
    batches = [
        make_batch([one.source for one in some], None, engine.model.architecture.collate(some)).to(device)
        for some in (examples[:10], examples[10:])
    ]
    decoder, plain = GraphDecoder(engine.model), scores(ModelDecoder(engine.model), *batches)
    for _ in range(3):  # a shape is captured when it comes again
        engine.model.eval()  # forgets states of contexts
        for one, other in zip(scores(decoder, *batches), plain, strict=True):
            assert (one.log_softmax(-1) - other.log_softmax(-1)).abs().mean() < 0.05


def test_decoders_come_and_go(tmp_path: Path) -> None:
    """Training makes a new decoder for each validation: what one has captured must not affect the next."""
    runtime = Runtime.load(make_bundle(tmp_path / "bundle", quantization="float32"), device="cuda")
    engine = runtime.engine("direct")
    assert isinstance(engine, TorchEngine)
    texts = []
    for _ in range(4):
        fresh = TorchEngine(engine.model, decoder=GraphDecoder(engine.model))
        again = Runtime(runtime.manifest, runtime.tokenizer, engine.model.architecture, {"direct": fresh})
        texts.append([one.text for one in again.translate(REQUESTS, Options(beam_size=4))])
        torch.cuda.empty_cache()
    assert texts == [texts[0]] * 4


@pytest.mark.filterwarnings("ignore:Synchronization debug mode:UserWarning")
@pytest.mark.parametrize("min_length", [0, 40])
@pytest.mark.parametrize("beam_size", [1, 4])
def test_python_waits_for_nothing_between_two_looks(tmp_path: Path, beam_size: int, min_length: int) -> None:
    """With graphs, steps between two looks start without waiting for the device, whether or not any may end."""
    bundle = make_bundle(tmp_path / "bundle", quantization="float32")
    engine = Runtime.load(bundle, device="cuda").engine("direct")
    assert isinstance(engine, TorchEngine)
    decoder, options = GraphDecoder(engine.model), SearchOptions(beam_size, min_length=min_length)
    batch = make_batch([[5, 6, 7]] * 8, None, engine.model.architecture.collate([Example([5, 6, 7])] * 8))
    running = new_search(decoder, options)
    running.add(batch.to(torch.device("cuda")), [Wanted(key, 40) for key in range(8)])
    go_on(running)  # with all that is captured
    try:
        torch.cuda.set_sync_debug_mode("error")
        go_on(running)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_bert_gives_the_same_on_both_devices(tmp_path: Path) -> None:
    """This holds for a checkpoint, which runs in torch, and for its bundle, which runs in CTranslate2."""
    bert = make_bert(tmp_path / "bert", "かきくけこらりるれろ、。")
    bundle = make_bundle(tmp_path / "bundle", tiny_bert_context(bert), quantization="float32")
    for folder in (bundle, tmp_path / "bundle.checkpoint"):
        cpu, cuda = (
            Runtime.open(folder, device=device, compute_type="float32").translate(REQUESTS, Options())
            for device in ("cpu", "cuda")
        )
        assert [one.score for one in cuda] == pytest.approx([one.score for one in cpu], abs=1e-3)


def test_a_run_trains_on_cuda(make_run: Callable[..., Path]) -> None:
    """A run in bfloat16 with Muon translates its development set as it goes, and ends with finite weights."""
    training = {"updates": 6, "precision": "auto", "optimizer": "muon", "validate_every": 2, "dev_sentences": 8}
    config = load_config(make_run(training=training))
    make_tokenizer(config)
    final = train(config)
    assert all(tensor.isfinite().all() for tensor in load_checkpoint(final).weights.values())
