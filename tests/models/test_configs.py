"""Every run file of the project can be trained: it loads, its model builds at full size, and it takes a step."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch
from torch import Tensor

from models.config import (
    BackboneConfig,
    BertContextConfig,
    RunConfig,
    SentenceConfig,
    TokenizerConfig,
    TrainingConfig,
    load_config,
)
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document
from models.data.tokenizer import Tokenizer, train_tokenizer
from models.errors import ConfigError
from models.network.model import TranslationModel
from models.training.checkpoints import Progress, build_model, save_checkpoint, weights_of
from models.training.curves import Curves
from models.training.distributed import World
from models.training.meaning import require_fitting_modules, require_fitting_start
from models.training.run import plan_model
from models.training.trainer import Trainer
from tests.support.bert import POSITIONS, WIDTH, make_bert
from tests.support.bundles import documents

CONFIGS = Path(__file__).parents[2] / "models" / "configs"
FILES = sorted(CONFIGS.rglob("*.yaml"))
BASES = [file for file in FILES if file.name == "base.yaml"]
RUNS = [file for file in FILES if file.name != "base.yaml"]
READMES = sorted(CONFIGS.rglob("README.md"))

SMALL = {
    "backbone": {"width": 16, "feed_forward": 24, "heads": 2, "max_length": 128}
    | {"encoder_layers": 2, "decoder_layers": 2},
    "training": {"updates": 2, "epochs": None, "batch_tokens": 96, "dev_sentences": 0, "precision": "float32"},
}
"""Values that make a step quick; none of them is a switch from a paper."""
SMALL_ARCHITECTURE = {"attention_width": 8, "attention_heads": 2, "bert_width": WIDTH, "bert_pieces": POSITIONS}
"""The same for those architectures that have such values."""


def name_of(file: Path) -> str:
    """The name of a test case."""
    return file.relative_to(CONFIGS).as_posix()


@pytest.fixture(scope="module")
def corpus() -> list[Document]:
    """Twenty documents of six sentences."""
    return documents(20, 6)


@pytest.fixture(scope="module")
def tokenizers(corpus: list[Document], tmp_path_factory: pytest.TempPathFactory) -> Mapping[bool, Tokenizer]:
    """A tokenizer with a vocabulary for each language (False), and one with a joint vocabulary (True)."""
    sentences = [sentence for document in corpus for sentence in document.sentences]

    def make(joint: bool) -> Tokenizer:
        path = tmp_path_factory.mktemp("tokenizer")
        config = TokenizerConfig(path=path, kind="bpe", vocabulary=60, joint=joint, byte_fallback=False)
        return train_tokenizer(config, (s.source for s in sentences), (s.target or "" for s in sentences))

    return {joint: make(joint) for joint in (False, True)}


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small random BERT."""
    return make_bert(tmp_path_factory.mktemp("bert"), "かきくけこらりるれろ、。")


def shrunk(config: RunConfig, bert: Path, output: Path) -> RunConfig:
    """The run with all its switches, but small, with two updates, and initialised from models beside its output."""
    values = config.model_dump()
    for section, small in SMALL.items():
        values[section] |= small
    values["training"]["schedule"]["warmup"] = 1
    architecture = values["architecture"]
    architecture |= {name: value for name, value in SMALL_ARCHITECTURE.items() if name in architecture}
    if isinstance(config.architecture, BertContextConfig):
        architecture["bert"] = bert
    if config.training.init is not None:
        values["training"]["init"] = output / "step-one"
    if config.training.modules is not None:
        values["training"]["modules"] = output / "modules"
    return RunConfig.model_validate(values | {"output": output / "run"})


def save_step_one(config: RunConfig, tokenizer: Tokenizer) -> None:
    """Write the models that a run starts from, if any: a sentence model, unless it takes over the context, too."""
    if config.training.init is not None:
        alone = {"architecture": SentenceConfig()} if config.training.transfer != "all" else {}
        save_fresh(config.training.init, config, tokenizer, alone, shallow=config.training.deepen)
    if config.training.modules is not None:
        save_fresh(config.training.modules, config, tokenizer, {}, shallow=True)


def save_fresh(
    folder: Path, config: RunConfig, tokenizer: Tokenizer, architecture: Mapping[str, SentenceConfig], *, shallow: bool
) -> None:
    """Write an untrained model: of another architecture if one is given, with one encoder layer if `shallow`."""
    training = TrainingConfig(step="sentence" if architecture else "joint", updates=1)
    backbone = config.backbone.model_copy(update={"encoder_layers": 1} if shallow else {})
    first = config.model_copy(update={"training": training, "backbone": backbone, **architecture})
    model = build_model(first, tokenizer, dropout=0.0)
    model.initialize()
    save_checkpoint(folder, first, tokenizer, weights_of(model), Progress())


