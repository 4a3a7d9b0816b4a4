"""A tiny corpus, a run on it that takes seconds, and a tiny bundle, which takes a second to export."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import yaml

from models.engine.runtime import Runtime
from models.network.model import TranslationModel
from models.training.checkpoints import load_checkpoint, load_model
from tests.support.bundles import make_bundle

WORDS = {f"{a}{b}a": f"{a}{b}o" for a in "kstnm" for b in "aeiou"}
BACKBONE = {"width": 16, "feed_forward": 32, "heads": 2, "encoder_layers": 1, "decoder_layers": 1, "max_length": 64}
TRAINING = {"step": "sentence", "updates": 12, "batch_tokens": 128, "checkpoint_every": 1, "dev_sentences": 0}
TRAINING |= {"precision": "float32"}


@pytest.fixture
def corpus(tmp_path: Path) -> dict[str, str]:
    """Forty documents of four sentences, translated word by word."""
    random_words = random.Random(1)
    documents = [
        [random_words.choices(list(WORDS), k=random_words.randint(2, 6)) for _ in range(4)] + [[]] for _ in range(40)
    ]
    source = "".join(" ".join(words) + "\n" for document in documents for words in document)
    target = "".join(" ".join(WORDS[word] for word in words) + "\n" for document in documents for words in document)
    for side, text in (("source", source), ("target", target)):
        (tmp_path / side).write_text(text, encoding="utf-8")
    return {"source": str(tmp_path / "source"), "target": str(tmp_path / "target")}


@pytest.fixture
def make_run(tmp_path: Path, corpus: dict[str, str]) -> Callable[..., Path]:
    """Write the YAML file of a run on the corpus; keyword arguments change sections of the config."""

    def make(name: str = "run", training: dict[str, object] | None = None, **sections: object) -> Path:
        config = {
            "name": name,
            "languages": {"source": "ss", "target": "tt"},
            "data": {"train": corpus, "dev": corpus},
            "tokenizer": {"path": str(tmp_path / "tokenizer"), "vocabulary": 50, "byte_fallback": False},
            "backbone": BACKBONE,
            "output": str(tmp_path / name),
            "training": TRAINING | (training or {}),
        }
        file = tmp_path / f"{name}.yaml"
        file.write_text(yaml.safe_dump(config | sections), encoding="utf-8")
        return file

    return make


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A float32 bundle of a Doc-Transformer that reads two sentences; its checkpoint is beside it."""
    torch.set_num_threads(1)
    return make_bundle(tmp_path_factory.mktemp("bundles") / "tiny", quantization="float32")


@pytest.fixture(scope="session")
def checkpoint(bundle: Path) -> Path:
    """The checkpoint that `bundle` was exported from."""
    return bundle.with_name("tiny.checkpoint")


@pytest.fixture
def model(checkpoint: Path) -> TranslationModel:
    """The checkpoint's model, a new one for each test."""
    return load_model(load_checkpoint(checkpoint))


@pytest.fixture(scope="session")
def runtime(bundle: Path) -> Runtime:
    """The bundle, loaded."""
    return Runtime.load(bundle, compute_type="float32")
