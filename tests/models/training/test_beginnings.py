"""A run starts from weights of other runs, if they fit and mean in it what they were trained to mean."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from models.config import RunConfig, load_config
from models.data.corpus import TokenizedCorpus
from models.data.tokenizer import Tokenizer, train_tokenizer
from models.errors import CheckpointError, ConfigError
from models.training.checkpoints import load_checkpoint, load_model, weights_of
from models.training.distributed import World
from models.training.objective import token_losses
from models.training.run import make_tokenizer, read_corpus
from models.training.trainer import Trainer
from tests.models.conftest import BACKBONE
from tests.support.training import assert_same_weights, train, weights

MakeRun = Callable[..., Path]


def test_step_two_leaves_the_backbone_as_it_was(make_run: MakeRun) -> None:
    """After step two, even averaged, all tensors of step one are the same to the bit, and the others have changed."""
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
    """A run can start from all of step one, or its encoder alone; then the decoder is random, and must be trained."""
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
    """A third step starts from all of step two and changes all of it; its architecture has to be the same."""
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
    with pytest.raises(CheckpointError, match=r"architecture\.kind was doc_transformer, is now layer_weighting"):
        train(load_config(other))


def test_reference_continues_step_one(make_run: MakeRun) -> None:
    """Step one can be trained further from a checkpoint, as the fair reference for step two is."""
    first = make_run("first", training={"updates": 4})
    make_tokenizer(load_config(first))
    start = train(load_config(first))
    on = make_run("on", training={"init": str(start), "updates": 1, "schedule": {"peak": 1e-9, "warmup": 1}})
    before, after = weights(start), weights(train(load_config(on)))
    for name, tensor in before.items():
        torch.testing.assert_close(after[name], tensor, atol=1e-6, rtol=0)


@pytest.mark.parametrize("transfer", ["both", "all"])
def test_a_deeper_encoder_begins_as_the_shallower_one_and_learns(make_run: MakeRun, transfer: str) -> None:
    """At first, it gives the same as the shallower one, to the bit; its new layers learn."""
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
    with pytest.raises(CheckpointError, match=r"backbone\.encoder_layers was 1, is now 3"):
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
    """Step two starts from the backbone of one run, and the context modules of another with a shallower encoder."""
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
    """If the encoder of the other run reads context, too, only modules that `integration` names are taken over."""
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
    """Modules that count layers from the top are refused, too, if their encoder was shallower."""
    make_tokenizer(load_config(make_run("first")))
    begin = {"init": str(train(load_config(make_run("first", training={"updates": 1})))), "step": "document"}
    averaged = {"kind": "averaged_document"}
    modules = str(train(load_config(make_run("two", training=begin | {"updates": 1}, architecture=averaged))))
    joined = begin | {"updates": 1, "modules": modules, "unfreeze": True, "deepen": True}
    deeper = {"backbone": BACKBONE | {"encoder_layers": 3}}
    other = make_run("other", training=joined, architecture={"kind": "doc_transformer"}, **deeper)
    with pytest.raises(CheckpointError, match="has context modules of averaged_document, not of doc_transformer"):
        train(load_config(other))
    with pytest.raises(CheckpointError, match="counts the layers from the top"):
        train(load_config(make_run("deeper", training=joined, architecture=averaged, **deeper)))


def test_another_beginning_is_not_gone_on_with(make_run: MakeRun) -> None:
    """Otherwise, a run could change to another frozen backbone halfway."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    start = train(first)
    run = load_config(make_run("run", training={"updates": 2, "init": str(start)}))
    train(run)
    shutil.rmtree(first.output)
    train(load_config(make_run("first", training={"updates": 1, "seed": 99})))
    with pytest.raises(CheckpointError, match="began with other weights than"):
        train(run, resume=True)