def copies(model: TranslationModel) -> dict[str, Tensor]:
    """Copies of all parameters, by name."""
    return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("file", BASES, ids=name_of)
def test_base_is_no_run(file: Path) -> None:
    """A base file, with what runs share, lacks fields and cannot be trained by itself."""
    with pytest.raises(ConfigError, match="Field required"):
        load_config(file)


@pytest.mark.parametrize("file", RUNS, ids=name_of)
def test_run_builds_at_its_own_size(file: Path) -> None:
    """The network of a run can be built, at the width and depth that were published."""
    config = load_config(file)
    model = plan_model(config)
    assert all(parameter.is_meta for parameter in model.parameters())
    assert model.backbone.config == config.backbone
    assert model.backbone.target_embedding.weight.shape == (config.tokenizer.vocabulary, config.backbone.width)


@pytest.mark.parametrize("file", RUNS, ids=name_of)
def test_run_takes_a_step(
    file: Path, corpus: list[Document], tokenizers: Mapping[bool, Tokenizer], bert: Path, tmp_path: Path
) -> None:
    """Updates change parameters, but none that the step does not train."""
    config = shrunk(load_config(file), bert, tmp_path)
    tokenizer = tokenizers[config.tokenizer.joint]
    save_step_one(config, tokenizer)
    text = TokenizedCorpus(corpus, tokenizer, config.data.max_tokens, config.data.max_context_tokens)
    trainer = Trainer(config, tokenizer, text, World())
    before = copies(trainer.model)
    trainer.run(lambda model: {}, Curves(None))
    moved = {name for name, tensor in copies(trainer.model).items() if not torch.equal(tensor, before[name])}
    assert trainer.progress.update == 2
    assert moved
    frozen = config.training.step == "document" and not config.training.unfreeze
    assert not frozen or all(trainer.model.architecture.trains(name) for name in moved)
    assert all(tensor.isfinite().all() for tensor in copies(trainer.model).values())


def test_runs_have_folders_of_their_own() -> None:
    """No two runs write to the same folder or have the same name."""
    configs = [load_config(file) for file in RUNS]
    assert len({config.output for config in configs}) == len({config.name for config in configs}) == len(RUNS)


def test_runs_begin_with_other_runs() -> None:
    """A run starts from the result of another run, with the same vocabulary and shape (or fewer encoder layers)."""
    runs = [load_config(file) for file in RUNS]
    ends = {config.output / "final": config for config in runs}
    for config in runs:
        if config.training.init is not None:
            first = ends[config.training.init]
            if config.training.transfer == "all":  # otherwise only the backbone is taken, whatever the architecture
                assert first.architecture == config.architecture
            deeper = {"encoder_layers": config.backbone.encoder_layers} if config.training.deepen else {}
            assert _fitting(first.backbone.model_copy(update=deeper)) == _fitting(config.backbone)
            assert first.tokenizer == config.tokenizer
            require_fitting_start(config.training.init, first, config)
        if config.training.modules is not None:
            other = ends[config.training.modules]
            assert (other.architecture.kind, other.tokenizer) == (config.architecture.kind, config.tokenizer)
            assert other.backbone.encoder_layers <= config.backbone.encoder_layers
            require_fitting_modules(config.training.modules, other, config)


def _fitting(backbone: BackboneConfig) -> BackboneConfig:
    """All settings that decide whether the weights of one backbone fit another."""
    return backbone.model_copy(update={"max_length": 0})


@pytest.mark.parametrize("folder", [file.parent for file in READMES], ids=name_of)
def test_readme_names_every_file(folder: Path) -> None:
    """A folder's README names exactly the run files below it."""
    text = (folder / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(\w[\w/]*\.yaml)`", text))
    assert named == {file.relative_to(folder).as_posix() for file in folder.rglob("*.yaml")}
    for path in re.findall(r"models/configs/[\w/]+\.yaml", text):
        assert (CONFIGS.parents[1] / path).is_file(), path


def test_every_folder_has_a_readme() -> None:
    """Every folder of runs is explained: those of papers, of the shipped models, and for your own pair."""
    assert [file.parent for file in READMES] == sorted(folder for folder in CONFIGS.iterdir() if folder.is_dir())
