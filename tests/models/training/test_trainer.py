"""A run comes to the same end however it is interrupted or divided, and refuses what it cannot continue."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from subprocess import PIPE, STDOUT

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from models.config import RunConfig, data_folder, load_config
from models.data.corpus import TokenizedCorpus
from models.data.emphasis import write_gains
from models.data.tokenizer import Tokenizer, train_tokenizer
from models.errors import CheckpointError, ConfigError, DivergedError
from models.network.model import TranslationModel
from models.training.checkpoints import list_checkpoints, load_checkpoint, load_model, weights_of
from models.training.curves import Curves
from models.training.distributed import World
from models.training.objective import token_losses
from models.training.run import make_tokenizer, read_corpus
from models.training.trainer import Trainer
from tests.models.conftest import BACKBONE
from tests.support.training import train

MakeRun = Callable[..., Path]
BLOCKS: dict[str, dict[str, object]] = {
    "architecture": {"kind": "global_local", "block_sentences": 3, "warm_start": True},
    "training": {"step": "joint"},
}
"""Of a document of four sentences the last is alone in its block, and reads no memory."""
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}


def finished(command: list[str]) -> str:
    """What a command printed that has to succeed; where it fails, the test shows why."""
    done = subprocess.run(command, env=ENVIRONMENT, stdout=PIPE, stderr=STDOUT, text=True, check=False)
    assert done.returncode == 0, done.stdout
    return done.stdout


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Tensors of a checkpoint."""
    return load_file(folder / "model.safetensors")


def assert_same_weights(one: Path, other: Path) -> None:
    """Both checkpoints have the same tensors, to the bit."""
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    for name, tensor in first.items():
        assert torch.equal(tensor, second[name]), name


def command_line(*arguments: str) -> list[str]:
    """The project's command line in a process of its own."""
    return [sys.executable, "-m", "models", *arguments]


def kill_after_checkpoints(run: Path, output: Path, count: int) -> None:
    """Train in another process and kill it as soon as it has written so many checkpoints."""
    process = subprocess.Popen(command_line("train", str(run), "--resume"), env=ENVIRONMENT, stderr=subprocess.DEVNULL)
    while process.poll() is None and _last_update(output) < count:
        time.sleep(0.01)
    assert process.poll() is None, "the run ended before it could be killed"
    process.send_signal(signal.SIGKILL)
    process.wait()


def _last_update(output: Path) -> int:
    """Of the newest checkpoint; older ones are removed as training goes."""
    return max((int(folder.name.rpartition("-")[2]) for folder in list_checkpoints(output)), default=0)


@pytest.fixture
def one_thread() -> None:
    """Sums are in the same order as in the processes with one thread."""
    torch.set_num_threads(1)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_killed_run_resumes_to_the_same_weights(make_run: MakeRun, optimizer: str) -> None:
    """A run that is killed twice, at any moment, ends with the weights of one that was not, to the bit."""
    settings = {"updates": 60, "dropout": 0.2, "accumulation": 2, "keep": 3, "optimizer": optimizer}
    whole, broken = make_run("whole", training=settings), make_run("broken", training=settings)
    make_tokenizer(load_config(whole))
    final = train(load_config(whole))
    config = load_config(broken)
    kill_after_checkpoints(broken, config.output, 7)
    kill_after_checkpoints(broken, config.output, 23)
    finished(command_line("train", str(broken), "--resume"))
    assert_same_weights(config.output / "final", final)
    optimizers = [
        load_file(list_checkpoints(run)[-1] / "optimizer.safetensors") for run in (config.output, final.parent)
    ]
    assert all(torch.equal(tensor, optimizers[1][name]) for name, tensor in optimizers[0].items())


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize(
    ("optimizer", "sections"),
    [("adam", {}), ("muon", {}), ("adam", BLOCKS)],
    ids=["adam", "muon", "a batch without a memory"],
)
def test_two_processes_train_like_one_with_twice_the_batch(
    make_run: MakeRun, optimizer: str, sections: dict[str, dict[str, object]]
) -> None:
    """Two torchrun processes give the losses and weights of one process that accumulates two batches."""
    schedule = {"kind": "linear", "peak": 1e-3, "warmup": 1}
    settings = {"updates": 6, "dropout": 0.0, "validate_every": 1, "optimizer": optimizer, "schedule": schedule}
    settings |= sections.get("training", {})
    architecture = {name: values for name, values in sections.items() if name != "training"}
    alone = make_run("alone", training=settings | {"accumulation": 2}, **architecture)
    pair = make_run("pair", training=settings, **architecture)
    make_tokenizer(load_config(alone))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    printed = [
        finished(command)
        for command in (command_line("train", str(alone)), [*torchrun, "-m", "models", "train", str(pair)])
    ]
    losses = [[float(x) for x in re.findall(r"loss (\d+\.\d+)", text)] for text in printed]
    assert len(losses[0]) == 6
    assert losses[1] == pytest.approx(losses[0], abs=2e-3)
    one, two = (weights(load_config(run).output / "final") for run in (alone, pair))
    for name, tensor in one.items():
        torch.testing.assert_close(two[name], tensor, atol=1e-4, rtol=1e-3)


