"""What a run learns from, when it ends, and what it refuses to continue."""

import os
import re
import shutil
import signal
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pydantic import PlainSerializer, TypeAdapter
from torch import Tensor

from models.config import data_folder, load_config
from models.data.batches import Batch, ContextReader
from models.data.corpus import TokenizedCorpus
from models.data.emphasis import write_gains
from models.errors import CheckpointError, ConfigError, DivergedError, FeedError
from models.network.model import TranslationModel
from models.training import feed
from models.training.checkpoints import list_checkpoints, load_checkpoint, load_model, weights_of
from models.training.curves import Curves
from models.training.distributed import World
from models.training.feed import Feed, Share, deaths_told
from models.training.run import make_tokenizer, read_corpus
from models.training.trainer import Trainer
from models.training.validation import mean_loss
from tests.models.conftest import BACKBONE
from tests.support.training import assert_same_weights, train, weights

MakeRun = Callable[..., Path]


def test_contexts_are_left_out_and_exchanged(make_run: MakeRun) -> None:
    """Each noise gives another model from the same batches; a context module that never reads learns even so."""
    first = make_run("first", training={"updates": 1})
    make_tokenizer(load_config(first))
    settings = {"step": "document", "init": str(train(load_config(first))), "updates": 2}
    context = {"kind": "doc_transformer", "context_sentences": 1}

    def gate(name: str, **noise: float) -> torch.Tensor:
        run = make_run(name, training=settings | {"schedule": {"peak": 0.1, "warmup": 1}} | noise, architecture=context)
        return weights(train(load_config(run)))["architecture.encoder.0.gate.context.weight"]

    gates = [gate("real"), gate("without", context_dropout=1.0), gate("others", context_shuffling=1.0)]
    assert all(tensor.isfinite().all() for tensor in gates)
    assert not any(torch.equal(one, other) for one, other in combinations(gates, 2))


def test_sentences_are_learnt_as_much_as_they_weigh(make_run: MakeRun, tmp_path: Path) -> None:
    """If all weights are equal, the model is the same as without weights; if they differ, it is another."""
    settings = {"updates": 2, "schedule": {"peak": 0.01, "warmup": 1}}
    plain = load_config(make_run("plain", training=settings))
    make_tokenizer(plain)
    corpus = read_corpus(plain.data.train)
    learnt = [weights(train(plain))]
    for name, first in (("even", 1.0), ("uneven", 0.0)):
        gains = [[first, *[1.0] * (len(document.sentences) - 1)] for document in corpus]
        write_gains(file := tmp_path / f"{name}.gains", gains)
        run = make_run(name, training=settings | {"emphasis": {"gains": str(file)}})
        learnt.append(weights(train(load_config(run))))
    matrix = "backbone.decoder.0.feed_forward.inner.weight"
    torch.testing.assert_close(learnt[1][matrix], learnt[0][matrix])
    assert not torch.allclose(learnt[2][matrix], learnt[0][matrix])


def test_dropout_and_smoothing_are_learnt_with(make_run: MakeRun) -> None:
    """Without either of them, the same batches give another model."""
    settings = {"updates": 2, "schedule": {"peak": 0.01, "warmup": 1}}
    runs = {"both": {}, "undropped": {"dropout": 0.0}, "sharp": {"label_smoothing": 0.0}}
    made = [load_config(make_run(name, training=settings | values)) for name, values in runs.items()]
    make_tokenizer(made[0])
    learnt = [weights(train(config))["backbone.decoder.0.feed_forward.inner.weight"] for config in made]
    assert not any(torch.allclose(one, other) for one, other in combinations(learnt, 2))


