"""A run that reads a BERT: its checkpoints contain none of its weights, but recognise it."""

from collections.abc import Callable
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from models.config import RunConfig, load_config
from models.data.documents import read_documents
from models.data.replacement import ContextKind, Replacement, Vocabulary
from models.engine.requests import Options, TranslationRequest
from models.engine.runtime import Runtime
from models.engine.windows import WindowTranslator
from models.errors import CheckpointError, ConfigError
from models.evaluation.metrics import evaluate
from models.network.architectures.bert import FrozenBert
from models.training.checkpoints import load_checkpoint
from models.training.run import make_tokenizer
from tests.support.bert import POSITIONS, WIDTH, make_bert, tiny_bert_context
from tests.support.training import train

MakeRun = Callable[..., Path]


@pytest.fixture
def bert(tmp_path: Path) -> Path:
    """A random BERT that knows the letters of the corpus."""
    return make_bert(tmp_path / "bert", "aeioukmnst")


@pytest.fixture
def make_step_two(make_run: MakeRun, bert: Path) -> Callable[..., RunConfig]:
    """Make runs of step two from the same step one."""
    first = load_config(make_run("first", training={"updates": 2}))
    make_tokenizer(first)
    start = train(first)
    architecture = tiny_bert_context(bert).model_dump(mode="json")

    def make(name: str, **training: Any) -> RunConfig:
        settings = {"step": "document", "init": str(start), "updates": 8, "dropout": 0.2} | training
        return load_config(make_run(name, architecture=architecture, training=settings))

    return make


def test_a_resumed_run_ends_with_the_same_weights(make_step_two: Callable[..., RunConfig]) -> None:
    """Loading BERT anew changes nothing; averaged checkpoints have the changed backbone, and nothing of BERT."""
    torch.set_num_threads(1)
    final = train(make_step_two("whole", average=2))
    train(make_step_two("broken", updates=3))
    resumed = train(make_step_two("broken", average=2), resume=True)
    one, other = (load_file(folder / "model.safetensors") for folder in (final, resumed))
    assert one.keys() == other.keys()
    assert all(torch.equal(tensor, other[name]) for name, tensor in one.items())
    before = load_file(final.parents[1] / "first" / "final" / "model.safetensors")
    assert all(not torch.equal(one[name], tensor) for name, tensor in before.items())
    assert {name.split(".")[0] for name in one} == {"backbone", "architecture"}
    assert not any("bert.embeddings" in name or "word_embeddings" in name for name in one)


def test_a_checkpoint_knows_its_bert(make_step_two: Callable[..., RunConfig], bert: Path, tmp_path: Path) -> None:
    """It has BERT's folder and checksum; with another BERT there, or none, it neither translates nor resumes."""
    final = train(make_step_two("run", updates=2))
    remembered = load_checkpoint(final).config.architecture
    assert remembered.bert == bert
    assert remembered.bert_checksum == FrozenBert(bert, WIDTH, POSITIONS).checksum
    request = TranslationRequest("kata sani")
    assert Runtime.open(final).translate([request], Options())[0].tokens
    copytree(bert, tmp_path / "kept")
    rmtree(bert)
    make_bert(bert, "aeioukmnstx")
    with pytest.raises(ConfigError, match="not the BERT that the model was trained with"):
        Runtime.open(final).translate([request], Options())
    with pytest.raises(CheckpointError, match="another configuration"):
        train(make_step_two("run", updates=4), resume=True)
    rmtree(bert)
    with pytest.raises(ConfigError, match="is not a BERT"):
        Runtime.open(final).translate([request], Options())
    sentence = Options(strategy="sentence")
    assert Runtime.open(final).translate([request], sentence)[0].tokens


@pytest.mark.parametrize("way", ["transfer", "modules"])
def test_context_modules_do_not_go_on_with_another_bert(
    make_step_two: Callable[..., RunConfig], bert: Path, way: str
) -> None:
    """Attention that has learnt the states of one BERT would read those of another; with the same one, it works."""
    two = str(train(make_step_two("two", updates=1)))
    taken = {"init": two, "transfer": "all"} if way == "transfer" else {"modules": two}
    assert train(make_step_two("same", updates=1, **taken)).is_dir()
    rmtree(bert)
    make_bert(bert, "aeioukmnstx")
    with pytest.raises(CheckpointError, match=r"two/final: .*\(architecture\.bert_checksum was \w+, is now \w+\)"):
        train(make_step_two("other", updates=1, **taken))


def test_a_run_without_its_bert_ends_before_it_begins(make_step_two: Callable[..., RunConfig], bert: Path) -> None:
    """The error comes before training, and leaves no output."""
    rmtree(bert)
    config = make_step_two("run")
    with pytest.raises(ConfigError, match=r"is not a BERT.*architecture\.bert"):
        train(config)
    assert not config.output.exists()


@pytest.mark.parametrize("kind", ["real", "empty", "random", "fixed", "shuffled"])
def test_every_context_can_be_evaluated(make_step_two: Callable[..., RunConfig], kind: ContextKind) -> None:
    """Replaced context is text, which BERT reads like real context."""
    config = make_step_two("run", updates=1)
    runtime = Runtime.open(train(config))
    documents = read_documents(config.data.train.source, config.data.train.target)[:3]
    replacement = Replacement(kind, vocabulary=Vocabulary.of(runtime.tokenizer))
    result = evaluate(WindowTranslator(runtime), documents, runtime.manifest.window, replacement=replacement)
    assert len(result.translations) == 12