def test_processes_agree_when_to_stop_and_to_slow_down(make_run: MakeRun) -> None:
    """Validation is one process's work, but what it finds ends all of them, with the same learning rate until then."""
    still = {"schedule": {"kind": "plateau", "peak": 1e-12, "warmup": 1, "patience": 2}, "validate_every": 1}
    run = make_run("still", training=still | {"updates": 50, "patience": 5})
    make_tokenizer(load_config(run))
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    subprocess.run([*torchrun, "-m", "models", "train", str(run)], env=ENVIRONMENT, check=True, timeout=120)
    progress = load_checkpoint(load_config(run).output / "final").progress
    assert (progress.stale, progress.plateaus) == (5, 2)


def test_processes_that_do_not_see_the_same_checkpoints_do_not_train(make_run: MakeRun) -> None:
    """One of them with a folder of its own would go on from other weights, and nothing would tell."""
    runs = [make_run(f"run{rank}", training={"updates": 1000}) for rank in range(2)]
    make_tokenizer(load_config(runs[0]))
    kill_after_checkpoints(runs[0], load_config(runs[0]).output, 2)
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "--no-python"]
    each = f"exec {sys.executable} -m models train {runs[0].parent}/run$RANK.yaml --resume"
    ended = subprocess.run(
        [*torchrun, "sh", "-c", each], env=ENVIRONMENT, capture_output=True, text=True, timeout=120, check=False
    )
    assert ended.returncode != 0
    assert "they need one output folder" in ended.stderr
    assert not list_checkpoints(load_config(runs[1]).output)


def test_step_two_leaves_the_backbone_as_it_was(make_run: MakeRun) -> None:
    """After step two, averaged checkpoints included, every tensor of step one is bit-identical and the others moved."""
    first = make_run("first", training={"updates": 4})
    make_tokenizer(load_config(first))
    start = train(load_config(first))
    second = make_run(
        "second",
        architecture={"kind": "doc_transformer"},
        training={"step": "document", "init": str(start), "updates": 6, "average": 3, "dropout": 0.1},
    )
    before, after = weights(start), weights(train(load_config(second)))
    assert before.keys() < after.keys()
    assert all(torch.equal(after[name], tensor) for name, tensor in before.items())
    moved = load_checkpoint(load_config(second).output / "checkpoints" / "update-00000004").weights
    assert any(not torch.equal(after[name], moved[name]) for name in after.keys() - before.keys())


def test_transfer_takes_over_what_it_names(make_run: MakeRun) -> None:
    """The encoder alone or all of step one is where a system begins; a decoder that stays random must be trained."""
    first = load_config(make_run("first", training={"updates": 1}))
    tokenizer = make_tokenizer(first)
    corpus = TokenizedCorpus(read_corpus(first.data.train), tokenizer, 128)
    init = str(train(first))
    step_one = load_checkpoint(Path(init)).weights

    def begun(transfer: str, kind: str = "global_local") -> set[str]:
        training = {"step": "document", "init": init, "transfer": transfer, "seed": 2}
        run = make_run(transfer, training=training, architecture={"kind": kind})
        named = dict(Trainer(load_config(run), tokenizer, corpus, World()).model.named_parameters())
        matrices = {name: tensor for name, tensor in step_one.items() if tensor.dim() > 1}
        return {name.split(".")[1] for name, tensor in matrices.items() if torch.equal(named[name], tensor)}

    assert begun("both") == {"encoder", "decoder", "target_embedding"}
    assert begun("source") == {"encoder", "target_embedding"}
    with pytest.raises(ConfigError, match="does not train it"):
        begun("source", "doc_transformer")