@pytest.mark.usefixtures("one_thread")
def test_validation_is_of_the_model_as_it_is_and_changes_nothing(make_run: MakeRun) -> None:
    """Its figures are those of the checkpoint of the same update; the last update is always validated."""
    settings = {"updates": 3, "dropout": 0.5, "schedule": {"peak": 0.01, "warmup": 1}}
    often, once = (
        load_config(make_run(f"run{every}", training=settings | {"validate_every": every})) for every in (1, 1000)
    )
    tokenizer = make_tokenizer(often)
    corpus = TokenizedCorpus(read_corpus(often.data.train), tokenizer, often.data.max_tokens)
    losses: list[float] = []

    def validate(model: TranslationModel) -> dict[str, float]:
        losses.append(mean_loss(model, corpus))
        return {"loss": losses[-1]}

    finals = [Trainer(run, tokenizer, corpus, World()).run(validate, Curves(None)) for run in (often, once)]
    saved = [mean_loss(load_model(load_checkpoint(folder)), corpus) for folder in list_checkpoints(often.output)]
    assert losses == pytest.approx([*saved, saved[-1]])
    assert_same_weights(*finals)


def test_each_update_drops_other_elements(make_run: MakeRun) -> None:
    """Each update draws from a seed of its own."""
    config = load_config(make_run(training={"updates": 3, "validate_every": 1, "checkpoint_every": 3}))
    tokenizer, seeds = make_tokenizer(config), set[int]()
    corpus = TokenizedCorpus(read_corpus(config.data.train), tokenizer, config.data.max_tokens)

    def validate(_model: TranslationModel) -> dict[str, float]:
        seeds.add(torch.initial_seed())
        return {}

    Trainer(config, tokenizer, corpus, World()).run(validate, Curves(None))
    assert len(seeds) == 3


