"""A run reports how good its model is on the dev sets."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from models.config import load_config
from models.data.corpus import TokenizedCorpus
from models.data.documents import Document, Sentence
from models.engine.runtime import Runtime
from models.engine.windows import WindowTranslator
from models.errors import DataError
from models.evaluation.metrics import reference_loss
from models.training import validation
from models.training.checkpoints import list_checkpoints, load_checkpoint, load_model
from models.training.run import make_tokenizer
from models.training.validation import _first, mean_loss
from tests.support.bundles import documents, make_checkpoint
from tests.support.training import train


def test_curves_have_loss_bleu_and_contrastive_accuracy(
    make_run: Callable[..., Path], corpus: dict[str, str], tmp_path: Path
) -> None:
    """Each validation writes dev loss, BLEU on the first documents and contrastive accuracy, and the loss falls."""
    item = {"document": "d", "position": 0, "pronoun": "p", "context_source": [], "context_target": []}
    item |= {"source": "kaa sea", "target": "kao seo", "contrastive": ["nio nio nio"]}
    contrastive = tmp_path / "set.jsonl"
    contrastive.write_text(json.dumps(item) + "\n", encoding="utf-8")
    data = {"train": corpus, "dev": corpus, "contrastive": str(contrastive)}
    training = {"updates": 40, "validate_every": 20, "log_every": 10, "dev_sentences": 5}
    training |= {"schedule": {"peak": 0.01, "warmup": 10}}
    config = load_config(make_run(data=data, training=training))
    make_tokenizer(config)
    train(config)
    curves = EventAccumulator(str(config.output / "curves"))
    curves.Reload()
    assert set(curves.Tags()["scalars"]) == {
        "train/loss", "train/learning_rate", "dev/loss", "dev/bleu", "dev/contrastive", "dev/contrastive_macro",
    }  # fmt: skip
    first, last = (point.value for point in curves.Scalars("dev/loss"))
    assert last < first
    assert len(curves.Scalars("train/loss")) == 4
    rates = {point.step: point.value for point in curves.Scalars("train/learning_rate")}
    assert rates == pytest.approx({update: 0.01 * (10 / update) ** 0.5 for update in (10, 20, 30, 40)})


def test_the_dev_loss_is_that_which_evaluation_finds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the mean over tokens, however they are batched, without label smoothing, and with real context."""
    monkeypatch.setattr(validation, "BUDGET", 40)
    folder, read = make_checkpoint(tmp_path / "checkpoint"), documents()
    model, corpus = load_model(load_checkpoint(folder)), TokenizedCorpus(read, load_checkpoint(folder).tokenizer, 64)
    scorer = WindowTranslator(Runtime.open(folder))
    expected = reference_loss(scorer, scorer.count_tokens, read, model.architecture.window)
    assert mean_loss(model, corpus) == pytest.approx(expected, abs=1e-5)


def test_a_run_without_dev_sets_trains_in_silence(
    make_run: Callable[..., Path], corpus: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Without dev sets there are no figures, and nothing fails."""
    config = load_config(make_run(data={"train": corpus}, training={"updates": 2, "validate_every": 1}))
    make_tokenizer(config)
    assert train(config).is_dir()
    printed = capsys.readouterr()
    assert "loss" not in printed.out
    assert "training on cpu, in 1 process\n" in printed.err


def test_an_item_that_is_too_long_is_found_before_training(
    make_run: Callable[..., Path], corpus: dict[str, str], tmp_path: Path
) -> None:
    """Otherwise, a run would train until its first validation, and end there each time it is resumed."""
    item = {"document": "d7", "position": 0, "pronoun": "p", "context_source": [], "context_target": []}
    item |= {"source": "kaa sea", "target": "kao seo", "contrastive": ["nio " * 64]}
    contrastive = tmp_path / "set.jsonl"
    contrastive.write_text(json.dumps(item) + "\n", encoding="utf-8")
    data = {"train": corpus, "contrastive": str(contrastive)}
    config = load_config(make_run(data=data, training={"updates": 2}))
    make_tokenizer(config)
    with pytest.raises(DataError, match="document d7 is too long"):
        train(config)
    assert not list_checkpoints(config.output)


@pytest.mark.parametrize("text", ["kaa, " * 64, "kaa " * 64, "kaa" * 64])
def test_a_dev_sentence_that_is_too_long_is_translated_in_parts(
    make_run: Callable[..., Path], corpus: dict[str, str], tmp_path: Path, text: str
) -> None:
    """As in the service, it is divided into clauses, or words, or, if nothing else is possible, within a word."""
    dev = {side: tmp_path / f"dev.{side}" for side in ("source", "target")}
    dev["source"].write_text(f"kaa\n{text}\n", encoding="utf-8")
    dev["target"].write_text("kao\nkao\n", encoding="utf-8")
    data = {"train": corpus, "dev": {side: str(file) for side, file in dev.items()}}
    config = load_config(make_run(data=data, training={"updates": 2, "dev_sentences": 2}))
    make_tokenizer(config)
    assert train(config).is_dir()
    curves = EventAccumulator(str(config.output / "curves"))
    curves.Reload()
    assert len(curves.Scalars("dev/bleu")) == 1


@pytest.mark.parametrize(("wanted", "documents"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (100, 3)])
def test_so_many_sentences_are_translated_in_whole_documents(wanted: int, documents: int) -> None:
    """No more documents are translated than are needed, and none if no sentences are wanted."""
    assert len(_first([Document((Sentence("kaa"),) * 4)] * 3, wanted)) == documents


def test_a_dev_set_of_nothing_is_named(make_run: Callable[..., Path], corpus: dict[str, str], tmp_path: Path) -> None:
    """The error names the dev set, not the training corpus."""
    dev = {side: tmp_path / f"dev.{side}" for side in ("source", "target")}
    for file in dev.values():
        file.write_text("\n\n", encoding="utf-8")
    data = {"train": corpus, "dev": {side: str(file) for side, file in dev.items()}}
    config = load_config(make_run(data=data, training={"updates": 2}))
    make_tokenizer(config)
    with pytest.raises(DataError, match=r"dev\.source: no sentence pair"):
        train(config)