def test_backbone_is_tuned_with_the_context_modules_that_it_was_frozen_for(make_run: MakeRun) -> None:
    """A third step begins with all of step two, moves all of it, and is no step two of another architecture."""
    first = make_run("first", training={"updates": 1})
    make_tokenizer(load_config(first))
    settings = {"step": "document", "init": str(train(load_config(first))), "updates": 2}
    context = {"kind": "doc_transformer", "context_sentences": 1}
    two = train(load_config(make_run("two", training=settings, architecture=context)))
    tuning = settings | {"init": str(two), "transfer": "all", "unfreeze": True, "schedule": {"peak": 0.1, "warmup": 1}}
    small = {"schedule": {"peak": 1e-9, "warmup": 1}, "updates": 1}
    begun = weights(train(load_config(make_run("three", training=tuning | small, architecture=context))))
    for name, tensor in weights(two).items():
        torch.testing.assert_close(begun[name], tensor, atol=1e-6, rtol=0)
    tuned = weights(train(load_config(make_run("tuned", training=tuning, architecture=context))))
    assert not [name for name, tensor in weights(two).items() if tensor.dim() > 1 and torch.equal(tuned[name], tensor)]
    other = make_run("other", training=tuning, architecture={"kind": "layer_weighting"})
    with pytest.raises(CheckpointError, match=r"architecture\.kind was doc_transformer, is layer_weighting"):
        train(load_config(other))


def test_contexts_are_left_out_and_exchanged(make_run: MakeRun) -> None:
    """Each noise makes another model of the same batches; a context module that never reads learns all the same."""
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
    """Where all weigh the same the model is that without weights; where some weigh more it is another."""
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


def test_reference_continues_step_one(make_run: MakeRun) -> None:
    """Step one can be trained on from a checkpoint, as the fair reference of step two is."""
    first = make_run("first", training={"updates": 4})
    make_tokenizer(load_config(first))
    start = train(load_config(first))
    on = make_run("on", training={"init": str(start), "updates": 1, "schedule": {"peak": 1e-9, "warmup": 1}})
    before, after = weights(start), weights(train(load_config(on)))
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor, atol=1e-6, rtol=0)


@pytest.mark.parametrize("transfer", ["both", "all"])
def test_a_deeper_encoder_begins_as_the_shallower_one_and_learns(make_run: MakeRun, transfer: str) -> None:
    """It gives what the model gave that it begins with, to the bit, and its new layers learn."""
    first = load_config(make_run("first", training={"updates": 3}))
    tokenizer = make_tokenizer(first)
    corpus = TokenizedCorpus(read_corpus(first.data.train), tokenizer, 128)
    context = {"kind": "doc_transformer", "context_sentences": 1}
    settings = {"step": "document", "unfreeze": True, "updates": 3, "schedule": {"peak": 0.01, "warmup": 1}}
    begin = {"init": str(train(first))}
    if transfer == "all":
        two = load_config(make_run("two", training=settings | begin, architecture=context))
        begin = {"init": str(train(two))}
    deeper = {"backbone": BACKBONE | {"encoder_layers": 3}, "architecture": context}
    tuning = settings | begin | {"transfer": transfer, "seed": 2}
    with pytest.raises(CheckpointError, match=r"backbone\.encoder_layers was 1, is 3"):
        train(load_config(make_run("refused", training=tuning, **deeper)))
    with pytest.raises(ConfigError, match="more than the 1 of"):
        train(load_config(make_run("forgotten", training=tuning | {"deepen": True}, architecture=context)))
    run = load_config(make_run("deeper", training=tuning | {"deepen": True}, **deeper))
    trainer = Trainer(run, tokenizer, corpus, World())
    model, started = trainer.model.eval(), load_model(load_checkpoint(Path(begin["init"])))
    with torch.inference_mode():
        new, old = (token_losses(each, corpus.batch(range(40), each.architecture), 0.0) for each in (model, started))
    assert new.sum() > 0
    torch.testing.assert_close(new, old, atol=0, rtol=0)
    before, after = weights_of(model), weights(train(run))
    added = [name for name in before if ".encoder.1." in name or ".encoder.2." in name]
    assert len(added) > 20
    assert not [name for name in added if torch.equal(after[name], before[name])]