def test_each_pass_has_an_order_of_its_own(make_run: MakeRun) -> None:
    """All sentences come again, but in another order."""
    config = load_config(make_run("run", training={"updates": None, "epochs": 2, "checkpoint_every": 1000}))
    tokenizer = make_tokenizer(config)
    read: list[int] = []

    class Corpus(TokenizedCorpus):
        def batch(
            self,
            indices: Sequence[int] | NDArray[np.int64],
            reader: ContextReader,
            neighbours: Sequence[int | None] | None = None,
            seed: Sequence[int] | None = None,
        ) -> Batch:
            read.extend(map(int, indices))
            return super().batch(indices, reader, neighbours, seed)

    corpus = Corpus(read_corpus(config.data.train), tokenizer, config.data.max_tokens)
    Trainer(config, tokenizer, corpus, World()).run(lambda _: {}, Curves(None))
    first, second = read[: len(read) // 2], read[len(read) // 2 :]
    assert sorted(first) == sorted(second) == corpus.usable.tolist()
    assert first != second


@pytest.mark.parametrize("step", ["sentence", "joint"])
def test_one_epoch_is_every_sentence_once(make_run: MakeRun, step: str) -> None:
    """A run of one epoch ends at the end of the corpus, having seen each target token once, with or without context."""
    architecture = {"kind": "sentence" if step == "sentence" else "doc_transformer"}
    training = {"step": step, "updates": None, "epochs": 1, "batch_tokens": 40, "checkpoint_every": 1000}
    config = load_config(make_run(step, architecture=architecture, training=training))
    tokenizer = make_tokenizer(config)
    progress = load_checkpoint(train(config)).progress
    corpus = TokenizedCorpus(read_corpus(config.data.train), tokenizer, config.data.max_tokens)
    assert (progress.epoch, progress.position) == (1, 0)
    assert progress.target_tokens == sum(len(tokens) + 1 for tokens in corpus.targets)


def test_joint_training_trains_everything_from_scratch(make_run: MakeRun) -> None:
    """Step `joint` trains backbone and context modules together."""
    joint = make_run("joint", architecture={"kind": "doc_transformer"}, training={"step": "joint", "updates": 3})
    make_tokenizer(load_config(joint))
    train(load_config(joint))
    first, last = (weights(folder) for folder in (list_checkpoints(load_config(joint).output)[i] for i in (0, -1)))
    assert not torch.equal(first["backbone.target_embedding.weight"], last["backbone.target_embedding.weight"])
    gate = "architecture.encoder.0.attention.output.weight"
    assert not torch.equal(first[gate], last[gate])


def test_a_rate_that_would_not_fall_before_the_end_is_refused(make_run: MakeRun) -> None:
    """This also holds if the number of updates follows from the number of epochs."""
    schedule = {"schedule": {"kind": "linear", "warmup": 4000}, "updates": None, "epochs": 1}
    run = load_config(make_run("run", training=schedule))
    make_tokenizer(run)
    with pytest.raises(ConfigError, match="would end within its warmup of 4000"):
        train(run)


def test_training_that_diverges_leaves_its_last_checkpoint(make_run: MakeRun) -> None:
    """Weights that are not finite replace no checkpoint, and there is no final one."""
    run = load_config(make_run("run", training={"schedule": {"peak": 1e30, "warmup": 1}, "updates": 20}))
    make_tokenizer(run)
    with pytest.raises(DivergedError, match="restart from an earlier checkpoint"):
        train(run)
    (*_, last) = list_checkpoints(run.output)
    assert all(torch.isfinite(tensor).all() for tensor in load_checkpoint(last).weights.values())
    assert not (run.output / "final").exists()


# torch raises the death of a process wherever the signal interrupts this one, even in a destructor, and then again.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_killed_process_that_made_batches_costs_what_a_kill_does(
    make_run: MakeRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sentence reports it, and the resumed run ends with the weights of one without it."""
    run, whole, made = load_config(make_run("run")), load_config(make_run("whole")), Feed.__getitem__
    make_tokenizer(run)

    def killed(self: Feed, work: Any) -> Share:
        if 3 in work.batches:
            os.kill(os.getpid(), signal.SIGKILL)
        return made(self, work)

    with monkeypatch.context() as patched:
        patched.setitem(feed._WORKERS, "cpu", 1)
        patched.setattr(Feed, "__getitem__", killed)
        with pytest.raises(FeedError, match="--resume"):
            train(run)
    assert_same_weights(train(run, resume=True), train(whole))


def test_a_death_is_told_wherever_it_is_noticed() -> None:
    """Also within what reports its own errors, such as pydantic writing a config; other errors stay as they are."""

    def noticed(_: Path) -> str:
        raise RuntimeError("DataLoader worker (pid 19122) is killed by signal: Killed.")

    written: TypeAdapter[Path] = TypeAdapter(Annotated[Path, PlainSerializer(noticed)])
    with pytest.raises(FeedError, match="--resume"), deaths_told():
        written.dump_json(Path("run"))
    with pytest.raises(ValueError, match="another"), deaths_told():
        raise ValueError("another")


def test_drawn_segmentations_are_the_same_when_a_run_goes_on(make_run: MakeRun) -> None:
    """They change what is learnt; a run that was stopped draws those that it would have drawn."""
    pieces = {"subword_sampling": 0.05}
    best, whole, stopped = (
        load_config(make_run(name, training=training))
        for name, training in (("best", {}), ("whole", pieces), ("stopped", pieces | {"updates": 5}))
    )
    make_tokenizer(best)
    train(stopped)
    longer = load_config(make_run("stopped", training=pieces))
    assert_same_weights(train(longer, resume=True), train(whole))
    one, other = weights(train(best)), weights(whole.output / "final")
    assert not all(torch.equal(one[name], other[name]) for name in one)


def test_early_stopping_ends_a_run_that_no_longer_improves(make_run: MakeRun) -> None:
    """With patience, a run whose dev loss does not improve ends before its last update."""
    still = {"schedule": {"peak": 1e-12, "warmup": 1}, "updates": 50, "validate_every": 1, "patience": 3}
    run = make_run("still", training=still)
    make_tokenizer(load_config(run))
    progress = load_checkpoint(train(load_config(run))).progress
    assert progress.update < 50
    assert progress.stale == 3


@pytest.mark.parametrize(("average", "keep"), [(1, 1), (2, 1), (1, 5)])
def test_a_run_that_waited_in_vain_ends_with_what_was_best(make_run: MakeRun, average: int, keep: int) -> None:
    """With patience, the final model has the lowest dev loss, even if no checkpoint was due at that update."""
    ends = {"updates": 50, "validate_every": 1, "patience": 6, "checkpoint_every": 2, "keep": keep, "average": average}
    ends |= {"schedule": {"peak": 0.01, "warmup": 1}}  # otherwise all checkpoints would be nearly the same
    run = load_config(make_run("best", training=ends))
    tokenizer = make_tokenizer(run)
    corpus = TokenizedCorpus(read_corpus(run.data.train), tokenizer, run.data.max_tokens)
    trainer, losses = Trainer(run, tokenizer, corpus, World()), iter([5.0, 4.0, 3.0] + [9.0] * 6)
    seen: dict[int, dict[str, Tensor]] = {}

    def validate(model: TranslationModel) -> dict[str, float]:
        seen[trainer.progress.update] = {name: tensor.clone() for name, tensor in weights_of(model).items()}
        return {"loss": next(losses)}

    final = load_checkpoint(trainer.run(validate, Curves(None)))
    assert trainer.progress.update == 9
    for name, tensor in final.weights.items():
        best = torch.stack([seen[update][name] for update in (3, 2)[:average]])
        torch.testing.assert_close(tensor, best.mean(0))


@pytest.mark.parametrize("end", [{"updates": 4}, {"updates": 50, "patience": 3}])
def test_a_run_that_has_ended_stays_as_it_is(make_run: MakeRun, end: dict[str, int]) -> None:
    """Resumed after its end, it learns nothing, and files stay; leftovers go, and another average is computed."""
    still = {"schedule": {"peak": 1e-12, "warmup": 1}, "validate_every": 1, "checkpoint_every": 2, "average": 2}
    run = load_config(make_run("ended", training=still | end))
    make_tokenizer(run)
    train(run)
    before = {file: file.stat().st_mtime_ns for file in run.output.rglob("*") if "curves" not in file.parts}
    left = run.output / "checkpoints" / ".update-00000001.0.partial"
    left.mkdir()
    assert before.pop(left.parent)
    train(run, resume=True)
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert not left.exists()
    another_average = run.model_copy(update={"training": run.training.model_copy(update={"average": 1})})
    assert load_checkpoint(train(another_average, resume=True)).config.training.average == 1


def test_plateaus_lower_the_learning_rate_and_survive_a_kill(make_run: MakeRun) -> None:
    """A dev loss that does not improve lowers the rate after every two validations, resumed or not."""
    schedule = {"kind": "plateau", "peak": 1e-12, "warmup": 1, "patience": 2}
    run = load_config(make_run("flat", training={"schedule": schedule, "updates": 7, "validate_every": 1}))
    make_tokenizer(run)
    assert load_checkpoint(train(run, minutes=0)).progress.plateaus == 0
    progress = load_checkpoint(train(run, resume=True)).progress
    assert progress.stale >= 4
    assert progress.plateaus == progress.stale // 2


def test_a_time_budget_ends_with_a_final_checkpoint_and_can_be_continued(make_run: MakeRun) -> None:
    """`--minutes` ends a run early; `--resume` continues it from there to the end."""
    run = load_config(make_run("short", training={"updates": 9}))
    make_tokenizer(run)
    assert load_checkpoint(train(run, minutes=0)).progress.update == 1
    assert load_checkpoint(train(run, resume=True)).progress.update == 9


def test_an_earlier_run_is_never_overwritten(make_run: MakeRun) -> None:
    """A folder with checkpoints is refused unless the run is resumed, and always if the config is another one."""
    run = make_run("run", training={"updates": 2})
    make_tokenizer(load_config(run))
    train(load_config(run))
    with pytest.raises(CheckpointError, match="--resume"):
        train(load_config(run))
    other = load_config(make_run("run", training={"updates": 2, "seed": 2}))
    with pytest.raises(CheckpointError, match=r"another configuration \(training.seed was 1, is 2\)"):
        train(other, resume=True)


def test_output_that_cannot_be_written_is_found_before_all_work(make_run: MakeRun, tmp_path: Path) -> None:
    """Otherwise, the error would come with the first checkpoint, perhaps an hour later."""
    (tmp_path / "run").touch()
    with pytest.raises(CheckpointError, match="run: cannot be written to: Not a directory"):
        train(load_config(make_run("run", training={"updates": 2})))


def test_final_model_without_checkpoints_is_never_overwritten(make_run: MakeRun) -> None:
    """`unpack` makes such a model, and so does deleting checkpoints to save space."""
    run = load_config(make_run("run", training={"updates": 2}))
    make_tokenizer(run)
    final = train(run)
    shutil.rmtree(run.output / "checkpoints")
    for resume in (False, True):
        with pytest.raises(CheckpointError, match="has a final model"):
            train(run, resume=resume)
    assert load_checkpoint(final).progress.update == 2


def test_another_corpus_is_not_gone_on_with(make_run: MakeRun) -> None:
    """It would have another order: some sentences would be read twice in a pass, and some never."""
    run = load_config(make_run("run", training={"updates": 2}))
    make_tokenizer(run)
    train(run)
    for side in (run.data.train.source, run.data.train.target):
        file = data_folder() / side
        file.write_text(file.read_text(encoding="utf-8") + "\na b\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match="another corpus"):
        train(run, resume=True)


def test_a_corpus_whose_sentences_weigh_otherwise_is_another_one(make_run: MakeRun, tmp_path: Path) -> None:
    """The configuration names the file of their gains, but not its contents."""
    gains = tmp_path / "gains"
    run = load_config(make_run("run", training={"updates": 2, "emphasis": {"gains": str(gains)}}))
    make_tokenizer(run)
    corpus = read_corpus(run.data.train)
    write_gains(gains, [[0.0] * len(document.sentences) for document in corpus])
    train(run)
    write_gains(gains, [[1.0] * len(document.sentences) for document in corpus])
    with pytest.raises(CheckpointError, match="another corpus"):
        train(run, resume=True)


@pytest.mark.usefixtures("one_thread")
def test_stop_in_between_changes_no_average(make_run: MakeRun) -> None:
    """The final model is averaged from the same checkpoints, whenever a run was stopped and resumed."""
    settings = {"checkpoint_every": 3, "keep": 1, "average": 3}
    whole, stopped = (load_config(make_run(name, training=settings | {"updates": 12})) for name in ("whole", "stopped"))
    make_tokenizer(whole)
    final = train(whole)
    for updates in (7, 10):
        train(load_config(make_run("stopped", training=settings | {"updates": updates})), resume=True)
    assert_same_weights(train(stopped, resume=True), final)


def test_pairs_beyond_the_position_table_are_left_out(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    """They are only context, in training and for the dev loss, whatever `max_tokens` is; notices say so."""
    settings = {"epochs": 1, "updates": None}
    run = load_config(make_run("short", backbone=BACKBONE | {"max_length": 12}, training=settings))
    make_tokenizer(run)
    assert run.data.max_tokens > 12
    assert train(run).is_dir()
    told = capsys.readouterr().err
    (learnt,) = re.findall(r"source: learns from (\d+) of 160 pairs; `survey` says why\n", told)
    assert 0 < int(learnt) < 160
    assert f"data.max_tokens is 128, but backbone.max_length is 12: {160 - int(learnt)} pairs are longer\n" in told
    assert f"source: the dev loss is that of {learnt} of 160 pairs; the others have more than 11 tokens" in told


def test_pairs_with_too_much_context_are_counted(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    """Only the first sentence of each document has no context; if no pairs are left out, there is no notice."""
    values: dict[str, Any] = {"architecture": {"kind": "doc_transformer"}}
    whole = load_config(make_run("whole", training={"step": "joint", "updates": 1}, **values))
    make_tokenizer(whole)
    train(whole)
    assert "pairs" not in capsys.readouterr().err
    data = whole.data.model_dump(mode="json") | {"max_context_tokens": 0}
    train(load_config(make_run("first", training={"step": "joint", "updates": 1}, data=data, **values)))
    told = capsys.readouterr().err
    assert "source: learns from 40 of 160 pairs" in told
    assert "dev loss" not in told


def test_a_corpus_too_small_for_an_update_is_an_error(make_run: MakeRun) -> None:
    """An update that needs more batches than the corpus has is refused, instead of looping for ever."""
    run = load_config(make_run("small", training={"updates": 2, "accumulation": 10_000}))
    make_tokenizer(run)
    with pytest.raises(ConfigError, match="batches"):
        train(run)
