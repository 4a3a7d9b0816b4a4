"""What runs on a CPU runs on a GPU, with the same answers; skipped, and listed as such, where there is none."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from models.bundle.runtime import Options, Runtime, TranslationRequest
from models.config import ContextWindow, load_config
from models.data.documents import Sentence, windows
from models.training.checkpoints import load_checkpoint
from models.training.run import make_tokenizer
from tests.support.bert import make_bert, tiny_bert_context
from tests.support.bundles import documents, make_bundle
from tests.support.training import train

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device"),
]
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


def test_bert_gives_the_same_on_both_devices(tmp_path: Path) -> None:
    """In torch, of a checkpoint, and in CTranslate2, of its bundle."""
    bert = make_bert(tmp_path / "bert", "かきくけこらりるれろ、。")
    bundle = make_bundle(tmp_path / "bundle", tiny_bert_context(bert), quantization="float32")
    for folder in (bundle, tmp_path / "bundle.checkpoint"):
        cpu, cuda = (
            Runtime.open(folder, device=device, compute_type="float32").translate(REQUESTS, Options())
            for device in ("cpu", "cuda")
        )
        assert [one.score for one in cuda] == pytest.approx([one.score for one in cpu], abs=1e-3)


def test_a_run_trains_on_cuda(make_run: Callable[..., Path]) -> None:
    """A run in bfloat16 on CUDA reaches its end with finite weights."""
    config = load_config(make_run(training={"updates": 5, "precision": "auto"}))
    make_tokenizer(config)
    final = train(config)
    assert all(tensor.isfinite().all() for tensor in load_checkpoint(final).weights.values())