def test_context_modules_are_put_on_a_backbone_that_has_learnt_since(make_run: MakeRun) -> None:
    """Step two begins with the backbone of one run and the context modules of another, whose encoder is shallower."""
    first = load_config(make_run("first", training={"updates": 3}))
    tokenizer = make_tokenizer(first)
    context = {"kind": "doc_transformer", "context_sentences": 1}
    settings = {"step": "document", "unfreeze": True, "updates": 3, "schedule": {"peak": 0.01, "warmup": 1}}
    begin = str(train(first))
    modules = train(load_config(make_run("two", training=settings | {"init": begin}, architecture=context)))
    deeper = {"backbone": BACKBONE | {"encoder_layers": 3}}
    on = make_run("on", training={"init": begin, "deepen": True, "updates": 3, "seed": 2}, **deeper)
    backbone = train(load_config(on))
    joined = settings | {"init": str(backbone), "modules": str(modules), "seed": 3}
    run = load_config(make_run("joined", training=joined, architecture=context, **deeper))
    corpus = TokenizedCorpus(read_corpus(first.data.train), tokenizer, 128)
    begun = weights_of(Trainer(run, tokenizer, corpus, World()).model)
    given = {n: t for n, t in weights(modules).items() if n.startswith("architecture.")} | weights(backbone)
    assert not [name for name, tensor in given.items() if not torch.equal(begun[name], tensor)]
    new = begun.keys() - given.keys()
    assert new
    assert all(name.startswith(("architecture.encoder.1.", "architecture.encoder.2.")) for name in new)
    assert train(run).is_dir()


def test_context_modules_may_be_taken_for_the_decoder_alone(make_run: MakeRun) -> None:
    """Of a run whose encoder reads the context, too: what `integration` does not name is left, all else taken over."""
    first = load_config(make_run("first", training={"updates": 1}))
    tokenizer = make_tokenizer(first)
    begin = {"init": str(train(first)), "step": "document"}
    both = {"kind": "doc_transformer"}
    modules = train(load_config(make_run("two", training=begin | {"updates": 3}, architecture=both)))
    taken = begin | {"modules": str(modules), "updates": 1}
    run = load_config(make_run("decoder", training=taken, architecture=both | {"integration": "decoder"}))
    corpus = TokenizedCorpus(read_corpus(run.data.train), tokenizer, 128)
    begun = weights_of(Trainer(run, tokenizer, corpus, World()).model)
    given = {name: tensor for name, tensor in weights(modules).items() if not name.startswith("architecture.encoder.")}
    assert begun.keys() == given.keys() < weights(modules).keys()
    assert not [name for name, tensor in begun.items() if not torch.equal(tensor, given[name])]
    assert train(run).is_dir()


def test_context_modules_of_another_architecture_are_refused(make_run: MakeRun) -> None:
    """And those of one that counts layers from the top, where its encoder was shallower."""
    make_tokenizer(load_config(make_run("first")))
    begin = {"init": str(train(load_config(make_run("first", training={"updates": 1})))), "step": "document"}
    averaged = {"kind": "averaged_document"}
    modules = str(train(load_config(make_run("two", training=begin | {"updates": 1}, architecture=averaged))))
    joined = begin | {"updates": 1, "modules": modules, "unfreeze": True, "deepen": True}
    deeper = {"backbone": BACKBONE | {"encoder_layers": 3}}
    other = make_run("other", training=joined, architecture={"kind": "doc_transformer"}, **deeper)
    with pytest.raises(CheckpointError, match="has context modules of averaged_document, not of doc_transformer"):
        train(load_config(other))
    with pytest.raises(CheckpointError, match="counts from the top"):
        train(load_config(make_run("deeper", training=joined, architecture=averaged, **deeper)))


@pytest.mark.parametrize("step", ["sentence", "joint"])
def test_one_epoch_is_every_sentence_once(make_run: MakeRun, step: str) -> None:
    """A run of one epoch ends where the corpus does, having seen each target token once, with context and without."""
    architecture = {"kind": "sentence" if step == "sentence" else "doc_transformer"}
    training = {"step": step, "updates": None, "epochs": 1, "batch_tokens": 40, "checkpoint_every": 1000}
    config = load_config(make_run(step, architecture=architecture, training=training))
    tokenizer = make_tokenizer(config)
    progress = load_checkpoint(train(config)).progress
    corpus = TokenizedCorpus(read_corpus(config.data.train), tokenizer, config.data.max_tokens)
    assert (progress.epoch, progress.position) == (1, 0)
    assert progress.target_tokens == sum(len(tokens) + 1 for tokens in corpus.targets)