@pytest.mark.usefixtures("one_thread")
def test_a_run_goes_on_without_what_it_began_with(make_run: MakeRun) -> None:
    """What matters of it is in the run's own checkpoint, so it can be deleted to save space."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    context = {"kind": "doc_transformer"}
    settings = {"init": str(train(first)), "step": "document", "updates": 4}
    modules = load_config(make_run("modules", training=settings, architecture=context))
    settings["modules"] = str(train(modules))
    runs = [load_config(make_run(name, training=settings, architecture=context)) for name in ("whole", "broken")]
    whole = train(runs[0])
    train(runs[1], minutes=0)
    shutil.rmtree(first.output)
    shutil.rmtree(modules.output)
    assert_same_weights(train(runs[1], resume=True), whole)
    last = load_checkpoint(whole.parent / "checkpoints" / "update-00000004").progress
    assert load_checkpoint(runs[1].output / "final").progress == last
    with pytest.raises(CheckpointError, match="first/final: is not a checkpoint"):
        train(load_config(make_run("another", training=settings, architecture=context)), resume=True)


def test_a_rate_of_a_frozen_backbone_is_refused(make_run: MakeRun) -> None:
    """It would have no effect; but some architectures train the backbone even without `unfreeze`."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    settings = {"step": "document", "updates": 1, "init": str(train(first)), "backbone_rate": 0.1}

    def on(name: str, kind: str, **training: object) -> Path:
        return train(load_config(make_run(name, training=settings | training, architecture={"kind": kind})))

    with pytest.raises(ConfigError, match="this one is frozen: set unfreeze, or backbone_rate to 1"):
        on("frozen", "doc_transformer")
    assert on("unfrozen", "doc_transformer", unfreeze=True).is_dir()
    assert on("trained", "averaged_document").is_dir()


def test_context_modules_that_are_left_are_told_of(make_run: MakeRun, capsys: pytest.CaptureFixture[str]) -> None:
    """There is a notice if a run has new modules of the kind that it could have taken over."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    settings = {"step": "document", "updates": 1, "init": str(train(first))}
    doc, other = {"kind": "doc_transformer"}, {"kind": "layer_weighting"}
    two = str(train(load_config(make_run("two", training=settings, architecture=doc))))
    runs = {
        "both": (settings | {"init": two}, doc),
        "all": (settings | {"init": two, "transfer": "all"}, doc),
        "modules": (settings | {"init": two, "modules": two}, doc),
        "other": (settings | {"init": two}, other),
    }
    assert "context modules" not in capsys.readouterr().err
    told = {}
    for name, (training, architecture) in runs.items():
        train(load_config(make_run(name, training=training, architecture=architecture)))
        told[name] = capsys.readouterr().err.count(f"{two}: its context modules are not used")
    assert told == {"both": 1, "all": 0, "modules": 0, "other": 0}


def test_weights_of_another_vocabulary_are_refused(make_run: MakeRun) -> None:
    """They would fit, but each piece would mean another one, in the next step and in a resumed run."""
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
        with pytest.raises(CheckpointError, match="was not trained with the tokenizer"):
            train(run, resume=True)
    shutil.rmtree(first.tokenizer.path)
    make_tokenizer(first)
    train(second)


@pytest.mark.parametrize(
    ("sections", "difference"),
    [
        ({"backbone": BACKBONE | {"heads": 4}}, "backbone.heads was 2, is now 4"),
        ({"backbone": BACKBONE | {"activation": "gelu"}}, "backbone.activation was relu, is now gelu"),
        ({"backbone": BACKBONE | {"norm": "post"}}, "backbone.norm was pre, is now post"),
        ({"languages": {"source": "tt", "target": "ss"}}, "languages.source was ss, is now tt"),
        ({"languages": {"source": "ss", "target": "uu"}}, "languages.target was tt, is now uu"),
    ],
)
def test_weights_that_would_mean_something_else_are_refused(
    make_run: MakeRun, sections: dict[str, object], difference: str
) -> None:
    """Names and shapes would fit, but the network would compute noise; the error names the first differing value."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    run = load_config(make_run("second", training={"updates": 1, "init": str(train(first))}, **sections))
    with pytest.raises(
        CheckpointError, match=re.escape(f"first/final: was trained as a different network ({difference})")
    ):
        train(run)
    assert not run.output.exists()