def test_joint_training_trains_everything_from_scratch(make_run: MakeRun) -> None:
    """Step `joint` moves backbone and context modules together."""
    joint = make_run("joint", architecture={"kind": "doc_transformer"}, training={"step": "joint", "updates": 3})
    make_tokenizer(load_config(joint))
    train(load_config(joint))
    first, last = (weights(folder) for folder in (list_checkpoints(load_config(joint).output)[i] for i in (0, -1)))
    assert not torch.equal(first["backbone.target_embedding.weight"], last["backbone.target_embedding.weight"])
    gate = "architecture.encoder.0.attention.output.weight"
    assert not torch.equal(first[gate], last[gate])


def test_a_rate_that_would_not_fall_before_the_end_is_refused(make_run: MakeRun) -> None:
    """Also where the updates follow from the passes over the corpus."""
    schedule = {"schedule": {"kind": "linear", "warmup": 4000}, "updates": None, "epochs": 1}
    run = load_config(make_run("run", training=schedule))
    make_tokenizer(run)
    with pytest.raises(ConfigError, match="would end within its warmup of 4000"):
        train(run)


def test_training_that_diverges_leaves_its_last_checkpoint(make_run: MakeRun) -> None:
    """Weights that are no numbers take the place of nothing, and are no final checkpoint."""
    run = load_config(make_run("run", training={"schedule": {"peak": 1e30, "warmup": 1}, "updates": 20}))
    make_tokenizer(run)
    with pytest.raises(DivergedError, match="begin with an earlier checkpoint"):
        train(run)
    (*_, last) = list_checkpoints(run.output)
    assert all(torch.isfinite(tensor).all() for tensor in load_checkpoint(last).weights.values())
    assert not (run.output / "final").exists()


def test_early_stopping_ends_a_run_that_no_longer_improves(make_run: MakeRun) -> None:
    """With patience, a run whose dev loss stands still ends before its last update."""
    still = {"schedule": {"peak": 1e-12, "warmup": 1}, "updates": 50, "validate_every": 1, "patience": 3}
    run = make_run("still", training=still)
    make_tokenizer(load_config(run))
    progress = load_checkpoint(train(load_config(run))).progress
    assert progress.update < 50
    assert progress.stale == 3


@pytest.mark.parametrize("average", [1, 2])
def test_a_run_that_waited_in_vain_ends_with_what_was_best(make_run: MakeRun, average: int) -> None:
    """With patience, the final model is of the lowest dev loss, which need not be where a checkpoint was due."""
    ends = {"updates": 50, "validate_every": 1, "patience": 6, "checkpoint_every": 2, "keep": 1, "average": average}
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
    """Resumed again and again it learns nothing more, and its figures still belong to its weights."""
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
    """A dev loss that stands still lowers the rate once for every two validations, resumed or not."""
    schedule = {"kind": "plateau", "peak": 1e-12, "warmup": 1, "patience": 2}
    run = load_config(make_run("flat", training={"schedule": schedule, "updates": 7, "validate_every": 1}))
    make_tokenizer(run)
    assert load_checkpoint(train(run, minutes=0)).progress.plateaus == 0
    progress = load_checkpoint(train(run, resume=True)).progress
    assert progress.stale >= 4
    assert progress.plateaus == progress.stale // 2


def test_a_time_budget_ends_with_a_final_checkpoint_and_can_be_continued(make_run: MakeRun) -> None:
    """`--minutes` ends a run early; `--resume` goes on to the end from there."""
    run = load_config(make_run("short", training={"updates": 9}))
    make_tokenizer(run)
    assert load_checkpoint(train(run, minutes=0)).progress.update == 1
    assert load_checkpoint(train(run, resume=True)).progress.update == 9


def test_an_earlier_run_is_never_overwritten(make_run: MakeRun) -> None:
    """A folder with checkpoints is refused unless the run is to be resumed, and by another config in any case."""
    run = make_run("run", training={"updates": 2})
    make_tokenizer(load_config(run))
    train(load_config(run))
    with pytest.raises(CheckpointError, match="--resume"):
        train(load_config(run))
    other = load_config(make_run("run", training={"updates": 2, "seed": 2}))
    with pytest.raises(CheckpointError, match=r"another configuration \(training.seed was 1, is 2\)"):
        train(other, resume=True)


def test_final_model_without_checkpoints_is_never_overwritten(make_run: MakeRun) -> None:
    """As `unpack` makes one, or somebody who wants the room."""
    run = load_config(make_run("run", training={"updates": 2}))
    make_tokenizer(run)
    final = train(run)
    shutil.rmtree(run.output / "checkpoints")
    for resume in (False, True):
        with pytest.raises(CheckpointError, match="has a final model"):
            train(run, resume=resume)
    assert load_checkpoint(final).progress.update == 2


def test_another_corpus_is_not_gone_on_with(make_run: MakeRun) -> None:
    """Its order is another one: some sentences would be read twice in a pass, and some never."""
    run = load_config(make_run("run", training={"updates": 2}))
    make_tokenizer(run)
    train(run)
    for side in (run.data.train.source, run.data.train.target):
        file = data_folder() / side
        file.write_text(file.read_text(encoding="utf-8") + "\na b\n", encoding="utf-8")
    with pytest.raises(CheckpointError, match="another corpus"):
        train(run, resume=True)


def test_another_beginning_is_not_gone_on_with(make_run: MakeRun) -> None:
    """Or half of a frozen backbone's updates would be those of one that is not there any more."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    start = train(first)
    run = load_config(make_run("run", training={"updates": 2, "init": str(start)}))
    train(run)
    shutil.rmtree(first.output)
    train(load_config(make_run("first", training={"updates": 1, "seed": 99})))
    with pytest.raises(CheckpointError, match="began with other weights than there are in"):
        train(run, resume=True)


@pytest.mark.usefixtures("one_thread")
def test_stop_in_between_changes_no_average(make_run: MakeRun) -> None:
    """The final model is of the same checkpoints, whenever a run was stopped and gone on with."""
    settings = {"checkpoint_every": 3, "keep": 1, "average": 3}
    whole, stopped = (load_config(make_run(name, training=settings | {"updates": 12})) for name in ("whole", "stopped"))
    make_tokenizer(whole)
    final = train(whole)
    for updates in (7, 10):
        train(load_config(make_run("stopped", training=settings | {"updates": updates})), resume=True)
    assert_same_weights(train(stopped, resume=True), final)


def test_weights_of_another_vocabulary_are_refused(make_run: MakeRun) -> None:
    """They would fit, and each piece would be read as another one: by the next step, and by a run that is resumed."""
    first = load_config(make_run("first", training={"updates": 2}))
    make_tokenizer(first)
    start = train(first)
    second = load_config(make_run("second", training={"updates": 4, "init": str(start)}))
    backwards = [
        (sentence.source[::-1], (sentence.target or "")[::-1])
        for document in read_corpus(first.data.train)
        for sentence in document.sentences
    ]
    shutil.rmtree(first.tokenizer.path)
    train_tokenizer(first.tokenizer, *([pair[side] for pair in backwards] for side in (0, 1)))
    for run in (first, second):
        with pytest.raises(CheckpointError, match="another tokenizer"):
            train(run, resume=True)
    shutil.rmtree(first.tokenizer.path)
    make_tokenizer(first)
    train(second)


@pytest.mark.parametrize(
    ("sections", "difference"),
    [
        ({"backbone": BACKBONE | {"heads": 4}}, "backbone.heads was 2, is 4"),
        ({"backbone": BACKBONE | {"activation": "gelu"}}, "backbone.activation was relu, is gelu"),
        ({"backbone": BACKBONE | {"norm": "post"}}, "backbone.norm was pre, is post"),
        ({"languages": {"source": "tt", "target": "ss"}}, "languages.source was ss, is tt"),
        ({"languages": {"source": "ss", "target": "uu"}}, "languages.target was tt, is uu"),
    ],
)
def test_weights_that_would_mean_something_else_are_refused(
    make_run: MakeRun, sections: dict[str, object], difference: str
) -> None:
    """They would load, for no name or shape of theirs tells, and be noise: the first value that differs is named."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    run = load_config(make_run("second", training={"updates": 1, "init": str(train(first))}, **sections))
    with pytest.raises(CheckpointError, match=re.escape(f"first/final: was trained as another network ({difference})")):
        train(run)
    assert not run.output.exists()