def test_an_encoder_alone_may_come_from_another_pair(make_run: MakeRun) -> None:
    """Its target language and its decoder do not matter then, nor does another number of positions."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    begin = {"step": "document", "updates": 1, "init": str(train(first)), "transfer": "source"}
    sections = {"architecture": {"kind": "global_local"}, "languages": {"source": "ss", "target": "uu"}}
    deeper = BACKBONE | {"decoder_layers": 2, "output_bias": True, "max_length": 32}
    assert train(load_config(make_run("other", training=begin, backbone=deeper, **sections))).is_dir()
    with pytest.raises(CheckpointError, match=r"languages\.target was tt, is now uu"):
        train(load_config(make_run("both", training=begin | {"transfer": "both"}, **sections)))


@pytest.mark.parametrize("way", ["transfer", "modules"])
def test_context_modules_that_would_mean_something_else_are_refused(make_run: MakeRun, way: str) -> None:
    """Heads, the way of adding, gates and what has modules must be the same; how many sentences are read may change."""
    first = load_config(make_run("first", training={"updates": 1}))
    make_tokenizer(first)
    settings = {"step": "document", "updates": 1, "init": str(train(first))}

    def on(name: str, was: dict[str, object], changed: dict[str, object]) -> Path:
        two = str(train(load_config(make_run(f"{name}-two", training=settings, architecture=was))))
        taken = {"init": two, "transfer": "all"} if way == "transfer" else {"modules": two}
        return train(load_config(make_run(f"{name}-three", training=settings | taken, architecture=was | changed)))

    averaged, doc = {"kind": "averaged_document", "attention_width": 8}, {"kind": "doc_transformer"}
    with pytest.raises(CheckpointError, match=r"two/final: .*\(architecture\.attention_heads was 8, is now 4\)"):
        on("heads", averaged, {"attention_heads": 4})
    with pytest.raises(CheckpointError, match=r"two/final: .*\(architecture\.warm_start was False, is now True\)"):
        on("warm", averaged, {"warm_start": True})
    with pytest.raises(CheckpointError, match=r"two/final: .*\(architecture\.gating was True, is now False\)"):
        on("gating", doc, {"gating": False})
    with pytest.raises(CheckpointError, match=r"two/final: .*\(architecture\.integration was decoder, is now both\)"):
        on("parts", doc | {"integration": "decoder"}, {"integration": "both"})
    assert on("sentences", doc, {"context_sentences": 1}).is_dir()


@pytest.mark.parametrize(
    ("section", "problem"),
    [
        ({"joint": False}, "contains one vocabulary for both languages, but tokenizer.joint is false"),
        ({"vocabulary": 60}, "has 50 pieces, but tokenizer.vocabulary is 60"),
        ({"kind": "bpe"}, "was made with kind unigram, but tokenizer.kind is bpe"),
        ({"byte_fallback": True}, "was made with byte_fallback false, but tokenizer.byte_fallback is true"),
        (
            {"character_coverage": 1.0},
            "was made with character_coverage 0.9995, but tokenizer.character_coverage is 1.0",
        ),
    ],
)
def test_tokenizer_that_the_config_does_not_ask_for_is_refused(
    make_run: MakeRun, section: dict[str, object], problem: str
) -> None:
    """Otherwise, the run would silently not be what its configuration says."""
    first = load_config(make_run("first"))
    make_tokenizer(first)
    asked = first.tokenizer.model_dump(mode="json") | section
    run = load_config(make_run("run", tokenizer=asked, backbone=BACKBONE | {"embeddings": "output"}))
    with pytest.raises(ConfigError, match=re.escape(f"{first.tokenizer.path}: {problem}")):
        train(run)
    assert not run.output.exists()


def test_one_of_two_vocabularies_may_have_another_size(make_run: MakeRun, tmp_path: Path) -> None:
    """A run file has one number for both, but a tokenizer from elsewhere may have two different sizes."""

    def of(folder: str, size: int) -> RunConfig:
        asked = {"path": str(tmp_path / folder), "vocabulary": size, "joint": False, "byte_fallback": False}
        backbone = BACKBONE | {"embeddings": "output"}
        return load_config(make_run(tokenizer=asked, backbone=backbone, training={"updates": 1}))

    source, target = (make_tokenizer(of(f"of {size}", size)) for size in (40, 32))
    Tokenizer(source.source, target.target).save(tmp_path / "both")
    assert train(of("both", 40)).is_dir()