def test_an_encoder_alone_may_come_from_another_pair(make_run: MakeRun) -> None:
    """Of which neither the target language nor the decoder is taken over; nor do positions make another network."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    begin = {"step": "document", "updates": 1, "init": str(train(first)), "transfer": "source"}
    sections = {"architecture": {"kind": "global_local"}, "languages": {"source": "ss", "target": "uu"}}
    deeper = BACKBONE | {"decoder_layers": 2, "max_length": 32}
    assert train(load_config(make_run("other", training=begin, backbone=deeper, **sections))).is_dir()
    with pytest.raises(CheckpointError, match=r"languages\.target was tt, is uu"):
        train(load_config(make_run("both", training=begin | {"transfer": "both"}, **sections)))


@pytest.mark.parametrize("way", ["transfer", "modules"])
def test_context_modules_that_would_mean_something_else_are_refused(make_run: MakeRun, way: str) -> None:
    """Of other heads, added otherwise, or without their gate; how many sentences they read is a matter of each step."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    settings = {"step": "document", "updates": 1, "init": str(train(first))}

    def on(name: str, was: dict[str, object], changed: dict[str, object]) -> Path:
        two = str(train(load_config(make_run(f"{name}-two", training=settings, architecture=was))))
        taken = {"init": two, "transfer": "all"} if way == "transfer" else {"modules": two}
        return train(load_config(make_run(f"{name}-three", training=settings | taken, architecture=was | changed)))

    averaged, doc = {"kind": "averaged_document", "attention_width": 8}, {"kind": "doc_transformer"}
    with pytest.raises(CheckpointError, match=r"two/final: .*\(architecture\.attention_heads was 8, is 4\)"):
        on("heads", averaged, {"attention_heads": 4})
    with pytest.raises(CheckpointError, match=r"two/final: .*\(architecture\.warm_start was False, is True\)"):
        on("warm", averaged, {"warm_start": True})
    with pytest.raises(CheckpointError, match=r"two/final: .*\(architecture\.gating was True, is False\)"):
        on("gating", doc, {"gating": False})
    assert on("sentences", doc, {"context_sentences": 1}).is_dir()


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"joint": False}, "holds one vocabulary for both languages, and tokenizer.joint is false"),
        ({"vocabulary": 60}, "has 50 pieces, and tokenizer.vocabulary is 60"),
    ],
)
def test_tokenizer_that_the_config_does_not_ask_for_is_refused(
    make_run: MakeRun, section: dict[str, object], problem: str
) -> None:
    """It would be trained with in silence, and the run would be called by what it was not."""
    first = load_config(make_run("first"))
    make_tokenizer(first)
    asked = first.tokenizer.model_dump(mode="json") | section
    run = load_config(make_run("run", tokenizer=asked, backbone=BACKBONE | {"embeddings": "output"}))
    with pytest.raises(ConfigError, match=re.escape(f"{first.tokenizer.path}: {problem}")):
        train(run)
    assert not run.output.exists()


def test_one_of_two_vocabularies_may_have_another_size(make_run: MakeRun, tmp_path: Path) -> None:
    """As where somebody has brought a tokenizer along: the file can say one number for both."""

    def of(folder: str, size: int) -> RunConfig:
        asked = {"path": str(tmp_path / folder), "vocabulary": size, "joint": False, "byte_fallback": False}
        backbone = BACKBONE | {"embeddings": "output"}
        return load_config(make_run(tokenizer=asked, backbone=backbone, training={"updates": 1}))

    source, target = (make_tokenizer(of(f"of {size}", size)) for size in (40, 32))
    Tokenizer(source.source, target.target).save(tmp_path / "both")
    assert train(of("both", 40)).is_dir()


def test_pairs_beyond_the_position_table_are_left_out(make_run: MakeRun) -> None:
    """They are context only, whatever `max_tokens` is."""
    settings = {"epochs": 1, "updates": None}
    run = load_config(make_run("short", backbone=BACKBONE | {"max_length": 12}, training=settings))
    make_tokenizer(run)
    assert run.data.max_tokens > 12
    assert train(run).is_dir()


def test_a_corpus_too_small_for_an_update_is_an_error(make_run: MakeRun) -> None:
    """An update that takes more batches than the corpus has is refused instead of looping for ever."""
    run = load_config(make_run("small", training={"updates": 2, "accumulation": 10_000}))
    make_tokenizer(run)
    with pytest.raises(ConfigError, match="batches"):
        train(run)
